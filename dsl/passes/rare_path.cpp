// dsl/passes/rare_path.cpp: the lowering pass that turns tw_rare markers into branches.
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dsl/passes/markers.h"
#include "dsl/passes/passes.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr auto is_rare = [](const Call* call) { return is_marker(call, kRareMarker); };

template <class Code> bool has_marker(const Code& code) {
    return contains(code, is_rare);
}

/// Whether code outside of slow arguments reads a variable.
template <class Code> bool fast_reads(const Code& code, const std::string& name) {
    bool found = false;
    visit_with(
        code, [&](Visitor&, const Variable* op) { found = found || op->name == name; },
        [&](Visitor& self, const Call* op) {
            if (!is_rare(op)) return self.inside(op);
            op->args[0].accept(&self);
            op->args[2].accept(&self);
        });
    return found;
}

/// Puts `let name = value` around the slow argument of every outermost marker that reads it.
template <class Code> Code moved_into_slow(const Code& code, const std::string& name, const Expr& value) {
    return mutate_with(code, [&](Mutator& self, const Call* op) {
        if (!is_rare(op)) return self.inside(op);
        Expr slow = op->args[1];
        if (variables_in(slow).count(name)) slow = Let::make(name, value, slow);
        return Call::make(op->type, op->name, {self.mutate(op->args[0]), slow, self.mutate(op->args[2])},
                          op->call_type);
    });
}

/// Common subexpression elimination lifts library calls that two slow arguments share in front of the statement, where
/// every vector would pay for them: this puts them back.
Stmt sink_slow_lets(const Stmt& statement) {
    const auto sink = [](Mutator& self, const auto* op) {
        auto body = self.mutate(op->body);
        if (contains(op->value, [](const Call* call) { return call->is_extern(); }) && has_marker(body)) {
            const std::set<std::string> loads = loaded_names(op->value);
            const bool overwritten = contains(body, [&](const Store* store) { return loads.count(store->name) != 0; });
            if (!overwritten && variables_in(body).count(op->name) && !fast_reads(body, op->name))
                return moved_into_slow(body, op->name, self.mutate(op->value));
        }
        return std::remove_pointer_t<decltype(op)>::make(op->name, self.mutate(op->value), std::move(body));
    };
    return mutate_with(
        statement, [&](Mutator& self, const Let* op) { return sink(self, op); },
        [&](Mutator& self, const LetStmt* op) { return sink(self, op); });
}

enum class Form { select, fast };

/// Replaces markers by their fast argument or by a select, and drops the lets that nothing reads any more.
template <class Code> Code strip(const Code& code, Form form) {
    // Chains of lets are hundreds long: peel them in a loop and look for uses once, from the end.
    const auto strip_lets = [](Mutator& self, const auto* op) {
        using LetOrLetStmt = std::remove_pointer_t<decltype(op)>;
        Lets lets;
        auto body = op->body;
        lets.emplace_back(op->name, self.mutate(op->value));
        while (const auto* let = body.template as<LetOrLetStmt>()) {
            lets.emplace_back(let->name, self.mutate(let->value));
            auto next = let->body;
            body = std::move(next);
        }
        return within_used<LetOrLetStmt>(lets, self.mutate(body));
    };
    return mutate_with(
        code,
        [&](Mutator& self, const Call* op) {
            if (!is_rare(op)) return self.inside(op);
            Expr fast = self.mutate(op->args[2]);
            if (form == Form::fast) return fast;
            Expr condition = self.mutate(op->args[0]);
            return Select::make(std::move(condition), self.mutate(op->args[1]), std::move(fast));
        },
        [&](Mutator& self, const Let* op) { return strip_lets(self, op); },
        [&](Mutator& self, const LetStmt* op) { return strip_lets(self, op); });
}

/// Finds the conditions of a piece of straight-line code, in evaluation order, with the lets that they need.
///
/// Markers inside conditions are replaced by their fast argument: their own conditions are in the list too, so when
/// the whole list is false these values are exact, and when it is not the answer is "slow" anyway. Markers inside
/// slow arguments need no condition, since the fast copy does not hold them.
class CollectConditions : public IRMutator {
  public:
    /// Whether a condition, or a let before it, reads a buffer that the code has already written.
    bool reads_own_store = false;

    /// One scalar condition: whether any lane of any marker needs the slow form.
    Expr any() const {
        std::map<int, Expr> by_lanes;
        for (const Expr& condition : conditions_) {
            Expr& all = by_lanes[condition.type().lanes()];
            all = all.defined() ? Or::make(all, condition) : condition;
        }
        Expr result;
        for (const auto& [lanes, condition] : by_lanes) {
            Expr scalar = lanes == 1 ? condition : VectorReduce::make(VectorReduce::Or, condition, 1);
            result = result.defined() ? Or::make(result, scalar) : scalar;
        }
        return within_used<Let>(lets_, result);
    }

  private:
    using IRMutator::visit;
    Lets lets_; ///< under fresh names, so that scopes may be joined
    std::vector<Expr> conditions_;
    std::map<std::string, std::vector<Expr>> renamed_;
    std::set<std::string> stored_;

    Expr visit(const Variable* op) override {
        auto found = renamed_.find(op->name);
        return found == renamed_.end() || found->second.empty() ? Expr(op) : found->second.back();
    }
    Expr visit(const Call* op) override {
        if (!is_rare(op)) return IRMutator::visit(op);
        conditions_.push_back(mutate(op->args[0]));
        return mutate(op->args[2]);
    }
    Expr visit(const Load* op) override {
        if (stored_.count(op->name)) reads_own_store = true;
        return IRMutator::visit(op);
    }
    template <class LetOrLetStmt, class Body> Body collect(const LetOrLetStmt* op) {
        Expr value = mutate(op->value);
        const std::string name = unique_name("rare_let");
        lets_.emplace_back(name, value);
        renamed_[op->name].push_back(Variable::make(value.type(), name));
        Body body = mutate(op->body);
        renamed_[op->name].pop_back();
        return body;
    }
    Expr visit(const Let* op) override { return collect<Let, Expr>(op); }
    Stmt visit(const LetStmt* op) override { return collect<LetStmt, Stmt>(op); }
    Stmt visit(const Store* op) override {
        Stmt result = IRMutator::visit(op);
        stored_.insert(op->name);
        return result;
    }
};

/// Lets, stores and blocks of them: code that may stand in both arms of a branch.
bool is_straight_line(const Stmt& statement) {
    if (const LetStmt* let = statement.as<LetStmt>()) return is_straight_line(let->body);
    if (const Block* block = statement.as<Block>()) {
        return is_straight_line(block->first) && is_straight_line(block->rest);
    }
    return statement.as<Store>() != nullptr;
}

class BranchOnMarkers : public IRMutator {
    using IRMutator::visit;
    bool in_thread_ = false; ///< of a device

    Stmt visit(const For* op) override {
        const ScopedValue<bool> inside(in_thread_, in_thread_ || is_over_threads(op));
        return IRMutator::visit(op);
    }

    Stmt branch(const Stmt& statement, const Expr& condition) const {
        return branch(condition, strip(statement, Form::select), strip(statement, Form::fast));
    }
    Stmt branch(const Expr& condition, const Stmt& slow, const Stmt& fast) const {
        return IfThenElse::make(in_thread_ ? mark_rare_branch(condition) : condition, slow, fast);
    }

    // Whatever is not handled below (loop bounds, conditions of ifs, sizes) takes the plain select.
    Expr visit(const Call* op) override { return is_rare(op) ? strip(Expr(op), Form::select) : IRMutator::visit(op); }

    Stmt visit(const Store* op) override {
        const Stmt statement(op);
        if (!has_marker(statement)) return statement;
        CollectConditions conditions;
        conditions.mutate(statement);
        return branch(statement, conditions.any());
    }

    Stmt visit(const LetStmt* op) override {
        if (!has_marker(op->value)) return LetStmt::make(op->name, op->value, mutate(op->body));
        const Stmt statement(op);
        if (is_straight_line(statement)) {
            CollectConditions conditions;
            conditions.mutate(statement);
            if (!conditions.reads_own_store) return branch(statement, conditions.any());
        }
        return through_scratch(op);
    }

    /// A value with markers in front of loops: both arms write it to a variable on the stack, which LLVM turns back
    /// into a register.
    Stmt through_scratch(const LetStmt* op) {
        const Type type = op->value.type();
        if (type.is_handle()) return LetStmt::make(op->name, strip(op->value, Form::select), mutate(op->body));
        const Type stored = type.is_bool() ? UInt(8, type.lanes()) : type;
        const std::string name = unique_name(op->name + "_rare");
        const Expr index = type.is_scalar() ? Expr(0) : Ramp::make(0, 1, type.lanes());
        const Expr always = const_true(type.lanes());
        auto store = [&](Expr value) {
            if (type.is_bool()) value = Cast::make(stored, value);
            return store_of(name, value, index, always);
        };
        CollectConditions conditions;
        conditions.mutate(op->value);
        Stmt fill =
            branch(conditions.any(), store(strip(op->value, Form::select)), store(strip(op->value, Form::fast)));
        Expr value = load_of(name, stored, index, always);
        if (type.is_bool()) value = NE::make(value, make_zero(stored));
        Stmt body = Block::make(fill, LetStmt::make(op->name, value, mutate(op->body)));
        return Allocate::make(name, stored.element_of(), MemoryType::Stack, {type.lanes()}, const_true(), body);
    }

    // Code generation knows atomic updates by their shape.
    Stmt visit(const Atomic* op) override { return strip(Stmt(op), Form::select); }
};

} // namespace

void add_rare_path_pass(Pipeline& pipeline) {
    protect_tuple_updates(pipeline);
    add_statement_pass(pipeline, [](const Stmt& statement) {
        return has_marker(statement) ? BranchOnMarkers().mutate(sink_slow_lets(statement)) : statement;
    });
}

} // namespace tilewright::dsl
