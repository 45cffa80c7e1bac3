// dsl/passes/kernel_groups.cpp: lowered statements in sequence, in loops over what was a parameter of theirs.
#include "dsl/passes/kernel_groups.h"

#include <algorithm>
#include <set>
#include <utility>

#include "dsl/base/error.h"
#include "dsl/model/halide_size.h"
#include "dsl/passes/walk.h"
#include "dsl/passes/wavefront.h"
#include "dsl/passes/while_loop.h"

namespace tilewright::dsl {
namespace {

using namespace Halide::Internal;
using Halide::Expr;
using runtime::PlanStep;
using runtime::StepKind;

/// A parallel loop has about so many tasks at most: with more it matters little who gets the last one.
constexpr int kMostTasks = 64;

/// Memory by other names, and nothing claimed of where it begins.
Stmt with_names(const Stmt& code, const std::map<std::string, std::string>& names) {
    // Also of what lowering reads from a buffer: X.buffer, X.stride.1.
    const auto renamed = [&](const std::string& name) {
        const auto whole = names.find(name);
        if (whole != names.end()) return whole->second;
        for (const char* part : {".buffer", ".min.", ".extent.", ".stride."}) {
            const std::size_t at = name.rfind(part);
            if (at == std::string::npos) continue;
            const auto found = names.find(name.substr(0, at));
            if (found != names.end()) return found->second + name.substr(at);
        }
        return name;
    };
    return mutate_with(
        code,
        [&](Mutator&, const Variable* op) {
            const std::string name = renamed(op->name);
            return name == op->name ? Expr(op) : Variable::make(op->type, name);
        },
        [&](Mutator& self, const Load* op) {
            const auto found = names.find(op->name);
            if (found == names.end()) return self.inside(op);
            // With its parameter: code generation takes what has none for memory of its own, and that for aligned.
            return Load::make(op->type, found->second, self.mutate(op->index), op->image, op->param,
                              self.mutate(op->predicate), {});
        },
        [&](Mutator& self, const Store* op) {
            const auto found = names.find(op->name);
            if (found == names.end()) return self.inside(op);
            return store_of(found->second, self.mutate(op->value), self.mutate(op->index), self.mutate(op->predicate));
        },
        [&](Mutator& self, const LetStmt* op) {
            Expr value = self.mutate(op->value);
            return LetStmt::make(renamed(op->name), std::move(value), self.mutate(op->body));
        },
        [&](Mutator& self, const Let* op) {
            Expr value = self.mutate(op->value);
            return Let::make(renamed(op->name), std::move(value), self.mutate(op->body));
        });
}

/// A truth that only falls is stored where it falls: another iteration, at the same time, may have lowered it.
Stmt with_lowered(const Stmt& code, const std::string& flag) {
    return mutate_with(code, [&](Mutator& self, const Store* op) {
        if (op->name != flag) return self.inside(op);
        const Expr zero = make_zero(op->value.type());
        return IfThenElse::make(op->value == zero, store_of(flag, zero, op->index, op->predicate));
    });
}

bool reads_any(const Expr& value, const std::set<std::string>& names) {
    return contains(value, [&](const Variable* op) { return names.count(op->name) != 0; });
}

bool is_buffer_field(const Expr& value) {
    const Call* call = value.as<Call>();
    return call != nullptr && call->name.rfind("_halide_buffer_get_", 0) == 0;
}

/// Code, and definitions that it needs and that may stand further out.
struct Piece {
    Lets outside;
    Stmt code;
};

/// Keeps what reads `moving` with the code.
void keep_inside(Piece& piece, const std::string& moving) {
    std::set<std::string> names{moving};
    Lets outside, inside;
    for (auto& let : piece.outside) {
        if (reads_any(let.second, names)) {
            names.insert(let.first);
            inside.push_back(std::move(let));
        } else {
            outside.push_back(std::move(let));
        }
    }
    piece.code = within(inside, piece.code);
    piece.outside = std::move(outside);
}

void replace(Piece& piece, const std::string& parameter, const std::string& by) {
    // Halide asks for every parameter as an argument, so it becomes a variable of the statement.
    const Expr variable = Variable::make(Halide::Int(32), by);
    for (auto& let : piece.outside)
        let.second = substitute(parameter, variable, let.second);
    piece.code = substitute(parameter, variable, piece.code);
}

Expr iteration_value(const KernelLoop& loop, const Expr& iteration) {
    return simplify(loop.first + iteration * loop.step);
}

Stmt serial_loop(const KernelLoop& loop, const Lets& inside, const Stmt& statement) {
    const std::string iteration = loop.variable + ".iteration";
    const Expr index = Variable::make(Halide::Int(32), iteration);
    return host_loop(iteration, 0, simplify(loop.iterations),
                     LetStmt::make(loop.variable + ".value", iteration_value(loop, index), within(inside, statement)));
}

/// Tasks of neighbouring iterations.
Stmt parallel_loop(const KernelLoop& loop, const Stmt& statement) {
    const std::string task = loop.variable + ".task", iteration = loop.variable + ".iteration";
    const std::string iterations = loop.variable + ".iterations", tile = loop.variable + ".tile";
    const auto read = [](const std::string& name) { return Variable::make(Halide::Int(32), name); };
    const auto least = static_cast<std::int32_t>(std::min<std::int64_t>(loop.iterations_per_task, 1 << 30));
    const Expr first = read(task) * read(tile);
    const Stmt inner =
        host_loop(iteration, 0, min(read(tile), read(iterations) - first),
                  LetStmt::make(loop.variable + ".value", iteration_value(loop, first + read(iteration)), statement));
    const Stmt tasks = host_loop(task, 0, (read(iterations) + read(tile) - 1) / read(tile), inner, ForType::Parallel);
    const Expr even = (read(iterations) + kMostTasks - 1) / kMostTasks;
    return within({{iterations, max(simplify(loop.iterations), 0)}, {tile, max(even, least)}}, tasks);
}

/// Puts a loop into the outermost loops of a kernel: memory is then walked through in their order, and they may run
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
    int held_ = 0;
    std::map<std::string, Expr> known_; ///< what no iteration changes, in terms of what is not defined here

    Stmt visit(const LetStmt* op) override {
        if (!reads_any(op->value, moving_)) {
            const auto outer = known_;
            known_[op->name] = substitute(outer, op->value);
            const Stmt body = mutate(op->body);
            known_ = outer;
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
        return with_body(op, iterations_around(op->body, moving_, pending_));
    }

    /// The loop around a statement; what it does not move is decided and looked up once, outside of it.
    Stmt iterations_around(const Stmt& statement, std::set<std::string> moving, Lets inside) {
        if (const auto* let = statement.as<LetStmt>()) {
            if (!reads_any(let->value, moving) && !has_load(let->value)) {
                const auto outer = known_;
                known_[let->name] = substitute(outer, let->value);
                const Stmt body = iterations_around(let->body, moving, inside);
                known_ = outer;
                return LetStmt::make(let->name, let->value, body);
            }
            moving.insert(let->name);
            inside.emplace_back(let->name, let->value);
            return iterations_around(let->body, std::move(moving), std::move(inside));
        }
        const auto* choice = statement.as<IfThenElse>();
        if (choice != nullptr && !reads_any(choice->condition, moving) && !has_load(choice->condition)) {
            const Stmt otherwise =
                choice->else_case.defined() ? iterations_around(choice->else_case, moving, inside) : Stmt();
            return IfThenElse::make(choice->condition, iterations_around(choice->then_case, moving, inside), otherwise);
        }
        if (const auto* store = statement.as<Store>()) {
            const Stmt kept = in_a_register(*store, moving, inside);
            if (kept.defined()) return kept;
        }
        return serial_loop(loop_, inside, statement);
    }

    /// x[i] = f(x[i]) in every iteration: loaded before the first, stored behind the last. The compiler does not do
    /// that by itself where a mask says which lanes are stored.
    Stmt in_a_register(const Store& store, const std::set<std::string>& moving, const Lets& inside) {
        if (reads_any(store.index, moving) || reads_any(store.predicate, moving)) return {};
        if (has_load(store.index) || has_load(store.predicate) || store.value.type().is_bool()) return {};
        Lets held = inside;
        const Halide::Type type = store.value.type();
        const std::string name = loop_.variable + ".held" + std::to_string(held_++);
        const Expr lanes = type.is_vector() ? Ramp::make(0, 1, type.lanes()) : Expr(0);
        const Expr all = const_true(type.lanes());
        const Expr before = load_of(store.name, type, store.index, store.predicate);
        // Lowering spells one index in several ways: each in terms of nothing that is defined further in.
        const auto plain = [&](const Expr& code) { return simplify(substitute(known_, code)); };
        const Expr index = plain(store.index), predicate = plain(store.predicate);
        const Expr element = load_of(name, type, lanes, all);
        bool reads_it = false, reads_others = false;
        const auto hold = [&](const Expr& code) {
            return mutate_with(code, [&](Mutator& self, const Load* op) {
                if (op->name != store.name) return self.inside(op);
                const bool same = op->type == type && is_const_zero(simplify(plain(op->index) - index)) &&
                                  equal(plain(op->predicate), predicate);
                (same ? reads_it : reads_others) = true;
                return same ? element : Expr(op);
            });
        };
        const Expr value = hold(store.value);
        for (auto& let : held)
            let.second = hold(let.second);
        if (reads_others || !reads_it) return {};
        const auto keep = [&](const Expr& what) { return store_of(name, what, lanes, all); };
        const Stmt after = store_of(store.name, load_of(name, type, lanes, all), store.index, store.predicate);
        const Stmt once =
            Allocate::make(name, type.element_of(), Halide::MemoryType::Stack, {type.lanes()}, const_true(),
                           Block::make({keep(before), serial_loop(loop_, held, keep(value)), after}));
        // What no iteration asks for may not be there.
        return IfThenElse::make(simplify(loop_.iterations > 0), once);
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

class Composer {
  public:
    Composer(const KernelGroup& group, const AlgorithmImpl& impl, const std::map<int, Stmt>& statements)
        : kernels_(impl.kernels), sizes_(impl.sizes), statements_(statements) {
        for (std::size_t k = 0; k < group.arguments.size(); ++k)
            if (group.arguments[k].is_buffer())
                note(group.argument_names[k], group.arguments[k].name, group.arguments[k].type);
        for (const int number : kernels_of(group.steps, kernels_)) {
            const KernelImpl& kernel = kernels_[static_cast<std::size_t>(number)];
            for (std::size_t k = 0; k < kernel.arguments.size(); ++k)
                if (kernel.arguments[k].is_buffer())
                    note(kernel.argument_names[k], kernel.arguments[k].name, kernel.arguments[k].type);
            std::size_t output = 0;
            for (const Halide::Func& func : kernel.outputs)
                for (const Halide::OutputImageParam& buffer : func.output_buffers()) {
                    if (buffer.dimensions() == 0) numbers_.insert(kernel.output_names[output]);
                    note(kernel.output_names[output++], buffer.name(), buffer.type());
                }
        }
        note_copied(group.steps);
        runtime::for_each_step(group.steps, [&](const PlanStep& step) {
            if (step.in_group)
                for (const std::string& name : step.in_group->own)
                    own_.insert(memory(name).symbol);
        });
        for (const std::string& name : numbers_)
            if (own_.insert(memory(name).symbol).second) held_.push_back(name);
    }

    Stmt compose(const std::vector<PlanStep>& steps) {
        const Piece piece = sequence(steps, 0);
        Stmt code = within(piece.outside, piece.code);
        for (const std::string& name : held_)
            code = on_the_stack(memory(name), code);
        return code;
    }

  private:
    /// Of a buffer of the plan.
    struct Memory {
        std::string symbol; ///< its one name
        Halide::Type type;
    };

    const std::vector<KernelImpl>& kernels_;
    const std::map<std::string, Halide::Param<int32_t>>& sizes_;
    const std::map<int, Stmt>& statements_;
    std::map<std::string, Memory> memory_;       ///< by its name in the plan
    std::map<std::string, std::string> symbols_; ///< every name of it -> that name
    std::set<std::string> own_;                  ///< names of what lies on the stack
    std::set<std::string> numbers_; ///< by their names in the plan: those of no dimensions that kernels write
    std::vector<std::string> held_; ///< of these: what lies on the stack while the group runs
    std::string alive_;             ///< of the innermost `loop`
    int loops_ = 0;

    /// Loaded before the code and stored behind it: the compiler keeps in registers what has no address that others
    /// know.
    static Stmt on_the_stack(const Memory& number, const Stmt& code) {
        const std::string& name = number.symbol;
        const std::string there = name + ".there";
        const Expr all = const_true();
        const Stmt held = Block::make({store_of(name, load_of(there, number.type, 0, all), 0, all), code,
                                       store_of(there, load_of(name, number.type, 0, all), 0, all)});
        return LetStmt::make(there, address_of(name),
                             Allocate::make(name, number.type, Halide::MemoryType::Stack, {1}, all, held));
    }

    static Expr address_of(const std::string& symbol) {
        const Expr buffer = Variable::make(Halide::type_of<halide_buffer_t*>(), symbol + ".buffer");
        return Call::make(Halide::type_of<void*>(), Call::buffer_get_host, {buffer}, Call::Extern);
    }

    void note(const std::string& plan_name, const std::string& symbol, Halide::Type type) {
        symbols_[symbol] = memory_.try_emplace(plan_name, Memory{symbol, type}).first->second.symbol;
    }
    /// What no kernel reads or writes has the type of that which is copied into it, or from it.
    void note_copied(const std::vector<PlanStep>& steps) {
        for (std::size_t before = 0; before != memory_.size();) {
            before = memory_.size();
            runtime::for_each_step(steps, [&](const PlanStep& step) {
                if (step.kind != StepKind::copy) return;
                const std::string &from = step.arguments[0].name(), &to = step.arguments[1].name();
                for (const auto& [known, other] : {std::pair(from, to), std::pair(to, from)})
                    if (const auto found = memory_.find(known); found != memory_.end() && memory_.count(other) == 0)
                        note(other, other + "_copied", found->second.type);
            });
        }
    }
    const Memory& memory(const std::string& plan_name) const { return memory_.at(plan_name); }

    Expr size(const SizeExpression& tree) const { return halide_size(tree, sizes_); }

    KernelLoop kernel_loop(const PlanStep& step) const {
        return {*step.in_group, sizes_.at(step.symbol).name(), size(step.arguments[0]), size(step.in_group->count),
                size(step.arguments[2])};
    }

    Piece sequence(const std::vector<PlanStep>& steps, std::size_t first) {
        if (first == steps.size()) return {{}, Evaluate::make(0)};
        const PlanStep& step = steps[first];
        Piece rest = sequence(steps, first + 1);
        if (step.kind == StepKind::read) return read(step, std::move(rest));
        if (step.kind == StepKind::leave_unless) return leave(step, std::move(rest));
        Piece piece = one(step);
        if (first + 1 == steps.size()) return piece;
        add_missing(rest.outside, piece);
        piece.code = Block::make(piece.code, rest.code);
        return piece;
    }

    /// Definitions with one name have one value.
    static void add_missing(Lets& more, Piece& piece) {
        for (auto& let : more) {
            const bool known = std::any_of(piece.outside.begin(), piece.outside.end(),
                                           [&](const auto& each) { return each.first == let.first; });
            if (!known) piece.outside.push_back(std::move(let));
        }
    }

    Piece one(const PlanStep& step) {
        switch (step.kind) {
        case StepKind::call:
            return kernel(kernels_of({step}, kernels_).front());
        case StepKind::for_range:
            return loop(step);
        case StepKind::loop:
            return unbounded_loop(step);
        case StepKind::branch:
            return branch(step);
        case StepKind::copy:
            return copy(step);
        default:
            throw InternalError("a group of kernels has a step that only the plan can take.");
        }
    }

    /// Definitions at the start of a kernel that hold everywhere go outside.
    Piece split(Stmt statement, const std::string& mark) const {
        Piece piece;
        Lets inside;
        std::set<std::string> stays;
        std::map<std::string, Expr> renamed;
        while (const auto* let = statement.as<LetStmt>()) {
            Expr value = substitute(renamed, let->value);
            const std::string name = let->name;
            const Stmt body = let->body;
            if (is_buffer_field(value)) {
                const bool known = std::any_of(piece.outside.begin(), piece.outside.end(),
                                               [&, key = name](const auto& each) { return each.first == key; });
                if (!known && own_.count(name) == 0) piece.outside.emplace_back(name, value);
            } else if (has_load(value) || reads_any(value, stays)) {
                stays.insert(name);
                renamed.erase(name);
                inside.emplace_back(name, value);
            } else {
                renamed[name] = Variable::make(value.type(), name + mark);
                piece.outside.emplace_back(name + mark, value);
            }
            statement = body;
        }
        piece.code = within(inside, substitute(renamed, statement));
        return piece;
    }

    Piece kernel(int number) const {
        return split(with_names(statements_.at(number), symbols_), ".k" + std::to_string(number));
    }

    /// The code of one iteration, with memory of its own.
    Piece iteration(const PlanStep& step) {
        Piece body = sequence(step.body, 0);
        for (const std::string& name : step.in_group->own)
            body.code = Allocate::make(memory(name).symbol, memory(name).type, Halide::MemoryType::Stack, {1},
                                       const_true(), body.code);
        return body;
    }
    /// It reads the iteration's value as a variable.
    Piece iteration(const PlanStep& step, const KernelLoop& loop) {
        Piece body = iteration(step);
        replace(body, loop.variable, loop.variable + ".value");
        return body;
    }

    Piece unbounded_loop(const PlanStep& step) {
        const std::string outer = std::exchange(alive_, "alive" + std::to_string(loops_++));
        Piece body = iteration(step);
        body.code = while_loop(std::exchange(alive_, outer), body.code, step.in_group->iterations_between_asks);
        return body;
    }

    /// What follows in an iteration is for those that go on.
    Piece leave(const PlanStep& step, Piece rest) const {
        Piece piece;
        const Stmt goes_on = with_arithmetic(rest, piece);
        piece.code = leave_unless(alive_, differs_from_zero(element(step, piece)), goes_on);
        return piece;
    }

    Piece rows_together(const PlanStep& step, KernelLoop rows) {
        const std::string row = rows.variable + ".value";
        Piece all;
        std::vector<ColumnLoop> columns;
        for (const PlanStep& inner : step.body) {
            KernelLoop column = kernel_loop(inner);
            Piece body = iteration(inner, column);
            replace(body, rows.variable, row);
            keep_inside(body, column.variable + ".value");
            keep_inside(body, row);
            add_missing(body.outside, all);
            columns.push_back({std::move(column), body.code});
        }
        for (const int number : kernels_of(step.body, kernels_))
            if (const int wanted = kernels_[static_cast<std::size_t>(number)].rows_together)
                rows.rows_together = wanted;
        all.code = wavefront(rows, columns);
        return all;
    }

    Piece loop(const PlanStep& step) {
        const KernelLoop loop = kernel_loop(step);
        if (loop.rows_together != 0) return rows_together(step, loop);
        const std::string value = loop.variable + ".value";
        Piece body = iteration(step, loop);
        const bool one_kernel = step.body.size() == 1 && step.body[0].kind == StepKind::call;
        if (loop.may_go_inside && !loop.parallel && one_kernel) {
            PutInside inside(loop, value);
            const Stmt mutated = inside.mutate(within(body.outside, body.code));
            if (inside.found > 0 && !inside.leaks) return split(mutated, "");
        }
        keep_inside(body, value);
        for (const std::string& flag : loop.flags)
            if (memory_.count(flag) != 0) body.code = with_lowered(body.code, memory(flag).symbol);
        body.code = loop.parallel ? parallel_loop(loop, body.code) : serial_loop(loop, {}, body.code);
        return body;
    }

    /// The first element of the buffer that a step looks at.
    Expr element(const PlanStep& step, Piece& piece) const {
        const Memory& from = memory(step.arguments[0].name());
        add_address(from.symbol, piece);
        return load_of(from.symbol, from.type, 0, const_true());
    }

    void add_address(const std::string& symbol, Piece& piece) const {
        if (own_.count(symbol) == 0) piece.outside.insert(piece.outside.begin(), {symbol, address_of(symbol)});
    }

    Piece read(const PlanStep& step, Piece rest) const {
        const std::string& variable = sizes_.at(step.symbol).name();
        const std::string value = variable + ".value";
        replace(rest, variable, value);
        keep_inside(rest, value);
        const Expr loaded = Halide::cast<std::int32_t>(element(step, rest));
        rest.code = LetStmt::make(value, loaded, rest.code);
        return rest;
    }

    /// By what lies in memory, or by a size: the first way is then the short one.
    Piece branch(const PlanStep& step) {
        Piece body = sequence(step.body, 0);
        Piece other = sequence(step.otherwise, 0);
        Piece piece;
        const Stmt then = with_arithmetic(body, piece);
        Stmt otherwise = with_arithmetic(other, piece);
        const SizeExpression& asked = step.arguments[0];
        const bool by_size = asked.op() != SizeExpression::Op::symbol;
        if (by_size) otherwise = outlined(otherwise, step.otherwise);
        const Expr truth = by_size ? size(asked) : differs_from_zero(element(step, piece));
        piece.code = IfThenElse::make(truth, then, step.otherwise.empty() ? Stmt() : otherwise);
        return piece;
    }

    static Expr differs_from_zero(const Expr& value) { return value != make_zero(value.type()); }

    /// As a separate function, which Halide makes of the bodies of parallel loops: the registers belong to
    /// the other way, which is the short one.
    Stmt outlined(const Stmt& code, const std::vector<PlanStep>& steps) const {
        return host_loop("long.k" + std::to_string(kernels_of(steps, kernels_).front()), 0, 1, code, ForType::Parallel);
    }

    /// Outside of a branch only what holds whichever way it goes: fields of buffers.
    static Stmt with_arithmetic(Piece& from, Piece& piece) {
        Lets inside;
        for (auto& let : from.outside)
            (is_buffer_field(let.second) ? piece.outside : inside).push_back(std::move(let));
        return within(inside, from.code);
    }

    Piece copy(const PlanStep& step) const {
        Piece piece;
        const auto address = [&](const Memory& of) {
            add_address(of.symbol, piece);
            return Variable::make(Halide::type_of<void*>(), of.symbol);
        };
        const Memory& from = memory(step.arguments[0].name());
        const Memory& to = memory(step.arguments[1].name());
        const Expr target = address(to), source = address(from);
        if (step.in_group->count == SizeExpression::integer(1)) {
            const Expr number = load_of(from.symbol, from.type, 0, const_true());
            piece.code = store_of(to.symbol, Halide::cast(to.type, number), 0, const_true());
            return piece;
        }
        const Expr bytes =
            Halide::cast<std::uint64_t>(size(step.in_group->count)) * make_const(Halide::UInt(64), from.type.bytes());
        piece.code = Evaluate::make(
            Call::make(Halide::type_of<void*>(), "memcpy", {target, source, simplify(bytes)}, Call::Extern));
        return piece;
    }
};

} // namespace

std::vector<int> kernels_of(const std::vector<PlanStep>& steps, const std::vector<KernelImpl>& kernels) {
    std::vector<int> out;
    runtime::for_each_step(steps, [&](const PlanStep& step) {
        if (step.kind != StepKind::call) return;
        const auto found = std::ranges::find(kernels, step.symbol, &KernelImpl::name);
        if (found == kernels.end())
            throw InternalError("a group of kernels calls " + step.symbol + ", which is not a kernel.");
        out.push_back(static_cast<int>(found - kernels.begin()));
    });
    return out;
}

Stmt compose_group(const KernelGroup& group, const AlgorithmImpl& impl, const std::map<int, Stmt>& statements) {
    return Composer(group, impl, statements).compose(group.steps);
}

} // namespace tilewright::dsl
