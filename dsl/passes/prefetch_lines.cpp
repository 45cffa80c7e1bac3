// dsl/passes/prefetch_lines.cpp: the lowering pass behind prefetch_lines().
#include <algorithm>
#include <utility>

#include "dsl/passes/memory_hints.h"
#include "dsl/passes/passes.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int kCacheLineBytes = 64;

bool uses_any(const Expr& value, const std::vector<std::string>& names) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return expr_uses_var(value, name); });
}

/// One piece of memory that a statement reads: where it begins and how many bytes it has.
struct DenseLoad {
    std::string buffer;
    Type element;
    Expr begin; ///< in elements
    int lanes = 1;
    Expr condition; ///< of the branch that it stands in; undefined where it is always read
};

/// The dense loads from arguments in a piece of code, as far as their place is known in front of it; a piece that is
/// read twice counts once.
template <class Code> std::vector<DenseLoad> dense_loads(const Code& code, const std::set<std::string>& arguments) {
    std::vector<DenseLoad> loads;
    std::vector<std::string> bound_here;
    Expr condition;
    // What is loaded may lie outside of its array where the statement does not run.
    const auto known_in_front = [&](const Expr& value) { return !has_load(value) && !uses_any(value, bound_here); };
    const auto bind = [&](Visitor& self, const auto* op) {
        op->value.accept(&self);
        bound_here.push_back(op->name);
        op->body.accept(&self);
    };
    visit_with(
        code, [&](Visitor& self, const Let* op) { bind(self, op); },
        [&](Visitor& self, const LetStmt* op) { bind(self, op); },
        [&](Visitor& self, const For* op) {
            bound_here.push_back(op->name);
            self.inside(op);
        },
        [&](Visitor& self, const IfThenElse* op) {
            // A condition that is not known in front hides its branches.
            if (!known_in_front(op->condition) || !op->condition.type().is_scalar()) return;
            const auto branch = [&](const Stmt& body, const Expr& holds) {
                const ScopedValue<Expr> inside(condition, condition.defined() ? condition && holds : holds);
                body.accept(&self);
            };
            branch(op->then_case, op->condition);
            if (op->else_case.defined()) branch(op->else_case, !op->condition);
        },
        [&](Visitor& self, const Load* op) {
            self.inside(op);
            const Ramp* ramp = op->index.as<Ramp>();
            if (!ramp || !is_const_one(ramp->stride) || !ramp->base.type().is_scalar()) return;
            if (!arguments.count(op->name) || !known_in_front(ramp->base)) return;
            const bool known = std::ranges::any_of(
                loads, [&](const DenseLoad& load) { return load.buffer == op->name && equal(load.begin, ramp->base); });
            if (!known) loads.push_back({op->name, op->type.element_of(), ramp->base, ramp->lanes, condition});
        });
    return loads;
}

class InsertPrefetches : public IRMutator {
  public:
    InsertPrefetches(const std::vector<PrefetchLines>& prefetches, const std::set<std::string>& arguments)
        : prefetches_(prefetches), arguments_(arguments) {}

    Stmt run(const Stmt& statement) {
        Stmt result = mutate(statement);
        for (const std::string& name : used_) {
            const Expr buffer = Variable::make(type_of<struct halide_buffer_t*>(), name + ".buffer");
            result =
                LetStmt::make(base_name(name), Call::make(Handle(), kPrefetchBase, {buffer}, Call::Extern), result);
        }
        return used_.empty() ? result : with_opaque_zero(result);
    }

  private:
    using IRMutator::visit;
    const std::vector<PrefetchLines>& prefetches_;
    const std::set<std::string>& arguments_;
    std::set<std::string> used_;
    std::int64_t bytes_ahead_ = 0;                   ///< 0 outside of the named loops
    std::vector<std::string> moving_;                ///< what changes from one iteration of the named loop to the next
    std::vector<std::pair<std::string, Expr>> done_; ///< what this path through the loop's body has fetched

    static std::string base_name(const std::string& buffer) { return buffer + ".ahead"; }

    std::int64_t ahead_in(const std::string& loop) const {
        for (const PrefetchLines& prefetch : prefetches_) {
            if (starts_with(loop, prefetch.stage_prefix) && ends_with(loop, "." + prefetch.loop)) {
                return prefetch.bytes_ahead;
            }
        }
        return 0;
    }

    Stmt visit(const For* op) override {
        const std::int64_t ahead = ahead_in(op->name);
        if (ahead == 0) {
            if (bytes_ahead_ == 0) return IRMutator::visit(op);
            // What the inner loop reads again and again is fetched in front of it.
            Stmt fetches = fetches_for(Stmt(op));
            auto fetched = done_;
            Stmt result = IRMutator::visit(op);
            done_ = std::move(fetched);
            return fetches.defined() ? Block::make(fetches, result) : result;
        }
        const std::int64_t outer = std::exchange(bytes_ahead_, ahead);
        auto before = std::exchange(done_, {});
        moving_.push_back(op->name);
        Stmt result = IRMutator::visit(op);
        moving_.pop_back();
        done_ = std::move(before);
        bytes_ahead_ = outer;
        return result;
    }
    Stmt visit(const LetStmt* op) override {
        if (bytes_ahead_ == 0 || !uses_any(op->value, moving_)) return IRMutator::visit(op);
        moving_.push_back(op->name);
        Stmt result = ahead_of(op->value, IRMutator::visit(op));
        moving_.pop_back();
        return result;
    }
    Stmt visit(const IfThenElse* op) override {
        if (bytes_ahead_ == 0) return IRMutator::visit(op);
        auto before = done_;
        Stmt then_case = mutate(op->then_case);
        done_ = before;
        Stmt else_case = op->else_case.defined() ? mutate(op->else_case) : Stmt();
        done_ = std::move(before);
        return IfThenElse::make(op->condition, then_case, else_case);
    }
    Stmt visit(const Store* op) override { return bytes_ahead_ == 0 ? Stmt(op) : ahead_of(op->value, Stmt(op)); }

    Stmt ahead_of(const Expr& value, const Stmt& statement) {
        Stmt fetches = fetches_for(value);
        return fetches.defined() ? Block::make(fetches, statement) : statement;
    }

    /// Undefined where nothing new is to be fetched.
    template <class Code> Stmt fetches_for(const Code& code) {
        Stmt result;
        for (const DenseLoad& load : dense_loads(code, arguments_)) {
            if (!uses_any(load.begin, moving_)) continue;
            const bool repeated = std::any_of(done_.begin(), done_.end(), [&](const auto& known) {
                return known.first == load.buffer && equal(known.second, load.begin);
            });
            if (repeated) continue;
            done_.emplace_back(load.buffer, load.begin);
            used_.insert(load.buffer);
            Stmt fetches = fetch(load);
            if (load.condition.defined()) fetches = IfThenElse::make(load.condition, fetches);
            result = result.defined() ? Block::make(result, fetches) : fetches;
        }
        return result;
    }

    Stmt fetch(const DenseLoad& load) const {
        const int bytes = load.element.bytes();
        const int lines = std::max(1, load.lanes * bytes / kCacheLineBytes);
        const Expr address = hinted_address(base_name(load.buffer), load.begin, bytes);
        Stmt result;
        for (int line = 0; line < lines; ++line) {
            const Expr index = static_cast<int>((kHintOffset + bytes_ahead_ + line * kCacheLineBytes) / bytes);
            Expr call = Call::make(load.element, Call::prefetch, {address, index, Expr(1), Expr(1)}, Call::Intrinsic);
            Stmt one = Evaluate::make(call);
            result = result.defined() ? Block::make(result, one) : one;
        }
        return result;
    }
};

} // namespace

Stmt insert_prefetches(const Stmt& statement, const std::vector<PrefetchLines>& prefetches,
                       const std::set<std::string>& arguments) {
    return InsertPrefetches(prefetches, arguments).run(statement);
}

} // namespace tilewright::dsl
