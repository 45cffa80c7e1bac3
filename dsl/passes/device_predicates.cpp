// dsl/passes/device_predicates.cpp: masks of vectors as branches of their elements.
#include <string>
#include <vector>

#include "dsl/passes/passes.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {

using namespace Halide;
using namespace Halide::Internal;

namespace {

bool is_masked(const Expr& predicate) {
    return predicate.type().is_vector() && !is_const_one(predicate);
}

bool claims_alignment(const Type& type, const ModulusRemainder& alignment) {
    return type.is_vector() && alignment.modulus != 1;
}

Expr branched(const Expr& code) {
    const Load* load = code.as<Load>();
    if (!load) return code;
    if (!is_masked(load->predicate)) return claims_alignment(load->type, load->alignment) ? unaligned(load) : code;
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

Stmt branched(const Stmt& code) {
    const Store* store = code.as<Store>();
    if (!store) return code;
    const Type type = store->value.type();
    if (!is_masked(store->predicate)) return claims_alignment(type, store->alignment) ? unaligned(store) : code;
    const std::string name = unique_name('t');
    const Expr value = Variable::make(type, name);
    std::vector<Stmt> stores;
    for (int k = 0; k < type.lanes(); ++k) {
        stores.push_back(IfThenElse::make(extract_lane(store->predicate, k),
                                          Store::make(store->name, Shuffle::make_extract_element(value, k),
                                                      extract_lane(store->index, k), store->param, const_true(),
                                                      ModulusRemainder())));
    }
    return LetStmt::make(name, store->value, Block::make(stores));
}

} // namespace

Stmt branch_device_predicates(const Stmt& statement) {
    return in_blocks(statement, [](const Stmt& block) {
        return mutate_with(
            block, [](Mutator& self, const Load* op) { return branched(self.inside(op)); },
            [](Mutator& self, const Store* op) { return branched(self.inside(op)); });
    });
}

} // namespace tilewright::dsl
