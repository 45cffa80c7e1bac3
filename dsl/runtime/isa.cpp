// dsl/runtime/isa.cpp: CPU levels as glibc and the psABI define them.
#include "dsl/runtime/isa.h"

#include <cstdlib>

namespace tilewright::runtime {

int isa_level(std::string_view name) {
    if (name == "host" || name == "x86-64") return 1;
    if (name == "x86-64-v2") return 2;
    if (name == "x86-64-v3") return 3;
    if (name == "x86-64-v4") return 4;
    return 0;
}

int cuda_capability(std::string_view name) {
    if (name == "cuda") return 80;
    constexpr std::string_view kPrefix = "cuda-sm_";
    if (!name.starts_with(kPrefix)) return 0;
    int value = 0;
    for (char c : name.substr(kPrefix.size())) {
        if (c < '0' || c > '9' || value > 999) return 0;
        value = value * 10 + (c - '0');
    }
    return value;
}

int machine_isa_level() {
    static const int level = [] {
        __builtin_cpu_init();
        int found = __builtin_cpu_supports("x86-64-v4")   ? 4
                    : __builtin_cpu_supports("x86-64-v3") ? 3
                    : __builtin_cpu_supports("x86-64-v2") ? 2
                                                          : 1;
        const char* wish = std::getenv("TILEWRIGHT_ISA");
        int limit = wish ? isa_level(wish) : 0;
        return limit > 0 && limit < found ? limit : found;
    }();
    return level;
}

} // namespace tilewright::runtime
