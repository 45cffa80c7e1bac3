// dsl/passes/placed_outputs.cpp: adds the place of a part to the index of its stores.
#include "dsl/passes/placed_outputs.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "dsl/passes/loaded_names.h"
#include "dsl/passes/statement_pass.h"

namespace tilewright::dsl {
namespace {

using namespace Halide::Internal;

class PlacedOutputs : public IRMutator {
  public:
    PlacedOutputs(const std::vector<PlacedOutput>& outputs, const Stmt& statement) {
        // A read that the simplifier has dropped (y[i] - y[i] of integers) has taken the name of its buffer along.
        const std::set<std::string> loaded = loaded_names(statement);
        for (const PlacedOutput& output : outputs) {
            PlacedOutput& known = outputs_.emplace(output.func, output).first->second;
            if (loaded.count(known.input) == 0) known.input.clear();
        }
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

/// Puts the values of whole numbers into the indices that name them. An element that one iteration of a loop stores and
/// the next one loads stays in a register only if LLVM sees that both indices count alike, and a name hides that: code
/// generation widens sums to 64 bits term by term, and names as a whole.
class SpeltOutIndices : public IRMutator {
  private:
    using IRMutator::visit;
    Scope<Halide::Expr> values_;

    class Spell : public IRMutator {
      public:
        explicit Spell(const Scope<Halide::Expr>& values) : values_(values) {}

      private:
        using IRMutator::visit;
        const Scope<Halide::Expr>& values_;
        Halide::Expr visit(const Variable* op) override {
            const Halide::Expr* value = values_.find(op->name);
            return value == nullptr ? Halide::Expr(op) : *value;
        }
    };
    Halide::Expr spelt(const Halide::Expr& index) const { return Spell(values_).mutate(index); }

    template <class LetOrStmt, class Result> Result let(const LetOrStmt* op) {
        const bool counts = op->value.type() == Halide::Int(32) && is_pure(op->value);
        // An inner let of the same name hides an outer one.
        const ScopedBinding<Halide::Expr> bind(values_, op->name,
                                               counts ? spelt(op->value) : Variable::make(op->value.type(), op->name));
        auto body = mutate(op->body);
        return LetOrStmt::make(op->name, mutate(op->value), std::move(body));
    }
    Stmt visit(const LetStmt* op) override { return let<LetStmt, Stmt>(op); }
    Halide::Expr visit(const Let* op) override { return let<Let, Halide::Expr>(op); }
    Halide::Expr visit(const Load* op) override {
        return Load::make(op->type, op->name, mutate(spelt(op->index)), op->image, op->param, mutate(op->predicate),
                          op->alignment);
    }
    Stmt visit(const Store* op) override {
        return Store::make(op->name, mutate(op->value), mutate(spelt(op->index)), op->param, mutate(op->predicate),
                           op->alignment);
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
    const bool in_place =
        std::any_of(outputs.begin(), outputs.end(), [](const PlacedOutput& output) { return !output.input.empty(); });
    add_statement_pass(pipeline, [outputs, in_place](Stmt statement) {
        statement = PartStrides(outputs).mutate(statement);
        statement = PlacedOutputs(outputs, statement).mutate(statement);
        if (in_place) statement = SpeltOutIndices().mutate(statement);
        return with_strides(statement, outputs);
    });
}

} // namespace tilewright::dsl
