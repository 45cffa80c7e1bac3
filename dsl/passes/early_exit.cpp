// dsl/passes/early_exit.cpp: the lowering pass that turns markers of living elements into tests around visits.
#include "dsl/passes/early_exit.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dsl/passes/loaded_names.h"
#include "dsl/passes/statement_pass.h"

namespace tilewright::dsl {
namespace {

using namespace Halide;
using namespace Halide::Internal;

constexpr const char* kMarker = "tw_alive";
/// Visits of one block: enough to make the test before it free, few enough to leave a long loop early.
constexpr int kVisitsOfBlock = 32;

bool is_marker(const Call* call) {
    return call->call_type == Call::PureIntrinsic && call->name == kMarker;
}

class FindMarker : public IRVisitor {
  public:
    bool found = false;

  private:
    using IRVisitor::visit;
    void visit(const Call* op) override {
        found = found || is_marker(op);
        if (!found) IRVisitor::visit(op);
    }
};

template <class Node> bool has_marker(const Node& node) {
    if (!node.defined()) return false;
    FindMarker find;
    node.accept(&find);
    return find.found;
}

/// Whether a serial loop with markers stands inside: then that one is the innermost.
class FindSerialLoop : public IRVisitor {
  public:
    bool found = false;

  private:
    using IRVisitor::visit;
    void visit(const For* op) override {
        found = found || (op->for_type == ForType::Serial && has_marker(op->body));
        IRVisitor::visit(op);
    }
};

class Unmark : public IRMutator {
    using IRMutator::visit;
    Expr visit(const Call* op) override { return is_marker(op) ? mutate(op->args[0]) : IRMutator::visit(op); }
};

/// The markers of a body in the order in which they are evaluated, each with what is bound around it.
class CollectMarkers : public IRVisitor {
  public:
    struct Around {
        std::string name; ///< "" for the condition of a branch
        Expr value;
    };
    struct Marker {
        Expr condition;
        Expr trip;
        std::vector<Around> around; ///< outermost first
    };
    std::vector<Marker> markers;
    std::set<std::string> allocations;
    bool stored_before = false; ///< the first marker follows a store
    bool in_loop = false;       ///< some marker stands in a loop inside the body

  private:
    using IRVisitor::visit;
    std::vector<Around> around_;
    bool stored_ = false;
    int loops_ = 0;

    void visit(const Call* op) override {
        IRVisitor::visit(op);
        if (!is_marker(op)) return;
        stored_before = stored_before || (markers.empty() && stored_);
        in_loop = in_loop || loops_ > 0;
        markers.push_back({op->args[0], op->args[1], around_});
    }
    template <class LetOrLetStmt> void bind(const LetOrLetStmt* op) {
        op->value.accept(this);
        around_.push_back({op->name, op->value});
        op->body.accept(this);
        around_.pop_back();
    }
    void visit(const Let* op) override { bind(op); }
    void visit(const LetStmt* op) override { bind(op); }
    void visit(const IfThenElse* op) override {
        op->condition.accept(this);
        around_.push_back({"", op->condition});
        op->then_case.accept(this);
        around_.pop_back();
        if (!op->else_case.defined()) return;
        around_.push_back({"", !op->condition});
        op->else_case.accept(this);
        around_.pop_back();
    }
    void visit(const Store* op) override {
        IRVisitor::visit(op);
        stored_ = true;
    }
    void visit(const Allocate* op) override {
        allocations.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const For* op) override {
        ++loops_;
        IRVisitor::visit(op);
        --loops_;
    }
};

/// Puts the values of lets in their places. What is shared stays shared.
class PutLetsIn : public IRGraphMutator {
  public:
    void bind(const std::string& name, const Expr& value) { values_[name] = value; }

  private:
    using IRGraphMutator::visit;
    std::map<std::string, Expr> values_;
    Expr visit(const Variable* op) override {
        const auto found = values_.find(op->name);
        return found == values_.end() ? Expr(op) : found->second;
    }
    Expr visit(const Call* op) override { return is_marker(op) ? mutate(op->args[0]) : IRGraphMutator::visit(op); }
};

Expr any_lane(const Expr& condition) {
    return condition.type().is_scalar() ? condition : VectorReduce::make(VectorReduce::Or, condition, 1);
}

/// A marker's condition and trip in terms of what is known in front of the body.
struct Outside {
    Expr condition;
    Expr trip;
};
Outside outside(const CollectMarkers::Marker& marker) {
    std::vector<Expr> branches;
    Expr condition = marker.condition;
    Expr trip = marker.trip;
    std::map<std::string, Expr> values;
    for (const auto& [name, value] : marker.around) {
        // A mutator remembers what it has seen, so each new binding needs a fresh one.
        PutLetsIn put;
        for (const auto& [bound, known] : values)
            put.bind(bound, known);
        const Expr here = put.mutate(value);
        if (name.empty())
            branches.push_back(here);
        else
            values[name] = here;
    }
    PutLetsIn put;
    for (const auto& [bound, known] : values)
        put.bind(bound, known);
    condition = any_lane(put.mutate(condition));
    // What a branch keeps from running may not be read either: a real branch again.
    for (auto branch = branches.rbegin(); branch != branches.rend(); ++branch)
        condition =
            Call::make(Bool(), Call::if_then_else, {any_lane(*branch), condition, const_false()}, Call::PureIntrinsic);
    trip = put.mutate(trip);
    if (const Broadcast* wide = trip.as<Broadcast>()) trip = wide->value;
    return {condition, simplify(trip)};
}

/// Whether anything in the body is alive before it runs; undefined where that cannot be asked there.
Expr alive_before(const Stmt& body) {
    CollectMarkers collect;
    body.accept(&collect);
    if (collect.markers.empty() || collect.stored_before || collect.in_loop) return Expr();
    std::vector<Outside> all;
    for (const CollectMarkers::Marker& marker : collect.markers)
        all.push_back(outside(marker));
    std::vector<Expr> terms;
    for (const Outside& one : all) {
        // The condition reads the state alone, so any trip's marker could be asked: those of later trips of the same
        // visit say the same again.
        const bool later = one.trip.type() == all[0].trip.type() && can_prove(one.trip > all[0].trip);
        bool known = later;
        for (const Expr& term : terms)
            known = known || graph_equal(term, one.condition);
        if (!known) terms.push_back(one.condition);
    }
    Expr alive = terms[0];
    for (std::size_t k = 1; k < terms.size(); ++k)
        alive = alive || terms[k];
    const std::set<std::string> loaded = loaded_names(alive);
    for (const std::string& name : collect.allocations) {
        if (loaded.count(name) != 0) return Expr();
    }
    return common_subexpression_elimination(alive);
}

class EarlyExit : public IRMutator {
    using IRMutator::visit;

    Stmt visit(const For* op) override {
        if (op->for_type != ForType::Serial || !has_marker(op->body)) return IRMutator::visit(op);
        FindSerialLoop inner;
        op->body.accept(&inner);
        if (inner.found) return IRMutator::visit(op);
        const Expr alive = alive_before(op->body);
        const Stmt body = Unmark().mutate(op->body);
        auto loop = [&](const std::string& name, const Expr& min, const Expr& extent, const Stmt& inside) {
            return For::make(name, min, extent, op->for_type, op->partition_policy, op->device_api, inside);
        };
        if (!alive.defined()) return loop(op->name, op->min, op->extent, body);
        const Stmt tested = IfThenElse::make(alive, body);
        const auto count = as_const_int(op->extent);
        if ((count && *count <= kVisitsOfBlock) || expr_uses_var(alive, op->name))
            return loop(op->name, op->min, op->extent, tested);
        // for s in blocks of 32 * 32 visits { for b in blocks of 32 { for t in visits } }. The first block of each is
        // entered unasked: the test before its first visit comes right away.
        Expr begin = op->min;
        Expr left = op->extent;
        std::vector<std::pair<std::string, Expr>> levels;
        for (const int visits : {kVisitsOfBlock * kVisitsOfBlock, kVisitsOfBlock}) {
            const std::string name = op->name + ".block" + std::to_string(visits);
            const Expr number = Variable::make(Int(32), name);
            levels.emplace_back(name, (left - 1) / visits + 1);
            begin = begin + number * visits;
            left = min(Expr(visits), left - number * visits);
        }
        Stmt inside = loop(op->name, begin, left, tested);
        for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
            const Expr first = Variable::make(Int(32), level->first) == 0;
            const Expr enter =
                Call::make(Bool(), Call::if_then_else, {first, const_true(), alive}, Call::PureIntrinsic);
            inside = loop(level->first, 0, level->second, IfThenElse::make(enter, inside));
        }
        return inside;
    }

    Expr visit(const Call* op) override { return is_marker(op) ? mutate(op->args[0]) : IRMutator::visit(op); }
};

} // namespace

Expr mark_alive(const Expr& condition, const Expr& trip) {
    // Pure and unknown: simplification and the elimination of common expressions leave it alone, vectorization widens
    // it.
    return Call::make(condition.type(), kMarker, {condition, trip}, Call::PureIntrinsic);
}

void add_early_exit_pass(Halide::Pipeline& pipeline) {
    add_statement_pass(pipeline, [](const Stmt& statement) { return EarlyExit().mutate(statement); });
}

} // namespace tilewright::dsl
