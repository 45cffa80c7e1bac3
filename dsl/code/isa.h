// dsl/code/isa.h: targets (dsl/base/targets.h) as schedules and options name them.
#pragma once

#include <string>

namespace tilewright::dsl {

/// Whether a target's name, resolved or not, is one of a CUDA device.
bool is_cuda_isa(const std::string& isa);

/// A level's name, "host" and "cuda" resolved. Throws ScheduleError for an unknown one.
std::string resolve_isa(const std::string& isa);

/// Bytes of a vector register: 16, 32, 64; of the widest load of a CUDA thread: 16.
int vector_bytes(const std::string& isa);

/// How many values of a dtype a vector register holds; 1 for unknown dtypes.
int vector_lanes(const std::string& isa, const std::string& dtype);

} // namespace tilewright::dsl
