// dsl/object_symbols.cpp: reads the symbol table of an object file, and the list of what a kernel may import.
#include "dsl/object_symbols.h"

#include <elf.h>

#include <cstring>

#include "dsl/base/error.h"
#include "dsl/base/kernel_imports.h"

namespace tilewright::dsl {
namespace {

template <class T> T read_at(std::string_view bytes, std::uint64_t offset) {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) {
        throw InternalError("an object file ends in the middle of a table.");
    }
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

} // namespace

std::set<std::string> undefined_symbols(std::string_view object) {
    const auto header = read_at<Elf64_Ehdr>(object, 0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_type != ET_REL || header.e_machine != EM_X86_64) {
        throw InternalError("code generation gave no ELF x86-64 object file.");
    }
    std::set<std::string> result;
    for (int k = 0; k < header.e_shnum; ++k) {
        const auto section = read_at<Elf64_Shdr>(object, header.e_shoff + std::uint64_t{header.e_shentsize} * k);
        if (section.sh_type != SHT_SYMTAB) continue;
        const auto names =
            read_at<Elf64_Shdr>(object, header.e_shoff + std::uint64_t{header.e_shentsize} * section.sh_link);
        for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
            const auto symbol = read_at<Elf64_Sym>(object, section.sh_offset + at);
            if (symbol.st_shndx != SHN_UNDEF || symbol.st_name == 0) continue;
            const std::uint64_t begin = names.sh_offset + symbol.st_name;
            read_at<char>(object, begin);
            const std::size_t end = object.find('\0', begin);
            if (end == std::string_view::npos) throw InternalError("an object file has a name without an end.");
            result.emplace(object.substr(begin, end - begin));
        }
    }
    return result;
}

bool runtime_has(const std::string& symbol) {
    static const std::set<std::string> known = {
        "halide_do_par_for",     "halide_malloc", "halide_free", "memcpy",    "memmove",   "memset",
        "_GLOBAL_OFFSET_TABLE_", kOpaqueZero,     kPrefetchBase, kStreamBase, kStreamFence};
    static const std::set<std::string> math = {
        "acos",  "acosh",  "asin",  "asinh", "atan", "atan2",     "atanh", "cbrt", "ceil",  "cos",
        "cosh",  "exp",    "exp2",  "expm1", "fabs", "floor",     "fma",   "fmax", "fmin",  "fmod",
        "hypot", "log",    "log10", "log1p", "log2", "nearbyint", "pow",   "rint", "round", "roundeven",
        "sin",   "sincos", "sinh",  "sqrt",  "tan",  "tanh",      "trunc"};
    if (known.count(symbol) || math.count(symbol)) return true;
    return !symbol.empty() && symbol.back() == 'f' && math.count(symbol.substr(0, symbol.size() - 1));
}

bool device_runtime_has(const std::string& symbol) {
    static const std::set<std::string> known = {"halide_cuda_device_interface",
                                                "halide_cuda_finalize_kernels",
                                                "halide_cuda_initialize_kernels",
                                                "halide_cuda_run",
                                                "halide_device_free",
                                                "halide_device_free_as_destructor",
                                                "halide_device_malloc"};
    return known.count(symbol) != 0;
}

} // namespace tilewright::dsl
