// dsl/runtime/isa.cpp: CPU levels as glibc and the psABI define them.
#include "dsl/runtime/isa.h"

#include "dsl/base/targets.h"

namespace tilewright::runtime {

int isa_level(std::string_view name) {
    return name == "host" ? 1 : isa_rank(name);
}

int cuda_capability(std::string_view name) {
    if (name == "cuda") return kUsualCudaCapability;
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
    return machine_isa_rank();
}

} // namespace tilewright::runtime
