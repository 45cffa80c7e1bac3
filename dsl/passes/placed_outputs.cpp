// dsl/passes/placed_outputs.cpp: adds the place of a part to the index of its stores.
#include "dsl/passes/placed_outputs.h"

#include <map>
#include <set>
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

/// Lowering takes strides from the buffer, which knows nothing of the part: every read of one becomes the part's.
class PartStrides : public IRMutator {
  public:
    explicit PartStrides(const std::vector<PlacedOutput>& outputs) {
        for (const PlacedOutput& output : outputs)
            for (std::size_t k = 0; k < output.strides.size(); ++k)
                strides_.emplace(output.func + ".stride." + std::to_string(k), output.strides[k]);
    }

  private:
    using IRMutator::visit;
    std::map<std::string, Halide::Expr> strides_;

    Halide::Expr visit(const Variable* op) override {
        const auto found = strides_.find(op->name);
        return found == strides_.end() ? Halide::Expr(op) : found->second;
    }
};

/// Strides that an expression reads. Where nothing else of a kernel reads one, lowering has dropped its definition.
class FindStrides : public IRVisitor {
  public:
    std::set<std::string> names;

  private:
    using IRVisitor::visit;
    void visit(const Variable* op) override {
        if (op->name.find(".stride.") != std::string::npos) names.insert(op->name);
    }
};

Stmt with_strides(Stmt statement, const std::vector<PlacedOutput>& outputs) {
    FindStrides find;
    for (const PlacedOutput& output : outputs) {
        output.offset.accept(&find);
        for (const Halide::Expr& stride : output.strides)
            stride.accept(&find);
    }
    for (const std::string& name : find.names) {
        const std::size_t at = name.find(".stride.");
        const int dimension = std::stoi(name.substr(at + std::string(".stride.").size()));
        const Halide::Expr buffer = Variable::make(Halide::type_of<halide_buffer_t*>(), name.substr(0, at) + ".buffer");
        statement = LetStmt::make(
            name, Call::make(Halide::Int(32), Call::buffer_get_stride, {buffer, dimension}, Call::Extern), statement);
    }
    return statement;
}

} // namespace

void add_placed_outputs_pass(Halide::Pipeline& pipeline, const std::vector<PlacedOutput>& outputs) {
    if (outputs.empty()) return;
    add_statement_pass(pipeline, [outputs](const Stmt& statement) {
        return with_strides(PlacedOutputs(outputs).mutate(PartStrides(outputs).mutate(statement)), outputs);
    });
}

} // namespace tilewright::dsl
