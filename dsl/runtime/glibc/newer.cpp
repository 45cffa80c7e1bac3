// dsl/runtime/glibc/newer.cpp: what headers, libstdc++ and libgcc take from a glibc newer than 2.28, where they find
// one.
//
// Hidden, under the names that they use, so that what is built runs where its builder's glibc is not.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
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

// 2.33: these were functions of the linker's archive before. Each has two names, whose structures are one here.
#define TW_STAT(name, parameters, call)                                                                                \
    int tw_##name parameters TW_HIDDEN(#name);                                                                         \
    int tw_##name parameters {                                                                                         \
        return static_cast<int>(call);                                                                                 \
    }                                                                                                                  \
    int tw_##name##64 parameters TW_HIDDEN(#name "64");                                                                \
    int tw_##name##64 parameters {                                                                                     \
        return static_cast<int>(call);                                                                                 \
    }
TW_STAT(stat, (const char* path, struct stat* found), syscall(SYS_stat, path, found))
TW_STAT(lstat, (const char* path, struct stat* found), syscall(SYS_lstat, path, found))
TW_STAT(fstat, (int file, struct stat* found), syscall(SYS_fstat, file, found))
TW_STAT(fstatat, (int folder, const char* path, struct stat* found, int flags),
        syscall(SYS_newfstatat, folder, path, found, flags))
#undef TW_STAT

// 2.30: std::condition_variable waits with it until a time of the steady clock. An older glibc waits for as long by the
// clock of the day.
using TwClockWait = int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
int tw_clockwait(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*) TW_HIDDEN("pthread_cond_clockwait");
int tw_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
    const auto of_libc = reinterpret_cast<TwClockWait>(dlsym(RTLD_DEFAULT, "pthread_cond_clockwait"));
    if (of_libc) return of_libc(condition, mutex, clock, until);
    constexpr std::int64_t second_ns = 1'000'000'000;
    const auto ns = [](const timespec& time) { return time.tv_sec * second_ns + time.tv_nsec; };
    timespec now, day;
    clock_gettime(clock, &now);
    clock_gettime(CLOCK_REALTIME, &day);
    const std::int64_t end_ns = ns(day) + ns(*until) - ns(now);
    const timespec end = {end_ns / second_ns, end_ns % second_ns};
    return pthread_cond_timedwait(condition, mutex, &end);
}

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

#define TW_STRTO(type, name, of_libc)                                                                                  \
    type tw_##name(const char*, char**, int) TW_HIDDEN("__isoc23_" #name);                                             \
    type tw_##name(const char* text, char** end, int base) {                                                           \
        return of_libc(text, end, base);                                                                               \
    }
TW_STRTO(long, strtol, tw_of_strtol)
TW_STRTO(long, strtoll, tw_of_strtol)
TW_STRTO(unsigned long, strtoul, tw_of_strtoul)
TW_STRTO(unsigned long, strtoull, tw_of_strtoul)
#undef TW_STRTO
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
