// dsl/passes/unaligned_outputs.cpp: the lowering pass that drops alignments that memory does not have.
#include "dsl/passes/unaligned_outputs.h"

#include "dsl/passes/statement_pass.h"

#include <set>
#include <string>
#include <utility>

namespace tilewright::dsl {
namespace {

using namespace Halide::Internal;

class UnalignedOutputs : public IRMutator {
  public:
    explicit UnalignedOutputs(std::set<std::string> outputs) : unaligned_(std::move(outputs)) {}

  private:
    using IRMutator::visit;
    std::set<std::string> unaligned_; ///< outputs, and allocations of one element
    std::set<std::string> single_;    ///< the latter

    Halide::Expr visit(const Load* op) override {
        Halide::Expr mutated = IRMutator::visit(op);
        const Load* load = mutated.as<Load>();
        if (!load || !unaligned_.count(load->name)) return mutated;
        return Load::make(load->type, load->name, load->index, load->image, load->param, load->predicate,
                          ModulusRemainder());
    }

    Stmt visit(const Store* op) override {
        Stmt mutated = IRMutator::visit(op);
        const Store* store = mutated.as<Store>();
        // To outputs Halide stores as it should, and knows more than nothing of them.
        if (!store || !single_.count(store->name)) return mutated;
        return Store::make(store->name, store->value, store->index, store->param, store->predicate, ModulusRemainder());
    }

    Stmt visit(const Allocate* op) override {
        const bool single = Allocate::constant_allocation_size(op->extents, op->name) == 1;
        if (single) {
            unaligned_.insert(op->name);
            single_.insert(op->name);
        }
        return IRMutator::visit(op);
    }
};

} // namespace

void add_unaligned_outputs_pass(Halide::Pipeline& pipeline) {
    std::set<std::string> names;
    for (const Halide::Func& output : pipeline.outputs()) {
        const int count = output.outputs();
        for (int k = 0; k < count; ++k) {
            names.insert(count == 1 ? output.name() : output.name() + "." + std::to_string(k));
        }
    }
    add_statement_pass(pipeline, [names](const Stmt& statement) { return UnalignedOutputs(names).mutate(statement); });
}

} // namespace tilewright::dsl
