// dsl/passes/unaligned_outputs.cpp: the pass that drops alignments that memory does not have.
#include <set>
#include <string>

#include "dsl/passes/passes.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {

using namespace Halide::Internal;

namespace {

/// The load without a claim, and with a parameter of one element's alignment where it has none. Code generation
/// simplifies what it makes of a division of integers, which finds out again that an index is a multiple of the
/// vector's length; with a parameter that says nothing of the memory. Inference of arguments, which comes later, passes
/// over parameters that have an output's name.
Halide::Expr from_anywhere(const Load* load, const std::string& output) {
    const Halide::Parameter anywhere(load->type.element_of(), true, 1, output);
    return Load::make(load->type, load->name, load->index, load->image, load->param.defined() ? load->param : anywhere,
                      load->predicate, {});
}

} // namespace

Stmt forget_alignment(const Stmt& statement, const std::set<std::string>& outputs) {
    std::set<std::string> unaligned_names = outputs; // and allocations of one element
    std::set<std::string> single;                    // the latter
    return mutate_with(
        statement,
        [&](Mutator& self, const Load* op) {
            const Halide::Expr mutated = self.inside(op);
            const Load* load = mutated.as<Load>();
            return load && unaligned_names.count(load->name) ? from_anywhere(load, *outputs.begin()) : mutated;
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
