// dsl/passes/rare_path.cpp: the lowering pass that turns tw_rare markers into branches.
#include "dsl/passes/rare_path.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dsl/passes/statement_pass.h"
#include "dsl/passes/tuple_updates.h"
#include "dsl/passes/whole_threads.h"

namespace tilewright::dsl {
namespace {

using namespace Halide;
using namespace Halide::Internal;

bool is_marker(const Call* call) {
    return call->call_type == Call::PureIntrinsic && call->name == kRareMarker;
}

/// What a piece of code holds that matters here.
class Contents : public IRVisitor {
  public:
    bool marker = false;
    bool extern_call = false;
    std::set<std::string> loads;
    std::set<std::string> stores;

  private:
    using IRVisitor::visit;
    void visit(const Call* op) override {
        marker = marker || is_marker(op);
        extern_call = extern_call || op->is_extern();
        IRVisitor::visit(op);
    }
    void visit(const Load* op) override {
        loads.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Store* op) override {
        stores.insert(op->name);
        IRVisitor::visit(op);
    }
};

template <class Node> Contents contents_of(const Node& node) {
    Contents contents;
    node.accept(&contents);
    return contents;
}

template <class Node> bool has_marker(const Node& node) {
    return node.defined() && contents_of(node).marker;
}

/// The variables that a piece of code reads; those bound inside are counted too, which only keeps more lets alive.
class VariablesUsed : public IRVisitor {
  public:
    explicit VariablesUsed(bool skip_slow) : skip_slow_(skip_slow) {}
    std::set<std::string> names;

  private:
    using IRVisitor::visit;
    bool skip_slow_;
    void visit(const Variable* op) override { names.insert(op->name); }
    void visit(const Call* op) override {
        if (skip_slow_ && is_marker(op)) {
            op->args[0].accept(this);
            op->args[2].accept(this);
        } else {
            IRVisitor::visit(op);
        }
    }
};

template <class Node> std::set<std::string> variables_in(const Node& node, bool skip_slow = false) {
    VariablesUsed used(skip_slow);
    node.accept(&used);
    return std::move(used.names);
}

/// Puts `let name = value` around the slow argument of every outermost marker that reads it.
class MoveIntoSlow : public IRMutator {
  public:
    MoveIntoSlow(std::string name, Expr value) : name_(std::move(name)), value_(std::move(value)) {}

  private:
    using IRMutator::visit;
    std::string name_;
    Expr value_;
    Expr visit(const Call* op) override {
        if (!is_marker(op)) return IRMutator::visit(op);
        Expr slow = op->args[1];
        if (variables_in(slow).count(name_)) slow = Let::make(name_, value_, slow);
        return Call::make(op->type, op->name, {mutate(op->args[0]), slow, mutate(op->args[2])}, op->call_type);
    }
};

/// Common subexpression elimination lifts library calls that two slow arguments share in front of the statement, where
/// every vector would pay for them: this puts them back.
class SinkSlowLets : public IRMutator {
    using IRMutator::visit;

    template <class LetOrLetStmt, class Body> Body sink(const LetOrLetStmt* op) {
        Body body = mutate(op->body);
        const Contents value = contents_of(op->value);
        if (value.extern_call) {
            const Contents inside = contents_of(body);
            bool overwritten = false;
            for (const std::string& buffer : value.loads)
                overwritten = overwritten || inside.stores.count(buffer);
            if (inside.marker && !overwritten && variables_in(body).count(op->name) &&
                !variables_in(body, true).count(op->name)) {
                return MoveIntoSlow(op->name, mutate(op->value)).mutate(body);
            }
        }
        return LetOrLetStmt::make(op->name, mutate(op->value), std::move(body));
    }
    Expr visit(const Let* op) override { return sink<Let, Expr>(op); }
    Stmt visit(const LetStmt* op) override { return sink<LetStmt, Stmt>(op); }
};

enum class Form { select, fast };

/// Replaces markers by their fast argument or by a select, and drops the lets that nothing reads any more.
class Strip : public IRMutator {
  public:
    explicit Strip(Form form) : form_(form) {}

  private:
    using IRMutator::visit;
    Form form_;

    Expr visit(const Call* op) override {
        if (!is_marker(op)) return IRMutator::visit(op);
        Expr fast = mutate(op->args[2]);
        if (form_ == Form::fast) return fast;
        Expr condition = mutate(op->args[0]);
        Expr slow = mutate(op->args[1]);
        return Select::make(std::move(condition), std::move(slow), std::move(fast));
    }

    template <class LetOrLetStmt, class Body> Body strip_lets(const LetOrLetStmt* op) {
        // Chains of lets are hundreds long: peel them in a loop and look for uses once, from the end.
        std::vector<std::pair<std::string, Expr>> lets;
        Body body = Body(op);
        while (const LetOrLetStmt* let = body.template as<LetOrLetStmt>()) {
            lets.emplace_back(let->name, mutate(let->value));
            Body next = let->body;
            body = std::move(next);
        }
        body = mutate(body);
        std::set<std::string> used = variables_in(body);
        for (auto it = lets.rbegin(); it != lets.rend(); ++it) {
            if (!used.count(it->first)) continue;
            used.erase(it->first);
            used.merge(variables_in(it->second));
            body = LetOrLetStmt::make(it->first, it->second, body);
        }
        return body;
    }
    Expr visit(const Let* op) override { return strip_lets<Let, Expr>(op); }
    Stmt visit(const LetStmt* op) override { return strip_lets<LetStmt, Stmt>(op); }
};

template <class Node> Node strip(const Node& node, Form form) {
    return Strip(form).mutate(node);
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
        std::set<std::string> used = variables_in(result);
        for (auto it = lets_.rbegin(); it != lets_.rend(); ++it) {
            if (!used.count(it->first)) continue;
            used.merge(variables_in(it->second));
            result = Let::make(it->first, it->second, result);
        }
        return result;
    }

  private:
    using IRMutator::visit;
    std::vector<std::pair<std::string, Expr>> lets_; // under names of their own, so that scopes may be joined
    std::vector<Expr> conditions_;
    std::map<std::string, std::vector<Expr>> renamed_;
    std::set<std::string> stored_;

    Expr visit(const Variable* op) override {
        auto found = renamed_.find(op->name);
        return found == renamed_.end() || found->second.empty() ? Expr(op) : found->second.back();
    }
    Expr visit(const Call* op) override {
        if (!is_marker(op)) return IRMutator::visit(op);
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
        const bool is_thread = op->for_type == ForType::GPUThread || op->for_type == ForType::GPULane;
        const ScopedValue<bool> inside(in_thread_, in_thread_ || is_thread);
        return IRMutator::visit(op);
    }

    Stmt branch(const Stmt& statement, const Expr& condition) const {
        return branch(condition, strip(statement, Form::select), strip(statement, Form::fast));
    }
    Stmt branch(const Expr& condition, const Stmt& slow, const Stmt& fast) const {
        return IfThenElse::make(in_thread_ ? mark_rare_branch(condition) : condition, slow, fast);
    }

    // Whatever is not handled below (loop bounds, conditions of ifs, sizes) takes the plain select.
    Expr visit(const Call* op) override { return is_marker(op) ? strip(Expr(op), Form::select) : IRMutator::visit(op); }

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
            return Store::make(name, value, index, Parameter(), always, ModulusRemainder());
        };
        CollectConditions conditions;
        conditions.mutate(op->value);
        Stmt fill =
            branch(conditions.any(), store(strip(op->value, Form::select)), store(strip(op->value, Form::fast)));
        Expr value = Load::make(stored, name, index, Buffer<>(), Parameter(), always, ModulusRemainder());
        if (type.is_bool()) value = NE::make(value, make_zero(stored));
        Stmt body = Block::make(fill, LetStmt::make(op->name, value, mutate(op->body)));
        return Allocate::make(name, stored.element_of(), MemoryType::Stack, {type.lanes()}, const_true(), body);
    }

    // Code generation knows atomic updates by their shape.
    Stmt visit(const Atomic* op) override { return strip(Stmt(op), Form::select); }
};

} // namespace

Stmt lower_rare_paths(const Stmt& statement) {
    if (!has_marker(statement)) return statement;
    return BranchOnMarkers().mutate(SinkSlowLets().mutate(statement));
}

void add_rare_path_pass(Pipeline& pipeline) {
    protect_tuple_updates(pipeline);
    add_statement_pass(pipeline, lower_rare_paths);
}

} // namespace tilewright::dsl
