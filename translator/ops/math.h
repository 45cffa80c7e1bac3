// translator/ops/math.h: elementary functions as vectorised Halide expressions.
#pragma once

#include <string>
#include <vector>

#include "Halide.h"
#include "translator/ir/op.h"

namespace tilewright::translator {

/// What elementary functions may do to a product and a sum.
enum class Contraction {
    none,   ///< two roundings, on every machine
    device, ///< for CUDA devices alone: one rounding in float32's polynomials; float64's functions are libdevice's
    any     ///< as the compiler likes: contract "fast"
};

/// The function as an expression over `args`, all float32 or all float64; the result has their type.
/// At most 2 ULP over the full range, NaN, infinities and signed zeros as NumPy's. With a target of StrictFloat the
/// bits depend neither on the vector width nor on the instruction set. Rare arguments go through rare()
/// (dsl/passes/markers.h), so the kernel needs that lowering pass.
/// `any`: fewer steps, a few ULP more, and for code compiled without StrictFloat; NaN and infinities still work.
/// Throws InternalError for other operations (`power` of floats is one too) and other types.
Halide::Expr elementary(Op op, std::vector<Halide::Expr> args, Contraction contraction);

/// A call of a function outside of the kernel that has no effects: of the C library, the runtime, or a device's
/// library.
Halide::Expr outside_call(const Halide::Type& type, const std::string& name, const std::vector<Halide::Expr>& args);

} // namespace tilewright::translator
