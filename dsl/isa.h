// dsl/isa.h: the levels of x86-64 that kernels are built for.
#pragma once

#include <string>
#include <vector>

namespace tilewright::dsl {

/// x86-64, x86-64-v3, x86-64-v4, weakest first.
const std::vector<std::string>& isa_levels();

/// A level's name, "host" resolved. Throws ScheduleError for an unknown one.
std::string resolve_isa(const std::string& isa);

/// Bytes of a vector register: 16, 32, 64.
int vector_bytes(const std::string& isa);

/// How many values of a dtype a vector register holds; 1 for unknown dtypes.
int vector_lanes(const std::string& isa, const std::string& dtype);

} // namespace tilewright::dsl
