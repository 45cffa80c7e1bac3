// dsl/runtime/static_library.cpp: an ar archive, and an ELF member of stubs and data.
#include "dsl/runtime/static_library.h"

#include <elf.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <set>

#include "dsl/base/error.h"
#include "dsl/base/targets.h"
#include "dsl/runtime/c_entry.h"
#include "dsl/runtime/plan.h"

namespace tilewright::runtime {

extern const char kCApiText[]; // c_api.h, from c_api_text.cpp.in

namespace {

[[noreturn]] void fail(const std::string& why) {
    throw ExportError("libkernels.a: " + why);
}

template <class T> void put(std::string& out, const T& value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void pad(std::string& out, std::size_t alignment) {
    out.resize((out.size() + alignment - 1) / alignment * alignment);
}

bool is_c_name(const std::string& name) {
    auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    if (name.empty() || !letter(name[0])) return false;
    for (char c : name)
        if (!letter(c) && !(c >= '0' && c <= '9')) return false;
    return true;
}

/// Saves the argument registers, and calls tw_run_embedded(function, registers, stack arguments).
///   endbr64; push rbp; mov rbp,rsp; sub rsp,112; mov [rsp+8i],<integer register i>; movsd [rsp+48+8i],xmm<i>
///   lea rdi,[rip+function]; mov rsi,rsp; lea rdx,[rbp+16]; call tw_run_embedded; leave; ret
constexpr unsigned char kStub[] = {
    0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x70,                                           //
    0x48, 0x89, 0x3c, 0x24, 0x48, 0x89, 0x74, 0x24, 0x08, 0x48, 0x89, 0x54, 0x24, 0x10, 0x48, 0x89, 0x4c, 0x24, 0x18, //
    0x4c, 0x89, 0x44, 0x24, 0x20, 0x4c, 0x89, 0x4c, 0x24, 0x28,                                                       //
    0xf2, 0x0f, 0x11, 0x44, 0x24, 0x30, 0xf2, 0x0f, 0x11, 0x4c, 0x24, 0x38, 0xf2, 0x0f, 0x11, 0x54, 0x24, 0x40,       //
    0xf2, 0x0f, 0x11, 0x5c, 0x24, 0x48, 0xf2, 0x0f, 0x11, 0x64, 0x24, 0x50, 0xf2, 0x0f, 0x11, 0x6c, 0x24, 0x58,       //
    0xf2, 0x0f, 0x11, 0x74, 0x24, 0x60, 0xf2, 0x0f, 0x11, 0x7c, 0x24, 0x68,                                           //
    0x48, 0x8d, 0x3d, 0,    0,    0,    0,    0x48, 0x89, 0xe6, 0x48, 0x8d, 0x55, 0x10, 0xe8, 0,    0,    0,    0,
    0xc9, 0xc3};
constexpr std::size_t kFunctionReference = sizeof kStub - 18; // the four bytes after lea's opcode
constexpr std::size_t kCallReference = sizeof kStub - 6;      // the four bytes after call's opcode

/// Whether a function is there for arrays of CUDA devices too.
bool serves_devices(const Plan& plan) {
    for (const PlanVersionBody& version : plan.versions)
        for (const PlanRequirement& r : version.requirements)
            if (r.kind == PlanRequirement::Kind::isa && cuda_capability(r.name) > 0) return true;
    return false;
}

/// The member kernels.o: .text (stubs), .rodata (plans, objects), .data (EmbeddedFunction each).
std::string kernels_member(const std::vector<CFunction>& functions,
                           const std::map<std::string, std::string_view>& objects) {
    enum : std::uint16_t { none, text, rela_text, rodata, data, rela_data, symtab, strtab, shstrtab, note, count };
    std::string body[count];
    std::string blob;
    for (const auto& [name, bytes] : objects) {
        put(blob, std::uint64_t{name.size()});
        blob += name;
        put(blob, std::uint64_t{bytes.size()});
        blob += bytes;
    }
    body[rodata] = blob;
    body[strtab] = std::string(1, '\0');
    auto name_of = [&](const std::string& name) {
        auto at = static_cast<std::uint32_t>(body[strtab].size());
        body[strtab] += name + '\0';
        return at;
    };
    // Symbols: null, sections .rodata and .data (local), tw_run_embedded, then the functions.
    auto add_symbol = [&](std::uint32_t name, unsigned char bind, unsigned char type, std::uint16_t section,
                          std::uint64_t value, std::uint64_t size) {
        put(body[symtab],
            Elf64_Sym{name, static_cast<unsigned char>(ELF64_ST_INFO(bind, type)), STV_DEFAULT, section, value, size});
    };
    add_symbol(0, STB_LOCAL, STT_NOTYPE, 0, 0, 0);
    add_symbol(0, STB_LOCAL, STT_SECTION, rodata, 0, 0);
    add_symbol(0, STB_LOCAL, STT_SECTION, data, 0, 0);
    add_symbol(name_of("tw_run_embedded"), STB_GLOBAL, STT_NOTYPE, 0, 0, 0);
    add_symbol(name_of("tw_run_embedded_on_device"), STB_GLOBAL, STT_NOTYPE, 0, 0, 0);
    enum : std::uint64_t { rodata_symbol = 1, data_symbol = 2, run_symbol = 3, device_run_symbol = 4 };
    for (const CFunction& f : functions) {
        std::uint64_t plan_at = body[rodata].size(), entry_at = body[data].size();
        body[rodata] += f.plan_text;
        auto pointer = [&](std::size_t field, std::uint64_t target) {
            put(body[rela_data], Elf64_Rela{entry_at + field, ELF64_R_INFO(rodata_symbol, R_X86_64_64),
                                            static_cast<std::int64_t>(target)});
        };
        pointer(offsetof(EmbeddedFunction, plan), plan_at);
        pointer(offsetof(EmbeddedFunction, objects), 0);
        put(body[data], EmbeddedFunction{nullptr, f.plan_text.size(), nullptr, blob.size(), nullptr});
        auto stub = [&](const std::string& name, std::uint64_t run) {
            pad(body[text], 16);
            std::uint64_t stub_at = body[text].size();
            body[text].append(reinterpret_cast<const char*>(kStub), sizeof kStub);
            put(body[rela_text], Elf64_Rela{stub_at + kFunctionReference, ELF64_R_INFO(data_symbol, R_X86_64_PC32),
                                            static_cast<std::int64_t>(entry_at) - 4});
            put(body[rela_text], Elf64_Rela{stub_at + kCallReference, ELF64_R_INFO(run, R_X86_64_PLT32), -4});
            add_symbol(name_of(name), STB_GLOBAL, STT_FUNC, text, stub_at, sizeof kStub);
        };
        stub(f.name, run_symbol);
        if (serves_devices(parse_plan(f.plan_text))) stub(f.name + "_cuda", device_run_symbol);
    }
    struct Shape {
        const char* name;
        std::uint32_t type;
        std::uint64_t flags;
        std::uint32_t link, info;
        std::uint64_t alignment, entry;
    };
    const Shape shapes[count] = {{"", SHT_NULL, 0, 0, 0, 0, 0},
                                 {".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, 0, 16, 0},
                                 {".rela.text", SHT_RELA, SHF_INFO_LINK, symtab, text, 8, sizeof(Elf64_Rela)},
                                 {".rodata", SHT_PROGBITS, SHF_ALLOC, 0, 0, 16, 0},
                                 {".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0, 0, 16, 0},
                                 {".rela.data", SHT_RELA, SHF_INFO_LINK, symtab, data, 8, sizeof(Elf64_Rela)},
                                 {".symtab", SHT_SYMTAB, 0, strtab, run_symbol, 8, sizeof(Elf64_Sym)},
                                 {".strtab", SHT_STRTAB, 0, 0, 0, 1, 0},
                                 {".shstrtab", SHT_STRTAB, 0, 0, 0, 1, 0},
                                 {".note.GNU-stack", SHT_PROGBITS, 0, 0, 0, 1, 0}};
    std::uint32_t names[count];
    for (int i = 0; i < count; ++i) {
        names[i] = static_cast<std::uint32_t>(body[shstrtab].size());
        body[shstrtab] += std::string(shapes[i].name) + '\0';
    }
    std::string out(sizeof(Elf64_Ehdr), '\0');
    std::string table;
    for (int i = 0; i < count; ++i) {
        if (shapes[i].alignment) pad(out, shapes[i].alignment);
        put(table, Elf64_Shdr{names[i], shapes[i].type, shapes[i].flags, 0, i ? out.size() : 0, body[i].size(),
                              shapes[i].link, shapes[i].info, shapes[i].alignment, shapes[i].entry});
        out += body[i];
    }
    pad(out, 8);
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_REL;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_shoff = out.size();
    header.e_ehsize = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = count;
    header.e_shstrndx = shstrtab;
    std::memcpy(out.data(), &header, sizeof header);
    return out + table;
}

// ---- the archive ----

struct Member {
    std::string name;
    std::string_view bytes;
    std::vector<std::string> symbols; ///< global and defined
};

/// Names of what an object defines for others. The runtime's archive comes from our build, but it is read with care.
std::vector<std::string> defined_symbols(std::string_view object) {
    auto in_range = [&](std::uint64_t offset, std::uint64_t size) {
        return offset <= object.size() && object.size() - offset >= size;
    };
    Elf64_Ehdr header;
    if (!in_range(0, sizeof header)) fail("the runtime's archive has a member that is no object.");
    std::memcpy(&header, object.data(), sizeof header);
    std::vector<std::string> result;
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        !in_range(header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr)))
        fail("the runtime's archive has a member that is no object.");
    auto section = [&](std::uint32_t i) {
        Elf64_Shdr s{};
        if (i < header.e_shnum) std::memcpy(&s, object.data() + header.e_shoff + i * sizeof s, sizeof s);
        return s;
    };
    for (std::uint32_t i = 0; i < header.e_shnum; ++i) {
        Elf64_Shdr table = section(i);
        if (table.sh_type != SHT_SYMTAB) continue;
        Elf64_Shdr strings = section(table.sh_link);
        if (!in_range(table.sh_offset, table.sh_size) || !in_range(strings.sh_offset, strings.sh_size)) continue;
        for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
            Elf64_Sym symbol;
            std::memcpy(&symbol, object.data() + table.sh_offset + at, sizeof symbol);
            if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL || symbol.st_shndx == SHN_UNDEF ||
                symbol.st_name >= strings.sh_size)
                continue;
            std::string_view name = object.substr(strings.sh_offset + symbol.st_name, strings.sh_size - symbol.st_name);
            result.emplace_back(name.substr(0, name.find('\0')));
        }
    }
    return result;
}

std::vector<Member> read_archive(std::string_view archive) {
    constexpr std::size_t kHeader = 60;
    if (!archive.starts_with("!<arch>\n")) fail("the runtime's archive is damaged. Install tilewright again.");
    std::vector<Member> members;
    for (std::size_t at = 8; at + kHeader <= archive.size();) {
        std::string name(archive.substr(at, 16));
        std::size_t size = std::strtoull(std::string(archive.substr(at + 48, 10)).c_str(), nullptr, 10);
        at += kHeader;
        if (archive.size() - at < size) fail("the runtime's archive is truncated. Install tilewright again.");
        bool is_index = name.starts_with("/ ") || name.starts_with("//") || name.starts_with("/SYM64/");
        if (!is_index) {
            std::string_view bytes = archive.substr(at, size);
            members.push_back({"tilewright" + std::to_string(members.size()) + ".o", bytes, defined_symbols(bytes)});
        }
        at += size + size % 2;
    }
    if (members.empty()) fail("the runtime's archive is empty. Install tilewright again.");
    return members;
}

std::string member_header(const std::string& name, std::size_t size) {
    char line[61];
    // No times and owners: the same input gives the same bytes.
    std::snprintf(line, sizeof line, "%-16s%-12d%-6d%-6d%-8o%-10zu`\n", (name + "/").c_str(), 0, 0, 0, 0644, size);
    return std::string(line, 60);
}

std::string archive_of(const std::vector<Member>& members) {
    std::string names, index;
    std::size_t symbols = 0;
    for (const Member& m : members)
        for (const std::string& s : m.symbols) {
            names += s + '\0';
            ++symbols;
        }
    if (names.size() % 2) names += '\0';
    auto big_endian = [](std::size_t value) {
        return std::string{static_cast<char>(value >> 24), static_cast<char>(value >> 16),
                           static_cast<char>(value >> 8), static_cast<char>(value)};
    };
    std::size_t at = 8 + 60 + 4 + 4 * symbols + names.size();
    index = big_endian(symbols);
    for (const Member& m : members) {
        for (std::size_t i = 0; i < m.symbols.size(); ++i)
            index += big_endian(at);
        at += 60 + m.bytes.size() + m.bytes.size() % 2;
    }
    if (at > UINT32_MAX) fail("it would be larger than 4 GiB.");
    index += names;
    std::string out = "!<arch>\n" + member_header("", index.size()) + index;
    for (const Member& m : members) {
        out += member_header(m.name, m.bytes.size());
        out += m.bytes;
        if (m.bytes.size() % 2) out += '\n';
    }
    return out;
}

void check(const std::vector<CFunction>& functions) {
    std::set<std::string> names;
    for (const CFunction& f : functions) {
        if (!is_c_name(f.name)) fail("'" + f.name + "' is no name in C. Export it under another with --out.");
        const bool for_devices = serves_devices(parse_plan(f.plan_text));
        if (!names.insert(f.name).second || (for_devices && !names.insert(f.name + "_cuda").second))
            fail("'" + f.name + "' is there twice.");
    }
}

} // namespace

std::string c_header(const std::vector<CFunction>& functions) {
    check(functions);
    std::string out =
        "/* Compiled functions of this module, for C and C++. Link libkernels.a with -lpthread -ldl -lm. */\n";
    out += kCApiText;
    out += "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n";
    for (const CFunction& f : functions) {
        Plan plan = parse_plan(f.plan_text);
        auto shape = [](DType dtype, std::size_t rank) {
            std::string text = std::string(info(dtype).name) + "[";
            for (std::size_t k = 0; k < rank; ++k)
                text += k ? ", :" : ":";
            return text + "]";
        };
        std::string comment, prototype;
        // Names of Python may be keywords of C or not even ASCII.
        auto c_name = [](const std::string& name, std::size_t i) {
            return is_c_name(name) ? name + "_" : "a" + std::to_string(i);
        };
        std::size_t i = 0;
        for (const PlanArgument& a : plan.arguments) {
            std::string separator = prototype.empty() ? "" : ", ";
            if (a.is_array) {
                prototype +=
                    separator + (a.written ? "struct tw_array* " : "const struct tw_array* ") + c_name(a.name, i);
                comment += (comment.empty() ? "" : ", ") + a.name + " " +
                           shape(a.dtype, static_cast<std::size_t>(a.rank)) + (a.written ? " (written)" : "");
            } else {
                prototype += separator + std::string(info(a.dtype).c_name) + " " + c_name(a.name, i);
            }
            ++i;
        }
        std::string results;
        for (const PlanBuffer& b : plan.results) {
            prototype += (prototype.empty() ? "" : ", ") + std::string("struct tw_array* ") + c_name(b.name, i++);
            results += (results.empty() ? "" : ", ") + b.name + " " + shape(b.dtype, b.shape.size());
        }
        out += "\n/* " + comment + " -> " + (results.empty() ? "nothing" : results) + "; returns a tw_status. */\n";
        out += "int " + f.name + "(" + (prototype.empty() ? "void" : prototype) + ");\n";
        if (serves_devices(plan))
            out += "/* The same with arrays of a CUDA device, on this stream. */\nint " + f.name +
                   "_cuda(void* stream" + (prototype.empty() ? "" : ", ") + prototype + ");\n";
    }
    return out + "\n#ifdef __cplusplus\n}\n#endif\n";
}

void write_static_library(const std::string& path, std::string_view runtime_archive,
                          const std::vector<CFunction>& functions,
                          const std::map<std::string, std::string_view>& objects) {
    check(functions);
    std::vector<Member> members = read_archive(runtime_archive);
    std::string kernels = kernels_member(functions, objects);
    Member own{"kernels.o", kernels, {}};
    for (const CFunction& f : functions) {
        own.symbols.push_back(f.name);
        if (serves_devices(parse_plan(f.plan_text))) own.symbols.push_back(f.name + "_cuda");
    }
    members.insert(members.begin(), own);
    std::string bytes = archive_of(members);
    std::string temporary = path + ".tmp" + std::to_string(getpid());
    FILE* file = std::fopen(temporary.c_str(), "wbe");
    bool ok = file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    ok = file && std::fclose(file) == 0 && ok;
    if (!ok || std::rename(temporary.c_str(), path.c_str()) != 0) {
        std::string why = std::strerror(errno);
        std::remove(temporary.c_str());
        throw ExportError(path + ": it cannot be written: " + why + ".", "Choose another folder with --out.");
    }
}

} // namespace tilewright::runtime
