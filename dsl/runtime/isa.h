// dsl/runtime/isa.h: which x86-64 level this machine runs.
#pragma once

#include <string_view>

namespace tilewright::runtime {

/// 1 to 4 for x86-64, -v2, -v3, -v4; 0 for an unknown name. "host" counts as 1: its code was made here.
int isa_level(std::string_view name);
/// 80 for "cuda-sm_80", and for "cuda", which means it; 0 for what is no level of a CUDA device.
int cuda_capability(std::string_view name);
/// The level of this machine, cut by TILEWRIGHT_ISA (such as x86-64-v3).
int machine_isa_level();

} // namespace tilewright::runtime
