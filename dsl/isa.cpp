// dsl/isa.cpp: names of targets as schedules and options give them.
#include "dsl/isa.h"

#include <algorithm>

#include "dsl/base/dtypes.h"
#include "dsl/base/error.h"
#include "dsl/base/spelling.h"
#include "dsl/base/targets.h"
#include "dsl/emit.h"

namespace tilewright::dsl {

const std::vector<std::string>& isa_levels() {
    static const std::vector<std::string> levels = [] {
        std::vector<std::string> names;
        for (const IsaLevel& level : kIsaLevels)
            if (level.is_target) names.emplace_back(level.name);
        return names;
    }();
    return levels;
}

std::string host_isa() {
    return std::string(target_of_rank(machine_isa_rank()).name);
}

const std::vector<std::string>& cuda_isas() {
    static const std::vector<std::string> isas = [] {
        std::vector<std::string> names;
        for (const int capability : kCudaCapabilities)
            names.push_back("cuda-sm_" + std::to_string(capability));
        return names;
    }();
    return isas;
}

bool is_cuda_isa(const std::string& isa) {
    return isa == "cuda" || isa.starts_with("cuda-");
}

int cuda_capability(const std::string& isa) {
    return is_cuda_isa(isa) ? std::stoi(resolve_isa(isa).substr(std::string("cuda-sm_").size())) : 0;
}

std::string resolve_isa(const std::string& isa) {
    if (isa.empty() || isa == "host") return host_isa();
    if (isa == "cuda") return "cuda-sm_" + std::to_string(kUsualCudaCapability);
    std::vector<std::string> known = isa_levels();
    known.insert(known.end(), cuda_isas().begin(), cuda_isas().end());
    if (std::find(known.begin(), known.end(), isa) != known.end()) return isa;
    const auto near = near_name(isa, known);
    std::string list = "host, cuda";
    for (const std::string& name : known)
        list += ", " + name;
    throw ScheduleError("target " + isa + ": unknown.",
                        near ? "Did you mean " + *near + "?" : "The targets are: " + list + ".");
}

int vector_bytes(const std::string& isa) {
    const std::string level = resolve_isa(isa);
    if (is_cuda_isa(level)) return 16;
    return target_of_rank(isa_rank(level)).vector_bytes;
}

int vector_lanes(const std::string& isa, const std::string& dtype) {
    const DTypeInfo* const known = find_dtype(dtype);
    return known == nullptr ? 1 : vector_bytes(isa) / known->bytes;
}

} // namespace tilewright::dsl
