// dsl/runtime/glibc/newer.cpp: what headers, libstdc++ and libgcc take from a glibc newer than 2.28, where they find
// one.
//
// Hidden, under the names that they use, so that modules and C libraries run where their builder's glibc is not.
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <cstddef>
#include <cstdint>

#define TW_HIDDEN(name) asm(name) __attribute__((visibility("hidden")))
#define TW_OF_LIBC(name) asm(name)

extern "C" {

// 2.32: libstdc++ counts references without atomics where it is true.
extern char tw_single_threaded TW_HIDDEN("__libc_single_threaded");
char tw_single_threaded = 0;

// 2.36: std::random_device.
std::uint32_t tw_random() TW_HIDDEN("arc4random");
std::uint32_t tw_random() {
    std::uint32_t value = 0;
    while (syscall(SYS_getrandom, &value, sizeof value, 0) != sizeof value) {
    }
    return value;
}

// 2.38: strtol() and its like also read binary numbers, which nobody writes to us.
long tw_of_strtol(const char*, char**, int) TW_OF_LIBC("strtol");
unsigned long tw_of_strtoul(const char*, char**, int) TW_OF_LIBC("strtoul");
int tw_of_vsscanf(const char*, const char*, va_list) TW_OF_LIBC("vsscanf");

long tw_strtol(const char* text, char** end, int base) TW_HIDDEN("__isoc23_strtol");
long tw_strtol(const char* text, char** end, int base) {
    return tw_of_strtol(text, end, base);
}
long tw_strtoll(const char* text, char** end, int base) TW_HIDDEN("__isoc23_strtoll");
long tw_strtoll(const char* text, char** end, int base) {
    return tw_of_strtol(text, end, base);
}
unsigned long tw_strtoul(const char* text, char** end, int base) TW_HIDDEN("__isoc23_strtoul");
unsigned long tw_strtoul(const char* text, char** end, int base) {
    return tw_of_strtoul(text, end, base);
}
unsigned long tw_strtoull(const char* text, char** end, int base) TW_HIDDEN("__isoc23_strtoull");
unsigned long tw_strtoull(const char* text, char** end, int base) {
    return tw_of_strtoul(text, end, base);
}
int tw_sscanf(const char* text, const char* format, ...) TW_HIDDEN("__isoc23_sscanf");
int tw_sscanf(const char* text, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int count = tw_of_vsscanf(text, format, arguments);
    va_end(arguments);
    return count;
}

// 2.35: libgcc looks up the frames of an address with it. The layout is that of glibc's struct dl_find_object.
struct TwFoundObject {
    std::uint64_t flags;
    void *begin, *end;
    const void* link_map; // its first member is the load address, which is all that libgcc reads
    const void* frames;
    std::uint64_t reserved[7];
};
int tw_find_object(void* address, TwFoundObject* found) TW_HIDDEN("_dl_find_object");
int tw_find_object(void* address, TwFoundObject* found) {
    struct Search {
        std::uintptr_t address;
        TwFoundObject* found;
        std::uintptr_t load = 0;
    } search{reinterpret_cast<std::uintptr_t>(address), found};
    static thread_local std::uintptr_t load = 0;
    const int is_found = dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) -> int {
            auto& s = *static_cast<Search*>(data);
            bool inside = false;
            const void* frames = nullptr;
            for (int i = 0; i < info->dlpi_phnum; ++i) {
                const auto& header = info->dlpi_phdr[i];
                const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
                if (header.p_type == PT_LOAD && s.address - begin < header.p_memsz) {
                    inside = true;
                    s.found->begin = reinterpret_cast<void*>(begin);
                    s.found->end = reinterpret_cast<void*>(begin + header.p_memsz);
                }
                if (header.p_type == PT_GNU_EH_FRAME) frames = reinterpret_cast<const void*>(begin);
            }
            if (!inside || !frames) return 0;
            s.found->flags = 0;
            s.found->frames = frames;
            s.load = info->dlpi_addr;
            return 1;
        },
        &search);
    load = search.load;
    found->link_map = &load;
    return is_found ? 0 : -1;
}
}
