// dsl/code/object_symbols.cpp: reads the symbol table of an object file.
#include "dsl/code/object_symbols.h"

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

std::vector<Elf64_Shdr> sections_of(std::string_view object) {
    const auto header = read_at<Elf64_Ehdr>(object, 0);
    std::vector<Elf64_Shdr> sections;
    for (int k = 0; k < header.e_shnum; ++k)
        sections.push_back(read_at<Elf64_Shdr>(object, header.e_shoff + std::uint64_t{header.e_shentsize} * k));
    return sections;
}

std::set<std::string> undefined_symbols(std::string_view object) {
    const auto header = read_at<Elf64_Ehdr>(object, 0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_type != ET_REL || header.e_machine != EM_X86_64) {
        throw InternalError("code generation gave no ELF x86-64 object file.");
    }
    std::set<std::string> result;
    const std::vector<Elf64_Shdr> sections = sections_of(object);
    for (const Elf64_Shdr& section : sections) {
        if (section.sh_type != SHT_SYMTAB) continue;
        const Elf64_Shdr& names = sections.at(section.sh_link);
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

#define TW_IS(name, function) || symbol == name
#define TW_NO(name, function)
bool runtime_has(const std::string& symbol) {
    // Position-independent code names the table, and needs none.
    return symbol == "_GLOBAL_OFFSET_TABLE_" TW_KERNEL_IMPORTS(TW_IS, TW_NO) || !libm_function(symbol).empty();
}

bool device_runtime_has(const std::string& symbol) {
    return false TW_KERNEL_IMPORTS(TW_NO, TW_IS);
}

} // namespace tilewright::dsl
