// dsl/passes/unaligned_outputs.cpp: the lowering pass that drops alignments of loads from outputs.
#include "dsl/passes/unaligned_outputs.h"

#include <set>
#include <string>
#include <utility>

namespace tilewright::dsl {
namespace {

using namespace Halide::Internal;

class UnalignedOutputs : public IRMutator {
  public:
    explicit UnalignedOutputs(std::set<std::string> outputs) : outputs_(std::move(outputs)) {}

  private:
    using IRMutator::visit;
    std::set<std::string> outputs_;

    Halide::Expr visit(const Load* op) override {
        Halide::Expr mutated = IRMutator::visit(op);
        const Load* load = mutated.as<Load>();
        if (!load || !outputs_.count(load->name)) return mutated;
        return Load::make(load->type, load->name, load->index, load->image, load->param, load->predicate,
                          ModulusRemainder());
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
    auto* pass = new UnalignedOutputs(std::move(names));
    pipeline.add_custom_lowering_pass(pass, [pass] { delete pass; });
}

} // namespace tilewright::dsl
