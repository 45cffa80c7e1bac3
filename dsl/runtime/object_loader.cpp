// dsl/runtime/object_loader.cpp: sections, symbols and relocations of one relocatable file.
#include "dsl/runtime/object_loader.h"

#include <elf.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "dsl/base/error.h"
#include "dsl/runtime/cuda/kernels.h"
#include "dsl/runtime/kernel_symbols.h"

namespace tilewright::runtime {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kMaxImage = std::size_t{256} << 20;
constexpr std::size_t kStubBytes = 16;

/// What one page range may do. Read-only data that needs relocating is written before it is protected.
enum Segment { code, constant, writable, kSegments };

struct Section {
    Elf64_Shdr header;
    bool loaded = false;
    Segment segment = constant;
    std::size_t offset = 0; ///< in its segment
};

class Loader {
  public:
    Loader(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

    void read() {
        check_header();
        read_sections();
        lay_out();
    }
    std::size_t image_bytes() const { return image_bytes_; }

    void fill(char* image) {
        image_ = image;
        for (const Section& s : sections_)
            if (s.loaded && s.header.sh_type != SHT_NOBITS)
                std::memcpy(address(s), bytes_.data() + s.header.sh_offset, s.header.sh_size);
        read_symbols();
        for (const Section& s : sections_)
            if (s.header.sh_type == SHT_RELA) relocate(s);
    }
    void protect() {
        constexpr int kProtection[kSegments] = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};
        for (int s = 0; s < kSegments; ++s)
            if (segment_bytes_[s] && mprotect(image_ + segment_start_[s], segment_bytes_[s], kProtection[s]) != 0)
                fail("the system refuses executable memory.");
    }
    std::map<std::string, void*> take_globals() { return std::move(globals_); }

    [[noreturn]] void fail(const std::string& why) const {
        throw ExportError(name_ + ".o: " + why, "The file is damaged or not ours; export or tune again.");
    }

  private:
    template <class T> T at(std::uint64_t offset, const char* what) const {
        check_range(offset, sizeof(T), what);
        T value;
        std::memcpy(&value, bytes_.data() + offset, sizeof value);
        return value;
    }
    void check_range(std::uint64_t offset, std::uint64_t size, const char* what) const {
        if (offset > bytes_.size() || bytes_.size() - offset < size)
            fail(std::string(what) + " lies outside the file.");
    }
    std::string text_at(const Elf64_Shdr& strings, std::uint32_t offset) const {
        if (offset >= strings.sh_size) fail("a name lies outside its string table.");
        std::string_view table = bytes_.substr(strings.sh_offset, strings.sh_size).substr(offset);
        std::size_t end = table.find('\0');
        if (end == std::string_view::npos) fail("a name does not end.");
        return std::string(table.substr(0, end));
    }

    void check_header() {
        if (bytes_.size() < sizeof(Elf64_Ehdr) || bytes_.substr(0, SELFMAG) != ELFMAG) fail("it is not an ELF file.");
        header_ = at<Elf64_Ehdr>(0, "the header");
        if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB ||
            header_.e_machine != EM_X86_64 || header_.e_type != ET_REL)
            fail("it is not a relocatable file for x86-64.");
        if (header_.e_shentsize != sizeof(Elf64_Shdr) || header_.e_shnum == 0 || header_.e_shnum >= SHN_LORESERVE)
            fail("it has no usable section table.");
    }
    void read_sections() {
        for (int i = 0; i < header_.e_shnum; ++i) {
            Section s;
            std::uint64_t offset = 0;
            if (__builtin_add_overflow(header_.e_shoff, std::uint64_t(i) * sizeof(Elf64_Shdr), &offset))
                fail("the section table lies outside the file.");
            s.header = at<Elf64_Shdr>(offset, "the section table");
            const Elf64_Shdr& h = s.header;
            if (h.sh_type != SHT_NOBITS && h.sh_type != SHT_NULL) check_range(h.sh_offset, h.sh_size, "a section");
            if (h.sh_flags & SHF_TLS) fail("it has thread-local data, which kernels do not use.");
            if (h.sh_type == SHT_REL) fail("it has relocations of a kind that kernels do not use.");
            if (h.sh_type == SHT_SYMTAB) {
                if (symbol_table_ >= 0) fail("it has two symbol tables.");
                symbol_table_ = i;
            }
            s.loaded = (h.sh_flags & SHF_ALLOC) && h.sh_size > 0;
            if ((h.sh_flags & SHF_WRITE) && (h.sh_flags & SHF_EXECINSTR)) fail("a section is writable and executable.");
            sections_.push_back(s);
            if (s.loaded) name_constants(sections_.back());
        }
        if (symbol_table_ < 0) fail("it has no symbol table.");
        // .data.rel.ro is marked writable for a linker's sake alone.
        strings_ = sections_[checked_index(sections_[static_cast<std::size_t>(symbol_table_)].header.sh_link)].header;
        if (strings_.sh_type != SHT_STRTAB) fail("its symbol names are not in a string table.");
    }
    void name_constants(Section& s) {
        s.segment = s.header.sh_flags & SHF_EXECINSTR ? code : s.header.sh_flags & SHF_WRITE ? writable : constant;
        if (s.segment != writable || header_.e_shstrndx >= header_.e_shnum) return;
        auto names = at<Elf64_Shdr>(header_.e_shoff + std::uint64_t(header_.e_shstrndx) * sizeof(Elf64_Shdr),
                                    "the section table");
        if (names.sh_type != SHT_STRTAB) return;
        check_range(names.sh_offset, names.sh_size, "the section names");
        if (text_at(names, s.header.sh_name).starts_with(".data.rel.ro")) s.segment = constant;
    }
    std::size_t checked_index(std::uint32_t index) const {
        if (index >= sections_.size()) fail("a section number is too large.");
        return index;
    }

    void lay_out() {
        std::size_t stubs = 0;
        for (Section& s : sections_) {
            if (s.header.sh_type == SHT_RELA) stubs += s.header.sh_size / sizeof(Elf64_Rela);
            if (!s.loaded) continue;
            std::uint64_t alignment = std::max<std::uint64_t>(s.header.sh_addralign, 1);
            if (alignment > kPage || !std::has_single_bit(alignment))
                fail("a section's alignment is not a power of two up to 4096.");
            std::size_t& size = segment_bytes_[s.segment];
            if (s.header.sh_size > kMaxImage || size > kMaxImage) fail("it is larger than 256 MiB.");
            s.offset = (size + alignment - 1) / alignment * alignment;
            size = s.offset + s.header.sh_size;
        }
        // Every relocation may need one far jump and one address.
        stub_offset_ = (segment_bytes_[code] + kStubBytes - 1) / kStubBytes * kStubBytes;
        segment_bytes_[code] = stub_offset_ + stubs * kStubBytes;
        got_offset_ = (segment_bytes_[constant] + 7) / 8 * 8;
        segment_bytes_[constant] = got_offset_ + stubs * 8;
        for (int s = 0; s < kSegments; ++s) {
            segment_start_[s] = image_bytes_;
            segment_bytes_[s] = (segment_bytes_[s] + kPage - 1) / kPage * kPage;
            image_bytes_ += segment_bytes_[s];
        }
        if (image_bytes_ > kMaxImage) fail("it is larger than 256 MiB.");
        if (image_bytes_ == 0) fail("it has neither code nor data.");
    }
    char* address(const Section& s) const { return image_ + segment_start_[s.segment] + s.offset; }

    struct Symbol {
        char* address = nullptr;
        bool imported = false;
    };

    void read_symbols() {
        const Elf64_Shdr& table = sections_[static_cast<std::size_t>(symbol_table_)].header;
        std::size_t count = table.sh_size / sizeof(Elf64_Sym);
        symbols_.resize(count);
        for (std::size_t i = 1; i < count; ++i) {
            auto symbol = at<Elf64_Sym>(table.sh_offset + i * sizeof(Elf64_Sym), "the symbol table");
            int type = ELF64_ST_TYPE(symbol.st_info);
            if (type == STT_TLS || type == STT_GNU_IFUNC) fail("it has a symbol of a kind that kernels do not use.");
            if (type == STT_FILE) continue;
            if (symbol.st_shndx == SHN_UNDEF) {
                std::string name = text_at(strings_, symbol.st_name);
                symbols_[i].imported = true;
                symbols_[i].address = static_cast<char*>(kernel_symbol(name));
                if (!symbols_[i].address && ELF64_ST_BIND(symbol.st_info) != STB_WEAK)
                    fail("it imports " + name + ", which kernels may not.");
            } else if (symbol.st_shndx < SHN_LORESERVE) {
                const Section& s = sections_[checked_index(symbol.st_shndx)];
                if (!s.loaded) continue;
                if (symbol.st_value > s.header.sh_size) fail("a symbol lies outside its section.");
                symbols_[i].address = address(s) + symbol.st_value;
                if (ELF64_ST_BIND(symbol.st_info) != STB_LOCAL && type == STT_FUNC && s.segment == code)
                    globals_[text_at(strings_, symbol.st_name)] = symbols_[i].address;
            } else if (symbol.st_shndx != SHN_ABS) {
                fail("it has a symbol of a kind that kernels do not use.");
            }
        }
    }

    void relocate(const Section& relocations) {
        const Section& target = sections_[checked_index(relocations.header.sh_info)];
        if (!target.loaded) return;
        if (target.header.sh_type == SHT_NOBITS) fail("a relocation points into empty data.");
        std::size_t count = relocations.header.sh_size / sizeof(Elf64_Rela);
        for (std::size_t i = 0; i < count; ++i) {
            auto r = at<Elf64_Rela>(relocations.header.sh_offset + i * sizeof(Elf64_Rela), "the relocations");
            std::uint64_t type = ELF64_R_TYPE(r.r_info), index = ELF64_R_SYM(r.r_info);
            std::size_t width = type == R_X86_64_64 ? 8 : 4;
            if (target.header.sh_size < width || r.r_offset > target.header.sh_size - width)
                fail("a relocation lies outside its section.");
            if (index >= symbols_.size()) fail("a relocation names a symbol that is not there.");
            const Symbol& symbol = symbols_[index];
            if (!symbol.address) fail("a relocation uses a symbol without an address.");
            char* place = address(target) + r.r_offset;
            // Unsigned: an addend of a damaged file may be anything, and what does not fit is refused below.
            std::uint64_t value = reinterpret_cast<std::uint64_t>(symbol.address);
            auto addend = static_cast<std::uint64_t>(r.r_addend);
            switch (type) {
            case R_X86_64_64: {
                std::uint64_t sum = value + addend;
                std::memcpy(place, &sum, 8);
                break;
            }
            case R_X86_64_PC32:
                if (symbol.imported) fail("it refers to an imported symbol by its distance.");
                put_distance(place, value, addend);
                break;
            case R_X86_64_PLT32:
                put_distance(place, symbol.imported ? stub_for(value) : value, addend);
                break;
            case R_X86_64_GOTPCREL:
            case R_X86_64_GOTPCRELX:
            case R_X86_64_REX_GOTPCRELX:
                put_distance(place, got_for(value), addend);
                break;
            default:
                fail("it has a relocation of type " + std::to_string(type) + ", which kernels do not use.");
            }
        }
    }
    void put_distance(char* place, std::uint64_t value, std::uint64_t addend) const {
        auto distance = static_cast<std::int64_t>(value + addend - reinterpret_cast<std::uint64_t>(place));
        if (distance != static_cast<std::int32_t>(distance)) fail("a relocation reaches too far.");
        auto narrow = static_cast<std::int32_t>(distance);
        std::memcpy(place, &narrow, 4);
    }
    /// jmp *[rip+0]; address. One per imported function.
    std::uint64_t stub_for(std::uint64_t value) {
        constexpr std::string_view kJump("\xff\x25\0\0\0\0", 6);
        return entry_for(stubs_, value, segment_start_[code] + stub_offset_, kStubBytes, kJump);
    }
    std::uint64_t got_for(std::uint64_t value) {
        return entry_for(got_, value, segment_start_[constant] + got_offset_, sizeof value, "");
    }
    /// Where `value` lies, behind `front`, in a table that begins at an offset of the image.
    std::uint64_t entry_for(std::map<std::uint64_t, char*>& table, std::uint64_t value, std::size_t offset,
                            std::size_t bytes, std::string_view front) {
        auto [found, fresh] = table.try_emplace(value, image_ + offset + table.size() * bytes);
        if (fresh) {
            std::memcpy(found->second, front.data(), front.size());
            std::memcpy(found->second + front.size(), &value, sizeof value);
        }
        return reinterpret_cast<std::uint64_t>(found->second);
    }

    std::string_view bytes_;
    const std::string& name_;
    Elf64_Ehdr header_{};
    std::vector<Section> sections_;
    int symbol_table_ = -1;
    Elf64_Shdr strings_{};
    std::size_t segment_bytes_[kSegments] = {}, segment_start_[kSegments] = {};
    std::size_t image_bytes_ = 0, stub_offset_ = 0, got_offset_ = 0;
    char* image_ = nullptr;
    std::vector<Symbol> symbols_;
    std::map<std::string, void*> globals_;
    std::map<std::uint64_t, char*> stubs_, got_;
};

} // namespace

std::shared_ptr<const LoadedObject> LoadedObject::load(std::string_view bytes, const std::string& name) {
    Loader loader(bytes, name);
    loader.read();
    std::shared_ptr<LoadedObject> result(new LoadedObject);
    void* memory = mmap(nullptr, loader.image_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) loader.fail("there is no memory for its code.");
    result->memory_ = memory;
    result->bytes_ = loader.image_bytes();
    loader.fill(static_cast<char*>(memory));
    loader.protect();
    result->symbols_ = loader.take_globals();
    return result;
}

LoadedObject::~LoadedObject() {
    if (!memory_) return;
    cuda::forget_kernels(memory_, bytes_);
    munmap(memory_, bytes_);
}

void* LoadedObject::find(const std::string& symbol) const {
    auto found = symbols_.find(symbol);
    return found == symbols_.end() ? nullptr : found->second;
}

} // namespace tilewright::runtime
