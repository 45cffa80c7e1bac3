// dsl/passes/alive_markers.h: the marks of early_exit.h in lowered statements.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "dsl/passes/walk.h"

namespace tilewright::dsl {

inline constexpr const char* kAliveMarker = "tw_alive";

/// Whether an expression or a statement holds markers.
template <class Code> bool has_alive_marker(const Code& code) {
    return contains(code, [](const Halide::Internal::Call* op) { return is_marker(op, kAliveMarker); });
}

/// The markers of a body in the order in which they are evaluated, each with what is bound around it.
class AliveMarkers : public Halide::Internal::IRVisitor {
  public:
    struct Around {
        std::string name; ///< "" for the condition of a branch
        Halide::Expr value;
    };
    struct Marker {
        Halide::Expr condition;
        Halide::Expr iteration;
        std::vector<Around> around; ///< outermost first
    };
    std::vector<Marker> markers;
    std::set<std::string> allocations;
    bool stored_before = false; ///< the first marker follows a store
    bool in_loop = false;       ///< some marker stands in a loop inside the body

  private:
    using Halide::Internal::IRVisitor::visit;
    std::vector<Around> around_;
    bool stored_ = false;
    int loops_ = 0;

    void visit(const Halide::Internal::Call* op) override {
        IRVisitor::visit(op);
        if (!is_marker(op, kAliveMarker)) return;
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
    void visit(const Halide::Internal::Let* op) override { bind(op); }
    void visit(const Halide::Internal::LetStmt* op) override { bind(op); }
    void visit(const Halide::Internal::IfThenElse* op) override {
        op->condition.accept(this);
        around_.push_back({"", op->condition});
        op->then_case.accept(this);
        around_.pop_back();
        if (!op->else_case.defined()) return;
        around_.push_back({"", !op->condition});
        op->else_case.accept(this);
        around_.pop_back();
    }
    void visit(const Halide::Internal::Store* op) override {
        IRVisitor::visit(op);
        stored_ = true;
    }
    void visit(const Halide::Internal::Allocate* op) override {
        allocations.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Halide::Internal::For* op) override {
        ++loops_;
        IRVisitor::visit(op);
        --loops_;
    }
};

/// A marker's condition, for all lanes together, and its iteration in terms of what is known in front of the body.
struct Outside {
    Halide::Expr condition;
    Halide::Expr iteration;
};
Outside outside(const AliveMarkers::Marker& marker);

/// Whether a condition holds in some lane.
Halide::Expr any_lane(const Halide::Expr& condition);

} // namespace tilewright::dsl
