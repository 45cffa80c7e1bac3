// dsl/passes/unaligned_outputs.cpp: the pass that drops alignments that memory does not have.
#include <set>
#include <string>

#include "dsl/passes/passes.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {

using namespace Halide::Internal;

Stmt forget_alignment(const Stmt& statement, const std::set<std::string>& outputs) {
    std::set<std::string> unaligned_names = outputs; // and allocations of one element
    std::set<std::string> single;                    // the latter
    return mutate_with(
        statement,
        [&](Mutator& self, const Load* op) {
            const Halide::Expr mutated = self.inside(op);
            const Load* load = mutated.as<Load>();
            return load && unaligned_names.count(load->name) ? unaligned(load) : mutated;
        },
        [&](Mutator& self, const Store* op) {
            const Stmt mutated = self.inside(op);
            const Store* store = mutated.as<Store>();
            // To outputs Halide stores as it should, and knows more than nothing of them.
            return store && single.count(store->name) ? unaligned(store) : mutated;
        },
        [&](Mutator& self, const Allocate* op) {
            if (Allocate::constant_allocation_size(op->extents, op->name) == 1) {
                unaligned_names.insert(op->name);
                single.insert(op->name);
            }
            return self.inside(op);
        });
}

} // namespace tilewright::dsl
