// dsl/passes/opaque.h: values of which bounds inference is told nothing.
#pragma once

#include "Halide.h"

namespace tilewright::dsl {

inline constexpr const char* kOpaqueMarker = "tw_opaque";

/// `x`, as any number of its type to whoever asks for its bounds. Halide makes the bounds of integer arithmetic as
/// expressions, those of a product as the extremes of four: a chain of products that each read the last one twice, as
/// in random generators, grows beyond all memory, though nobody needs its bounds. A lowering pass leaves x alone.
inline Halide::Expr opaque(Halide::Expr x) {
    const Halide::Type type = x.type();
    return Halide::Internal::Call::make(type, kOpaqueMarker, {std::move(x)}, Halide::Internal::Call::PureIntrinsic);
}

/// Makes a pipeline take the markers away.
void add_opaque_pass(Halide::Pipeline& pipeline);

} // namespace tilewright::dsl
