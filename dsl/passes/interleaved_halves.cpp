// dsl/passes/interleaved_halves.cpp: makes one store of the stores to both halves of complex elements.
#include "dsl/passes/interleaved_halves.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dsl/passes/statement_pass.h"

namespace tilewright::dsl {
namespace {

using namespace Halide::Internal;

class InterleavedHalves : public IRMutator {
  public:
    explicit InterleavedHalves(const std::vector<Halves>& halves) {
        for (const Halves& each : halves)
            imag_of_.emplace(each.real, each.imag);
    }

  private:
    using IRMutator::visit;
    using Lets = std::vector<std::pair<std::string, Halide::Expr>>;
    std::map<std::string, std::string> imag_of_;
    std::map<std::string, Halide::Expr> values_; ///< of names of whole numbers around

    /// Names replaced by their values, and the strides of an imaginary half by those of the real one.
    class Spell : public IRMutator {
      public:
        Spell(const std::map<std::string, Halide::Expr>& values, std::string real, std::string imag)
            : values_(values), real_(std::move(real)), imag_(std::move(imag)) {}

      private:
        using IRMutator::visit;
        const std::map<std::string, Halide::Expr>& values_;
        std::string real_, imag_;

        Halide::Expr visit(const Variable* op) override {
            const std::string stride = imag_ + ".stride.";
            if (op->name.rfind(stride, 0) == 0)
                return Variable::make(op->type, real_ + ".stride." + op->name.substr(stride.size()));
            const auto value = values_.find(op->name);
            return value == values_.end() ? Halide::Expr(op) : mutate(value->second);
        }
    };

    static bool counts(const Halide::Expr& value) { return value.type() == Halide::Int(32) && is_pure(value); }

    Stmt visit(const LetStmt* op) override {
        if (counts(op->value)) values_[op->name] = op->value;
        return LetStmt::make(op->name, op->value, mutate(op->body));
    }

    Stmt visit(const Block* op) override {
        Lets lets;
        const auto* real = behind(op->first, lets).as<Store>();
        const auto found = real ? imag_of_.find(real->name) : imag_of_.end();
        if (found == imag_of_.end()) return IRMutator::visit(op);
        Stmt second = behind(op->rest, lets), rest;
        if (const auto* block = second.as<Block>()) {
            second = block->first;
            rest = mutate(block->rest);
            second = behind(second, lets);
        }
        const auto* imag = second.as<Store>();
        Stmt store = imag != nullptr && imag->name == found->second ? joined(*real, *imag, lets) : Stmt();
        if (!store.defined()) return IRMutator::visit(op);
        if (rest.defined()) store = Block::make(store, rest);
        for (std::size_t k = lets.size(); k-- > 0;)
            store = LetStmt::make(lets[k].first, lets[k].second, store);
        return store;
    }

    /// A statement without the names defined before it, each of which is defined once in a kernel.
    static Stmt behind(Stmt statement, Lets& lets) {
        while (const auto* let = statement.as<LetStmt>()) {
            lets.emplace_back(let->name, let->value);
            statement = let->body;
        }
        return statement;
    }

    /// One store of both; nothing where they are not to the same elements.
    Stmt joined(const Store& real, const Store& imag, const Lets& lets) {
        if (!is_const_one(real.predicate) || !is_const_one(imag.predicate)) return {};
        if (real.value.type() != imag.value.type()) return {};
        const Halide::Expr first = base_of(real.index), second = base_of(imag.index);
        if (!first.defined() || !second.defined()) return {};
        std::map<std::string, Halide::Expr> values = values_;
        for (const auto& [name, value] : lets)
            if (counts(value)) values[name] = value;
        Spell spell(values, real.name, imag.name);
        if (!is_const_zero(simplify(spell.mutate(first) - spell.mutate(second)))) return {};
        const int lanes = real.value.type().lanes();
        return Store::make(real.name, Shuffle::make_interleave({real.value, imag.value}),
                           Ramp::make(first, 1, 2 * lanes), real.param, const_true(2 * lanes), real.alignment);
    }

    /// Of an index of every other element, or of one.
    static Halide::Expr base_of(const Halide::Expr& index) {
        if (index.type().is_scalar()) return index;
        const auto* ramp = index.as<Ramp>();
        return ramp != nullptr && is_const(ramp->stride, 2) && ramp->base.type().is_scalar() ? ramp->base
                                                                                             : Halide::Expr();
    }
};

} // namespace

void add_interleaved_halves_pass(Halide::Pipeline& pipeline, const std::vector<Halves>& halves) {
    if (halves.empty()) return;
    add_statement_pass(pipeline,
                       [halves](const Stmt& statement) { return InterleavedHalves(halves).mutate(statement); });
}

} // namespace tilewright::dsl
