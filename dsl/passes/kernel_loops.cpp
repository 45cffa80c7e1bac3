// dsl/passes/kernel_loops.cpp: wraps a lowered statement in loops over what was a parameter of the kernel.
#include "dsl/passes/kernel_loops.h"

#include <set>
#include <string>
#include <utility>

#include "dsl/passes/statement_pass.h"

namespace tilewright::dsl {
namespace {

using namespace Halide::Internal;

/// Reads of a parameter become reads of a variable of the statement: Halide asks for every parameter as an argument.
class ReadVariable : public IRMutator {
  public:
    ReadVariable(std::string from, std::string to) : from_(std::move(from)), to_(std::move(to)) {}

  private:
    using IRMutator::visit;
    std::string from_, to_;
    Halide::Expr visit(const Variable* op) override {
        return op->name == from_ ? Variable::make(op->type, to_) : Halide::Expr(op);
    }
};

class ReadsAny : public IRVisitor {
  public:
    explicit ReadsAny(const std::set<std::string>& names) : names_(names) {}
    bool found = false;

  private:
    using IRVisitor::visit;
    const std::set<std::string>& names_;
    void visit(const Variable* op) override { found = found || names_.count(op->name) != 0; }
};

bool reads_any(const Halide::Expr& value, const std::set<std::string>& names) {
    ReadsAny visitor(names);
    value.accept(&visitor);
    return visitor.found;
}

using Lets = std::vector<std::pair<std::string, Halide::Expr>>;

Stmt within(const Lets& lets, Stmt body) {
    for (auto let = lets.rbegin(); let != lets.rend(); ++let)
        body = LetStmt::make(let->first, let->second, body);
    return body;
}

Stmt looped(const KernelLoop& loop, const Lets& inside, const Stmt& statement) {
    const std::string trip = loop.variable + ".trip";
    const Halide::Expr index = Variable::make(Halide::Int(32), trip);
    const Halide::Expr value = simplify(loop.first + index * loop.step);
    return For::make(trip, 0, simplify(loop.trips), loop.parallel ? ForType::Parallel : ForType::Serial,
                     Halide::Partition::Never, Halide::DeviceAPI::None,
                     LetStmt::make(loop.variable + ".value", value, within(inside, statement)));
}

/// Puts the loop into the outermost loops of the kernel: memory is then walked through in their order, and they may run
/// in parallel. What follows the loop moves along.
class PutInside : public IRMutator {
  public:
    PutInside(const KernelLoop& loop, std::string value) : loop_(loop) { moving_.insert(std::move(value)); }
    int found = 0;
    bool leaks = false; ///< something outside of the loops follows the loop

  private:
    using IRMutator::visit;
    const KernelLoop& loop_;
    std::set<std::string> moving_;
    Lets pending_;

    Stmt visit(const LetStmt* op) override {
        if (!reads_any(op->value, moving_)) {
            const Stmt body = mutate(op->body);
            return LetStmt::make(op->name, op->value, body);
        }
        moving_.insert(op->name);
        pending_.emplace_back(op->name, op->value);
        Stmt body = mutate(op->body);
        pending_.pop_back();
        return body;
    }
    Stmt visit(const For* op) override {
        const bool plain = op->for_type == ForType::Serial || op->for_type == ForType::Parallel;
        leaks = leaks || !plain || reads_any(op->min, moving_) || reads_any(op->extent, moving_);
        ++found;
        return For::make(op->name, op->min, op->extent, op->for_type, op->partition_policy, op->device_api,
                         looped(loop_, pending_, op->body));
    }
    Stmt visit(const IfThenElse* op) override {
        leaks = leaks || reads_any(op->condition, moving_);
        return IRMutator::visit(op);
    }
    Stmt visit(const Store* op) override {
        leaks = true;
        return op;
    }
    Stmt visit(const Allocate* op) override {
        leaks = true;
        return op;
    }
};

Stmt wrap(Stmt statement, const KernelLoop& loop) {
    const std::string value = loop.variable + ".value";
    statement = ReadVariable(loop.variable, value).mutate(statement);
    if (loop.may_go_inside && !loop.parallel) {
        PutInside inside(loop, value);
        const Stmt mutated = inside.mutate(statement);
        if (inside.found > 0 && !inside.leaks) return mutated;
    }
    // What does not follow the loop stays outside of it.
    std::set<std::string> moving{value};
    Lets outside;
    Lets inside;
    while (const auto* let = statement.as<LetStmt>()) {
        if (reads_any(let->value, moving)) {
            moving.insert(let->name);
            inside.emplace_back(let->name, let->value);
        } else {
            outside.emplace_back(let->name, let->value);
        }
        statement = Stmt(let->body);
    }
    return within(outside, looped(loop, inside, statement));
}

} // namespace

void add_kernel_loops_pass(Halide::Pipeline& pipeline, const std::vector<KernelLoop>& loops) {
    if (loops.empty()) return;
    add_statement_pass(pipeline, [loops](Stmt statement) {
        for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop)
            statement = wrap(statement, *loop);
        return statement;
    });
}

} // namespace tilewright::dsl
