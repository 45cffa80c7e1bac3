// dsl/passes/scalar_predicates.cpp: the lowering pass for predicates without vectors.
#include "dsl/passes/scalar_predicates.h"

#include "dsl/passes/statement_pass.h"

namespace tilewright::dsl {
namespace {

using namespace Halide::Internal;

bool needs_branch(const Halide::Expr& predicate) {
    return predicate.type().is_scalar() && !is_const_one(predicate);
}

/// Elements at constant places, each before the last one, that begin in the array and end in front of it.
bool leaves_backwards(const Load* op) {
    const auto* ramp = op->index.as<Ramp>();
    if (ramp == nullptr || is_const_one(op->predicate)) return false;
    const auto base = as_const_int(ramp->base), stride = as_const_int(ramp->stride);
    return base && stride && *stride == -1 && *base < ramp->lanes - 1;
}

class ScalarPredicates : public IRMutator {
    using IRMutator::visit;

    Halide::Expr visit(const Load* op) override {
        Halide::Expr mutated = IRMutator::visit(op);
        const Load* load = mutated.as<Load>();
        if (load && leaves_backwards(load)) {
            const auto* ramp = load->index.as<Ramp>();
            const Halide::Expr places = Add::make(Broadcast::make(ramp->base, ramp->lanes),
                                                  Ramp::make(make_zero(ramp->base.type()), ramp->stride, ramp->lanes));
            return Load::make(load->type, load->name, places, load->image, load->param, load->predicate,
                              load->alignment);
        }
        if (!load || !needs_branch(load->predicate)) return mutated;
        Halide::Expr plain =
            Load::make(load->type, load->name, load->index, load->image, load->param, const_true(), load->alignment);
        return Call::make(load->type, Call::if_then_else, {load->predicate, plain, make_zero(load->type)},
                          Call::PureIntrinsic);
    }

    Stmt visit(const Store* op) override {
        Stmt mutated = IRMutator::visit(op);
        const Store* store = mutated.as<Store>();
        if (!store || !needs_branch(store->predicate)) return mutated;
        return IfThenElse::make(store->predicate, Store::make(store->name, store->value, store->index, store->param,
                                                              const_true(), store->alignment));
    }
};

} // namespace

void add_scalar_predicates_pass(Halide::Pipeline& pipeline) {
    add_statement_pass(pipeline, [](const Stmt& statement) { return ScalarPredicates().mutate(statement); });
}

} // namespace tilewright::dsl
