// dsl/passes/scalar_predicates.cpp: the pass for predicates without vectors.
#include "dsl/passes/passes.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

bool needs_branch(const Expr& predicate) {
    return predicate.type().is_scalar() && !is_const_one(predicate);
}

/// Elements at constant places, each before the last one, that begin in the array and end in front of it.
bool leaves_backwards(const Load* op) {
    const auto* ramp = op->index.as<Ramp>();
    if (ramp == nullptr || is_const_one(op->predicate)) return false;
    const auto base = as_const_int(ramp->base), stride = as_const_int(ramp->stride);
    return base && stride && *stride == -1 && *base < ramp->lanes - 1;
}

Expr lowered(const Expr& code) {
    const Load* load = code.as<Load>();
    if (load && leaves_backwards(load)) {
        const auto* ramp = load->index.as<Ramp>();
        const Expr places = Add::make(Broadcast::make(ramp->base, ramp->lanes),
                                      Ramp::make(make_zero(ramp->base.type()), ramp->stride, ramp->lanes));
        return Load::make(load->type, load->name, places, load->image, load->param, load->predicate, load->alignment);
    }
    if (!load || !needs_branch(load->predicate)) return code;
    const Expr plain =
        Load::make(load->type, load->name, load->index, load->image, load->param, const_true(), load->alignment);
    return Call::make(load->type, Call::if_then_else, {load->predicate, plain, make_zero(load->type)},
                      Call::PureIntrinsic);
}

Stmt lowered(const Stmt& code) {
    const Store* store = code.as<Store>();
    if (!store || !needs_branch(store->predicate)) return code;
    return IfThenElse::make(store->predicate, Store::make(store->name, store->value, store->index, store->param,
                                                          const_true(), store->alignment));
}

} // namespace

Stmt branch_scalar_predicates(const Stmt& statement) {
    return mutate_with(
        statement, [](Mutator& self, const Load* op) { return lowered(self.inside(op)); },
        [](Mutator& self, const Store* op) { return lowered(self.inside(op)); });
}

} // namespace tilewright::dsl
