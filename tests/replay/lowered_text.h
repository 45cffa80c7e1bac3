// tests/replay/lowered_text.h: what code generation gets, as text.
#pragma once

#include <string>

#include "dsl/code/emit.h"

namespace tilewright::replay {

/// What emit() gives to code generation: the statement of each kernel and group behind our passes. Names that Halide
/// numbers by what the process made before are numbered anew; which of them Halide takes for one still depends on that.
std::string lowered_text(const dsl::Algorithm& algorithm, const dsl::Schedule& schedule,
                         const dsl::EmitOptions& options);

} // namespace tilewright::replay
