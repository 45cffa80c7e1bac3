// dsl/passes/markers.h: what stages say to lowering passes, in their expressions.
#pragma once

#include "dsl/passes/walk.h"

namespace tilewright::dsl {

inline constexpr const char* kOpaqueMarker = "tw_opaque";

/// `x`, as any number of its type to whoever asks for its bounds. Halide makes the bounds of integer arithmetic as
/// expressions, those of a product as the extremes of four: a chain of products that each read the last one twice, as
/// in random generators, grows beyond all memory, though nobody needs its bounds. A lowering pass removes the marker
/// and keeps x.
inline Halide::Expr opaque(const Halide::Expr& x) {
    return marked(kOpaqueMarker, x.type(), {x});
}

inline constexpr const char* kApartMarker = "tw_apart";

/// `x`, apart from what it is computed from. Where a value is wider than all that is loaded for it, Halide 21 moves the
/// loads in front of it, out of the scope of the variables of their index (SubstituteInWideningLets; "Symbol not
/// found"). It does not look into calls of functions. A lowering pass removes the marker and keeps x.
inline Halide::Expr apart(const Halide::Expr& x) {
    return Halide::Internal::Call::make(x.type(), kApartMarker, {x}, Halide::Internal::Call::PureExtern);
}

inline constexpr const char* kInKernelMarker = "tw_in_kernel";

/// `value`, whose choices are made in its kernel. Halide computes a stage only where a choice of its readers may need
/// it, and asks that before the stage's loops: of a condition that is the same for all elements on the host, which
/// cannot read what lies on a device. It leaves alone what is impure. `fixed`: variables of one value, the loops of one
/// iteration.
Halide::Expr chosen_in_kernel(const Halide::Expr& value, const std::set<std::string>& fixed);

/// Whether there is float arithmetic in an expression, or in the stages that it reads and that may be inlined. Each
/// node is seen once: the values of a random generator share so many that a walk along every path would not end.
inline bool rounds(const Halide::Expr& x) {
    using namespace Halide::Internal;
    bool found = false;
    const auto see = [&](GraphVisitor& self, const auto* op, bool is_arithmetic = true) {
        found = found || (is_arithmetic && op->type.is_float());
        if (!found) self.inside(op);
    };
    visit_with<GraphVisitor>(
        x, [&](GraphVisitor& self, const Add* op) { see(self, op); },
        [&](GraphVisitor& self, const Sub* op) { see(self, op); },
        [&](GraphVisitor& self, const Mul* op) { see(self, op); },
        [&](GraphVisitor& self, const Div* op) { see(self, op); },
        [&](GraphVisitor& self, const Call* op) {
            see(self, op, op->call_type != Call::Halide && op->call_type != Call::Image);
            if (found || op->call_type != Call::Halide || !op->func.defined()) return;
            const Function stage(op->func);
            if (!stage.has_update_definition() && stage.has_pure_definition())
                for (const Halide::Expr& value : stage.values())
                    self.include(value);
        });
    return found;
}

/// What an update makes of `x`: opaque where it has float arithmetic. Halide leaves iterations out whose update it
/// proves to store what is there already, and proves that by the laws of real numbers, under strict_float too: to it
/// t + 1 == t is false and s - y + y is s, for every float (dsl/DECISIONS.md, trap 8).
inline Halide::Expr opaque_if_it_rounds(const Halide::Expr& x) {
    return rounds(x) ? opaque(x) : x;
}

inline constexpr const char* kRareMarker = "tw_rare";

/// select(condition, slow, fast), lane by lane; only the cost differs: a vector in which no lane needs `slow` never
/// computes it. A lowering pass turns
///   out[ramp] = f(rare(c, s, q))   ->   if (any(c)) out[ramp] = f(select(c, s, q)) else out[ramp] = f(q)
/// Conditions, slow and fast may hold further markers. Without the pass code generation refuses the marker.
inline Halide::Expr rare(const Halide::Expr& condition, const Halide::Expr& slow, const Halide::Expr& fast) {
    return marked(kRareMarker, fast.type(), {condition, slow, fast});
}

/// Marks the condition under which an update over iterations changes an element at all:
///   state(x) = select(mark_alive(c, t), next, state(x))
/// The promise: where c is false, this iteration and every later one leave the element as it is. `iteration` is the
/// RVar of the iterations, so that the first iteration of an unrolled body can be told from the others. Value and type
/// are those of c.
Halide::Expr mark_alive(const Halide::Expr& condition, const Halide::Expr& iteration);

/// The number whose bits as a float16 these are, as a float32, and the bits of the float16 nearest to a float32.
/// Kernels know float16 as 16 bits in memory and as float32 else: code generation has arithmetic of its own for its
/// type, and simplification folds it in other precisions. A pass lowers the markers (lower_half_floats).
Halide::Expr half_to_float(const Halide::Expr& bits);
Halide::Expr float_to_half(const Halide::Expr& x);
/// The number of float16 nearest to a float32.
Halide::Expr rounded_to_half(const Halide::Expr& x);

/// The larger, or the smaller, of two float32: NaN where either is, 0.0 above -0.0, so that the order of many does not
/// matter. Passes lower it (lower_device_extremes).
Halide::Expr device_extreme(bool largest, const Halide::Expr& a, const Halide::Expr& b);

} // namespace tilewright::dsl
