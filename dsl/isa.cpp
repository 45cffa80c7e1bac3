// dsl/isa.cpp: what this CPU can run, asked of the CPU and of the system (which must save the wide registers).
#include "dsl/isa.h"

#include <algorithm>

#include "dsl/base/error.h"
#include "dsl/base/spelling.h"
#include "dsl/emit.h"

namespace tilewright::dsl {

const std::vector<std::string>& isa_levels() {
    static const std::vector<std::string> levels = {"x86-64", "x86-64-v3", "x86-64-v4"};
    return levels;
}

std::string host_isa() {
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("f16c");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    return v4 ? "x86-64-v4" : v3 ? "x86-64-v3" : "x86-64";
}

std::string resolve_isa(const std::string& isa) {
    if (isa.empty() || isa == "host") return host_isa();
    const auto& levels = isa_levels();
    if (std::find(levels.begin(), levels.end(), isa) != levels.end()) return isa;
    const auto near = near_name(isa, levels);
    throw ScheduleError("target " + isa + ": unknown.",
                        near ? "Did you mean " + *near + "?" : "The targets are: host, x86-64, x86-64-v3, x86-64-v4.");
}

int vector_bytes(const std::string& isa) {
    const std::string level = resolve_isa(isa);
    return level == "x86-64-v4" ? 64 : level == "x86-64-v3" ? 32 : 16;
}

int vector_lanes(const std::string& isa, const std::string& dtype) {
    int bytes = 0;
    if (dtype == "bool" || dtype == "int8" || dtype == "uint8") bytes = 1;
    if (dtype == "int16" || dtype == "uint16" || dtype == "float16") bytes = 2;
    if (dtype == "int32" || dtype == "uint32" || dtype == "float32") bytes = 4;
    if (dtype == "int64" || dtype == "uint64" || dtype == "float64" || dtype == "complex64") bytes = 8;
    if (dtype == "complex128") bytes = 16;
    return bytes == 0 ? 1 : vector_bytes(isa) / bytes;
}

} // namespace tilewright::dsl
