// dsl/passes/opaque.h: values whose bounds Halide does not infer.
#pragma once

#include "dsl/passes/walk.h"

namespace tilewright::dsl {

inline constexpr const char* kOpaqueMarker = "tw_opaque";

/// `x`, as any number of its type to whoever asks for its bounds. Halide makes the bounds of integer arithmetic as
/// expressions, those of a product as the extremes of four: a chain of products that each read the last one twice, as
/// in random generators, grows beyond all memory, though nobody needs its bounds. A lowering pass leaves x alone.
inline Halide::Expr opaque(const Halide::Expr& x) {
    return marked(kOpaqueMarker, x.type(), {x});
}

} // namespace tilewright::dsl
