// dsl/passes/interleaved_halves.h: the two halves of a complex output are stored together.
#pragma once

#include <vector>

#include "Halide.h"
#include "dsl/model/algorithm_impl.h"

namespace tilewright::dsl {

/// Halide knows the halves of a complex array as two buffers with strides of two elements, and stores a vector to each
/// element by element. Where both halves of an element are stored one after the other, this makes one store of them:
///     z.0[ramp(b, 2, 16)] = x; z.1[ramp(b, 2, 16)] = y   ->   z.0[ramp(b, 1, 32)] = interleave(x, y)
/// The second buffer begins one element behind the first and has its strides.
void add_interleaved_halves_pass(Halide::Pipeline& pipeline, const std::vector<Halves>& halves);

} // namespace tilewright::dsl
