// dsl/code/isa.cpp: names of targets as schedules and options give them.
#include "dsl/code/isa.h"

#include <algorithm>
#include <iterator>

#include "dsl/base/dtypes.h"
#include "dsl/base/error.h"
#include "dsl/base/spelling.h"
#include "dsl/base/targets.h"
#include "dsl/code/emit.h"

namespace tilewright::dsl {

std::string host_isa() {
    return std::string(target_of_rank(machine_isa_rank()).name);
}

bool is_cuda_isa(const std::string& isa) {
    return isa == "cuda" || isa.starts_with("cuda-");
}

std::string resolve_isa(const std::string& isa) {
    if (isa.empty() || isa == "host") return host_isa();
    if (isa == "cuda") return cuda_target(kUsualCudaCapability);
    std::vector<std::string> known = host_targets();
    std::ranges::move(cuda_targets(), std::back_inserter(known));
    if (std::ranges::find(known, isa) != known.end()) return isa;
    const auto near = near_name(isa, known);
    throw ScheduleError("target " + isa + ": unknown.",
                        near ? "Did you mean " + *near + "?" : "The targets are: host, cuda, " + joined(known) + ".");
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
