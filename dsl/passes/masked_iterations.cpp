// dsl/passes/masked_iterations.cpp: the pass that ends loops where masks begin to leave everything out.
#include "dsl/passes/passes.h"

#include <set>
#include <string>

#include "dsl/passes/walk.h"

namespace tilewright::dsl {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

constexpr std::int64_t kFewIterations = 4; ///< such loops are unrolled: they stay loops of constants
constexpr int kMostConditions = 64;        ///< of a body: Halide's solver takes long for more

/// What a difference of integers is that Halide keeps within a narrow type: `a - b`; undefined for anything else.
struct Difference {
    Expr a, b;
};
Difference narrowed_difference(const Expr& value) {
    const auto* broadcast = value.as<Broadcast>();
    const auto* cast = (broadcast ? broadcast->value : value).as<Call>();
    if (cast == nullptr || !cast->is_intrinsic(Call::saturating_cast)) return {};
    const auto* difference = cast->args[0].as<Call>();
    if (difference == nullptr || !difference->is_intrinsic(Call::saturating_sub)) return {};
    return {difference->args[0], difference->args[1]};
}

/// Masks of narrow elements are compared in narrow numbers: int8(0, 1, 2, ...) <= int8(a - b), cut to int8's range.
/// This gives the comparison back, b + (0, 1, 2, ...) <= a, which the solver knows.
Expr widened(const Expr& condition) {
    return mutate_with(condition, [](Mutator& self, const LE* op) -> Expr {
        const auto* narrow = op->a.as<Cast>();
        const auto* lanes = narrow ? narrow->value.as<Ramp>() : nullptr;
        const Difference difference = narrowed_difference(op->b);
        if (lanes == nullptr || !difference.a.defined() || lanes->type.element_of() != difference.a.type())
            return self.inside(op);
        const Expr first = simplify(difference.b + lanes->base);
        return LE::make(Ramp::make(first, lanes->stride, lanes->lanes), Broadcast::make(difference.a, lanes->lanes));
    });
}

/// A scalar condition without which `condition` holds in no lane and for no value of the variables in `varying`.
Expr weaker(const Expr& condition, const Scope<Interval>& varying) {
    return or_condition_over_domain(widened(condition), varying);
}

/// A condition without which a statement does nothing that is seen outside of it: constant true where none is known.
class Acts {
  public:
    Expr of(const Stmt& code) {
        if (!code.defined()) return const_false();
        if (conditions_ > kMostConditions) return const_true();
        if (const auto* op = code.as<Store>()) return of(op);
        if (const auto* op = code.as<Block>()) return either(of(op->first), of(op->rest));
        if (const auto* op = code.as<ProducerConsumer>()) return of(op->body);
        if (const auto* op = code.as<IfThenElse>()) return of(op);
        if (const auto* op = code.as<For>()) return of(op);
        if (const auto* op = code.as<Allocate>()) return of(op);
        if (const auto* op = code.as<LetStmt>()) return of(op);
        if (const auto* op = code.as<Free>()) return own_.count(op->name) ? const_false() : const_true();
        if (const auto* op = code.as<Evaluate>()) return is_pure(op->value) ? const_false() : const_true();
        return const_true();
    }

  private:
    std::set<std::string> own_; ///< memory that the statement itself allocates
    Scope<Interval> varying_;   ///< loops inside of it
    int conditions_ = 0;

    static Expr either(const Expr& a, const Expr& b) {
        if (is_const_one(a) || is_const_zero(b)) return a;
        if (is_const_one(b) || is_const_zero(a)) return b;
        return equal(a, b) ? a : Or::make(a, b);
    }
    Expr both(const Expr& condition, const Expr& acts) {
        if (is_const_zero(acts)) return acts;
        ++conditions_;
        const Expr holds = weaker(condition, varying_);
        return is_const_one(acts) ? holds : And::make(holds, acts);
    }
    Expr of(const Store* op) {
        if (own_.count(op->name)) return const_false();
        return is_const_one(op->predicate) ? const_true() : both(op->predicate, const_true());
    }
    Expr of(const IfThenElse* op) {
        const Expr then = both(op->condition, of(op->then_case));
        if (!op->else_case.defined()) return then;
        return either(then, both(!op->condition, of(op->else_case)));
    }
    Expr of(const For* op) {
        if (varying_.contains(op->name)) return const_true();
        const ScopedBinding<Interval> bound(varying_, op->name, Interval(op->min, op->min + op->extent - 1));
        return of(op->body);
    }
    Expr of(const Allocate* op) {
        const bool is_new = own_.insert(op->name).second;
        const Expr acts = of(op->body);
        if (is_new) own_.erase(op->name);
        return acts;
    }
    Expr of(const LetStmt* op) {
        const Expr acts = of(op->body);
        return is_const(acts) ? acts : substitute(op->name, op->value, acts);
    }
};

/// Whether an expression is known in front of a loop: it mentions nothing that the body binds, and no memory.
bool is_known_before(const Expr& value, const std::set<std::string>& bound_inside) {
    if (has_load(value) || !is_pure(value)) return false;
    for (const std::string& name : variables_in(value))
        if (bound_inside.count(name)) return false;
    return true;
}

std::set<std::string> names_bound_in(const For* loop) {
    std::set<std::string> names = {loop->name};
    for_each_node(
        loop->body, [&](const LetStmt* op) { names.insert(op->name); }, [&](const Let* op) { names.insert(op->name); },
        [&](const For* op) { names.insert(op->name); });
    return names;
}

bool has_masked_store(const Stmt& code) {
    return contains(code, [](const Store* op) { return op->predicate.type().is_vector() && !is_const(op->predicate); });
}

Stmt shortened(const For* loop) {
    const auto iterations = as_const_int(loop->extent);
    if (loop->for_type != ForType::Serial || !iterations || *iterations <= kFewIterations ||
        !has_masked_store(loop->body)) {
        return loop;
    }
    const Expr acts = simplify(Acts().of(loop->body));
    if (is_const(acts) || !variables_in(acts).count(loop->name)) return loop;
    const Interval needed = solve_for_outer_interval(acts, loop->name);
    if (!needed.has_upper_bound() || !is_known_before(needed.max, names_bound_in(loop))) return loop;
    const Expr last = simplify(min(needed.max - loop->min + 1, loop->extent));
    return For::make(loop->name, loop->min, simplify(max(last, 0)), loop->for_type, loop->partition_policy,
                     loop->device_api, loop->body);
}

} // namespace

Stmt skip_masked_iterations(const Stmt& statement) {
    return mutate_with(statement, [](Mutator& self, const For* op) {
        // Threads of a device run side by side: what they leave out costs nothing.
        if (op->for_type == ForType::GPUBlock) return Stmt(op);
        const Stmt inner = self.inside(op);
        const auto* loop = inner.as<For>();
        return loop == nullptr ? inner : shortened(loop);
    });
}

} // namespace tilewright::dsl
