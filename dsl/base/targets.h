// dsl/base/targets.h: what code is made for: the levels of x86-64 with what each of them needs, CUDA capabilities, and
// the level of this machine. Header-only, so that the compiler and the runtime, which share no library, share it;
// Python asks the runtime's face.
#pragma once

#include <cpuid.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

struct IsaLevel {
    std::string_view name;
    int rank;         ///< as the psABI counts: 1 to 4
    int vector_bytes; ///< of a register
    bool is_target;   ///< whether kernels are built for it
};

/// Weakest first.
inline constexpr std::array<IsaLevel, 4> kIsaLevels = {
    {{"x86-64", 1, 16, true}, {"x86-64-v2", 2, 16, false}, {"x86-64-v3", 3, 32, true}, {"x86-64-v4", 4, 64, true}}};

/// A feature that a level has and the one below it has not.
struct CpuFeature {
    std::string_view name; ///< as /proc/cpuinfo spells it
    int rank;
    unsigned leaf;
    char word; ///< 'b', 'c', 'd': of what cpuid answers
    int bit;
};

inline constexpr std::array<CpuFeature, 21> kCpuFeatures = {{{"pni", 2, 1, 'c', 0},
                                                             {"ssse3", 2, 1, 'c', 9},
                                                             {"cx16", 2, 1, 'c', 13},
                                                             {"sse4_1", 2, 1, 'c', 19},
                                                             {"sse4_2", 2, 1, 'c', 20},
                                                             {"popcnt", 2, 1, 'c', 23},
                                                             {"lahf_lm", 2, 0x80000001, 'c', 0},
                                                             {"fma", 3, 1, 'c', 12},
                                                             {"movbe", 3, 1, 'c', 22},
                                                             {"avx", 3, 1, 'c', 28},
                                                             {"f16c", 3, 1, 'c', 29},
                                                             {"bmi1", 3, 7, 'b', 3},
                                                             {"avx2", 3, 7, 'b', 5},
                                                             {"bmi2", 3, 7, 'b', 8},
                                                             {"abm", 3, 0x80000001, 'c', 5},
                                                             {"avx512f", 4, 7, 'b', 16},
                                                             {"avx512dq", 4, 7, 'b', 17},
                                                             {"avx512cd", 4, 7, 'b', 28},
                                                             {"avx512bw", 4, 7, 'b', 30},
                                                             {"avx512vl", 4, 7, 'b', 31},
                                                             {"osxsave", 3, 1, 'c', 27}}};

/// Compute capabilities that PTX is written for: it runs on all later ones too.
inline constexpr std::array<int, 4> kCudaCapabilities = {70, 75, 80, 86};
inline constexpr int kUsualCudaCapability = 80; ///< what "cuda" alone means

namespace detail {

inline bool has_feature(const CpuFeature& feature) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid_count(feature.leaf, 0, &a, &b, &c, &d) == 0) return false;
    const unsigned word = feature.word == 'b' ? b : feature.word == 'c' ? c : d;
    return (word >> feature.bit & 1) != 0;
}

/// Which registers the system saves when it changes threads. Only where cpuid says osxsave.
inline std::uint64_t saved_registers() {
    std::uint32_t low = 0, high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return std::uint64_t{high} << 32 | low;
}

} // namespace detail

/// The rank of this CPU and of the system on it, which must save the wide registers.
inline int cpu_isa_rank() {
    static const int rank = [] {
        int found = kIsaLevels.back().rank;
        for (const CpuFeature& feature : kCpuFeatures)
            if (feature.rank <= found && !detail::has_feature(feature)) found = feature.rank - 1;
        constexpr std::uint64_t kYmm = 0x6, kZmm = 0xe6;
        if (found >= 3 && (detail::saved_registers() & kYmm) != kYmm) found = 2;
        if (found >= 4 && (detail::saved_registers() & kZmm) != kZmm) found = 3;
        return found;
    }();
    return rank;
}

/// 1 to 4; 0 for a name that is no level of x86-64.
inline int isa_rank(std::string_view name) {
    for (const IsaLevel& level : kIsaLevels)
        if (level.name == name) return level.rank;
    return 0;
}

/// The rank that all of tilewright takes this machine for: the CPU's, cut by TILEWRIGHT_ISA (such as x86-64-v3).
inline int machine_isa_rank() {
    const char* const wish = std::getenv("TILEWRIGHT_ISA");
    const int limit = wish == nullptr ? 0 : isa_rank(wish);
    return limit > 0 && limit < cpu_isa_rank() ? limit : cpu_isa_rank();
}

/// Of levels that kernels are built for, weakest first.
inline std::vector<std::string> host_targets() {
    std::vector<std::string> names;
    for (const IsaLevel& level : kIsaLevels)
        if (level.is_target) names.emplace_back(level.name);
    return names;
}

inline constexpr std::string_view kCudaPrefix = "cuda-sm_";

/// cuda-sm_80
inline std::string cuda_target(int capability) {
    return std::string(kCudaPrefix) + std::to_string(capability);
}

/// cuda-sm_70 and those after it: PTX for this compute capability and all later ones.
inline std::vector<std::string> cuda_targets() {
    std::vector<std::string> names;
    for (const int capability : kCudaCapabilities)
        names.push_back(cuda_target(capability));
    return names;
}

/// 80 for cuda-sm_80, and for cuda, which means it; of capabilities that no PTX is written for too. 0 for what names no
/// CUDA device.
inline int cuda_capability(std::string_view name) {
    if (name == "cuda") return kUsualCudaCapability;
    if (!name.starts_with(kCudaPrefix)) return 0;
    int value = 0;
    for (const char c : name.substr(kCudaPrefix.size())) {
        if (c < '0' || c > '9' || value > 999) return 0;
        value = value * 10 + (c - '0');
    }
    return value;
}

/// Whether PTX is written for what `name` means.
inline bool is_cuda_target(std::string_view name) {
    return std::ranges::find(kCudaCapabilities, cuda_capability(name)) != kCudaCapabilities.end();
}

/// The highest level up to `rank` that kernels are built for.
inline const IsaLevel& target_of_rank(int rank) {
    const IsaLevel* found = &kIsaLevels.front();
    for (const IsaLevel& level : kIsaLevels)
        if (level.is_target && level.rank <= rank) found = &level;
    return *found;
}

} // namespace tilewright
