// dsl/passes/placed_outputs.cpp: adds the place of a part to the index of its stores.
#include "dsl/passes/placed_outputs.h"

#include <map>
#include <string>

#include "dsl/passes/statement_pass.h"

namespace tilewright::dsl {
namespace {

using namespace Halide::Internal;

class PlacedOutputs : public IRMutator {
  public:
    explicit PlacedOutputs(const std::vector<PlacedOutput>& outputs) {
        for (const PlacedOutput& output : outputs)
            outputs_.emplace(output.func, output);
    }

  private:
    using IRMutator::visit;
    std::map<std::string, PlacedOutput> outputs_;

    Stmt visit(const Store* op) override {
        const Stmt mutated = IRMutator::visit(op);
        const Store* store = mutated.as<Store>();
        const auto found = store ? outputs_.find(store->name) : outputs_.end();
        if (found == outputs_.end()) return mutated;
        Halide::Expr offset = found->second.offset;
        const int lanes = store->index.type().lanes();
        if (lanes > 1) offset = Broadcast::make(offset, lanes);
        const std::string& input = found->second.input;
        return Store::make(input.empty() ? store->name : input, store->value, simplify(store->index + offset),
                           input.empty() ? store->param : Halide::Parameter(), store->predicate, ModulusRemainder());
    }
};

} // namespace

void add_placed_outputs_pass(Halide::Pipeline& pipeline, const std::vector<PlacedOutput>& outputs) {
    if (outputs.empty()) return;
    add_statement_pass(pipeline, [outputs](const Stmt& statement) { return PlacedOutputs(outputs).mutate(statement); });
}

} // namespace tilewright::dsl
