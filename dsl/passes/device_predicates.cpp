// dsl/passes/device_predicates.cpp: masks of vectors as branches of their elements.
#include "dsl/passes/device_predicates.h"

#include <string>
#include <vector>

namespace tilewright::dsl {
namespace {

using namespace Halide;
using namespace Halide::Internal;

class BranchPredicates : public IRMutator {
    using IRMutator::visit;
    bool on_device_ = false;

    Stmt visit(const For* op) override {
        const ScopedValue<bool> inside(on_device_, on_device_ || op->for_type == ForType::GPUBlock);
        return IRMutator::visit(op);
    }

    bool masked(const Expr& predicate) const {
        return on_device_ && predicate.type().is_vector() && !is_const_one(predicate);
    }

    Expr visit(const Load* op) override {
        const Expr mutated = IRMutator::visit(op);
        const Load* load = mutated.as<Load>();
        if (!load || !masked(load->predicate)) return mutated;
        const Type element = load->type.element_of();
        std::vector<Expr> elements;
        for (int k = 0; k < load->type.lanes(); ++k) {
            const Expr plain = Load::make(element, load->name, extract_lane(load->index, k), load->image, load->param,
                                          const_true(), ModulusRemainder());
            elements.push_back(Call::make(element, Call::if_then_else,
                                          {extract_lane(load->predicate, k), plain, make_zero(element)},
                                          Call::PureIntrinsic));
        }
        return Shuffle::make_concat(elements);
    }

    Stmt visit(const Store* op) override {
        const Stmt mutated = IRMutator::visit(op);
        const Store* store = mutated.as<Store>();
        if (!store || !masked(store->predicate)) return mutated;
        const std::string name = unique_name('t');
        const Expr value = Variable::make(store->value.type(), name);
        std::vector<Stmt> stores;
        for (int k = 0; k < store->value.type().lanes(); ++k) {
            stores.push_back(IfThenElse::make(extract_lane(store->predicate, k),
                                              Store::make(store->name, Shuffle::make_extract_element(value, k),
                                                          extract_lane(store->index, k), store->param, const_true(),
                                                          ModulusRemainder())));
        }
        return LetStmt::make(name, store->value, Block::make(stores));
    }
};

} // namespace

Stmt branch_device_predicates(const Stmt& statement) {
    return BranchPredicates().mutate(statement);
}

} // namespace tilewright::dsl
