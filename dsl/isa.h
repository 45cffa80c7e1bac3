// dsl/isa.h: what kernels are built for: levels of x86-64, and CUDA devices.
#pragma once

#include <string>
#include <vector>

namespace tilewright::dsl {

/// x86-64, x86-64-v3, x86-64-v4, weakest first.
const std::vector<std::string>& isa_levels();

/// cuda-sm_70, cuda-sm_75, cuda-sm_80, cuda-sm_86: PTX for this compute capability and all later ones.
const std::vector<std::string>& cuda_isas();

/// Whether a target's name, resolved or not, is one of a CUDA device.
bool is_cuda_isa(const std::string& isa);

/// 70, 75, 80, 86; 0 for a CPU.
int cuda_capability(const std::string& isa);

/// A level's name, "host" and "cuda" resolved. Throws ScheduleError for an unknown one.
std::string resolve_isa(const std::string& isa);

/// Bytes of a vector register: 16, 32, 64; of the widest load of a CUDA thread: 16.
int vector_bytes(const std::string& isa);

/// How many values of a dtype a vector register holds; 1 for unknown dtypes.
int vector_lanes(const std::string& isa, const std::string& dtype);

} // namespace tilewright::dsl
