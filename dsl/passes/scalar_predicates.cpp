// dsl/passes/scalar_predicates.cpp: the lowering pass for predicates without vectors.
#include "dsl/passes/scalar_predicates.h"

#include "dsl/passes/statement_pass.h"

namespace tilewright::dsl {
namespace {

using namespace Halide::Internal;

bool needs_branch(const Halide::Expr& predicate) {
    return predicate.type().is_scalar() && !is_const_one(predicate);
}

class ScalarPredicates : public IRMutator {
    using IRMutator::visit;

    Halide::Expr visit(const Load* op) override {
        Halide::Expr mutated = IRMutator::visit(op);
        const Load* load = mutated.as<Load>();
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
