// python/native/face/draw_calls.h: draws from numpy.random.Generator that dsl/runtime/twins computes.
#pragma once

#include "python/native/face/twin_calls.h"

namespace tilewright::face {

/// Of a Generator of PCG64: random(size), uniform(low, high, size), standard_normal(size), normal(loc, scale, size),
/// integers(low, high, size, endpoint=…), shuffle(x), permutation(x), choice(a, size). The callee is the bound method.
Ref draw_random(TwinCall given);
Ref draw_uniform(TwinCall given);
Ref draw_standard_normal(TwinCall given);
Ref draw_normal(TwinCall given);
Ref draw_integers(TwinCall given);
Ref draw_shuffled(TwinCall given);
Ref draw_permutation(TwinCall given);
Ref draw_choice(TwinCall given);

} // namespace tilewright::face
