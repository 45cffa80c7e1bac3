// translator/passes/reduction_recognition.cpp: the body of a loop, once for all iterations: each value gets an axis of
// iterations in front.
#include "translator/passes/passes.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "translator/ir/attributes.h"
#include "translator/ir/dead_code.h"
#include "translator/ir/dtypes.h"
#include "translator/ir/walk.h"
#include "translator/loops/pixelwise.h"
#include "translator/passes/iteration_axis.h"

namespace tilewright::translator {
namespace {

constexpr std::int64_t kShortIterations = 64;

/// One loop's iterations as an axis.
class Lift : IterationAxis {
  public:
    Lift(const Program& program, Values& values, const Operation& loop) : IterationAxis(values, loop, "%") {
        const Size plain = ceil_div(distance(), std::abs(step_of(loop)));
        for (const Guard& guard : program.guards)
            runs_ = runs_ || guard.condition == Size::binary(Size::Op::ge, plain, Size::integer(1));
        runs_ = runs_ || (plain.is_constant() && plain.constant() > 0);
        iterations_ = runs_ ? plain : iterations_of(loop);
        for (const auto& [name, type] : loop.regions[0].parameters)
            past_.insert(name);
    }

    /// The operations that stand for the loop.
    std::vector<Operation> run() {
        const Block& body = loop_.regions[0];
        for (const Operation& operation : body.operations) {
            std::set<std::string> used; // sizes that are read of the past among them
            collect_symbols(operation, used);
            used.insert(operation.operands.begin(), operation.operands.end());
            const bool follows =
                std::ranges::any_of(used, [&](const std::string& name) { return past_.count(name) != 0; });
            if (!operation.regions.empty()) refuse(operation, "is a loop or a branch");
            // What reads the past is part of a sum, or makes the loop one that stays.
            if (follows)
                past_.insert(operation.result);
            else
                lift(operation);
        }
        const auto results = results_of(loop_);
        for (std::size_t k = 0; k < results.size(); ++k)
            finish(results[k].first, results[k].second, loop_.operands[k], body.parameters[k].first, body.yields[k]);
        return std::move(out_);
    }

  private:
    // -- what a carried value becomes ------------------------------------------------------------------------------

    void finish(const std::string& result, const Type& type, const std::string& initial, const std::string& parameter,
                const std::string& last) {
        const bool truth = type.dtype == "bool";
        if (!type.shape.empty() || !(truth || find_dtype(type.dtype)->is_integer()))
            throw Refusal{"it carries " + parameter + ", which is no sum of integers"};
        combine_.reset();
        const std::string term = term_of(last, parameter, type.dtype);
        if (term.empty()) {
            emit(result, type, Op::cast, {initial}, {});
            return;
        }
        if (!truth) combine_ = Op::add;
        const std::string all = spread(term);
        const std::string reduced =
            add(type, truth ? (combine_ == Op::logical_and ? Op::all : Op::any) : Op::sum, {all}, {attr::axes({0})});
        emit(result, type, *combine_, {initial, reduced}, {});
    }

    /// What an iteration adds to `parameter` in `value`, "" for nothing. Throws Refusal where `value` is another kind
    /// of sum.
    std::string term_of(const std::string& value, const std::string& parameter, const std::string& dtype) {
        if (value == parameter) return "";
        const Operation* const made = body_.made_by(value);
        if (past_.count(value) == 0 || made == nullptr)
            throw Refusal{"it carries " + parameter + ", which an iteration sets to something else than a sum"};
        const Operation& operation = *made;
        const auto& operands = operation.operands;
        auto is_past = [&](std::size_t k) { return past_.count(operands[k]) != 0; };
        const bool truth = dtype == "bool";
        const Op op = operation.op;
        if (op == Op::where && !is_past(0)) {
            const std::string a = term_of(operands[1], parameter, dtype);
            const std::string b = term_of(operands[2], parameter, dtype);
            if (a.empty() && b.empty()) return "";
            const std::string yes = a.empty() ? neutral(dtype) : a, no = b.empty() ? neutral(dtype) : b;
            at_line(operation.line);
            return elementwise(Op::where, {now(operands[0]), yes, no}, dtype, {});
        }
        const bool sums = truth ? op == Op::logical_and || op == Op::logical_or : op == Op::add || op == Op::subtract;
        if (!sums || operation.type.dtype != dtype || is_past(0) == is_past(1) || (op == Op::subtract && is_past(1)))
            refuse(operation, "makes " + parameter + " of its past by " + text_of(op));
        if (truth) {
            if (combine_ && combine_ != op) refuse(operation, "mixes all and any");
            combine_ = op;
        }
        const std::string before = term_of(operands[is_past(0) ? 0 : 1], parameter, dtype);
        std::string own = now(operands[is_past(0) ? 1 : 0]);
        if (op == Op::subtract) own = add(values_.type(own), Op::negative, {own});
        if (before.empty()) return own;
        return elementwise(truth ? op : Op::add, {before, own}, dtype, {});
    }

    std::string neutral(const std::string& dtype) {
        const bool truth = dtype == "bool";
        if (truth && !combine_) throw Refusal{"it carries a truth that it does not know as all or any"};
        return add({dtype, {}}, Op::constant, {},
                   {attr::value(!truth                        ? "0"
                                : combine_ == Op::logical_and ? "true"
                                                              : "false")});
    }

    /// One number for all iterations as an array over them.
    std::string spread(const std::string& value) {
        const Type& type = values_.type(value);
        return type.shape.empty() ? add({type.dtype, {iterations_}}, Op::broadcast_to, {value}, {}) : value;
    }

    // -- values of an iteration as arrays over the iterations --------------------------------------------------------

    void lift(const Operation& operation) {
        at_line(operation.line);
        for (const Size& extent : operation.type.shape)
            if (moves(extent)) refuse(operation, "has another size in each iteration");
        const bool follows = moves(operation), reads = reads_lifted(operation);
        const Op op = operation.op;
        if (!follows && !reads) {
            const bool plain =
                op == Op::constant || op == Op::scalar_size || op == Op::iota || info(op).kind == OpKind::elementwise;
            // A place that is read need not exist where no iteration runs.
            if (!plain && !(runs_ && (op == Op::index || op == Op::transpose || op == Op::broadcast_to)))
                refuse(operation, "is " + text_of(op) + " in the loop");
            append(operation);
            return;
        }
        if (op == Op::scalar_size) {
            lifted_[operation.result] = number(operation.attributes.at(attr::size));
            return;
        }
        if (op == Op::index && !operation.attributes.has(attr::clamped) && !reads) {
            lifted_[operation.result] = moving_read(operation);
            return;
        }
        if (!follows && operation.type.shape.empty() && is_elementwise(op)) {
            std::vector<std::string> operands = operation.operands;
            for (std::string& name : operands)
                name = now(name);
            lifted_[operation.result] = elementwise(op, operands, operation.type.dtype, operation.attributes);
            return;
        }
        refuse(operation, "is " + text_of(op) + " at a place that differs from iteration to iteration");
    }

    /// index(A) at a place of one axis that moves evenly: a slice along the iterations.
    std::string moving_read(const Operation& operation) {
        if (!operation.type.shape.empty()) refuse(operation, "reads a part of an array that moves");
        std::vector<IndexEntry> entries = operation.attributes.at(attr::index);
        int moving = 0;
        for (IndexEntry& entry : entries) {
            if (!moves(entry)) continue;
            const std::optional<Even> steps = even(entry.start);
            if (!steps) refuse(operation, "reads places that do not move evenly");
            entry = IndexEntry::slice(steps->first, steps->step);
            ++moving;
        }
        if (moving != 1) refuse(operation, "reads along a diagonal");
        return add({operation.type.dtype, {iterations_}}, Op::index, operation.operands, {attr::index(entries)});
    }

    // -- operations --------------------------------------------------------------------------------------------------

    /// Elementwise on numbers and arrays over the iterations.
    std::string elementwise(Op op, const std::vector<std::string>& operands, const std::string& dtype,
                            const Attributes& attributes) {
        const bool along = std::any_of(operands.begin(), operands.end(),
                                       [&](const std::string& name) { return !values_.type(name).shape.empty(); });
        return add({dtype, along ? std::vector<Size>{iterations_} : std::vector<Size>{}}, op, operands, attributes);
    }

    /// What a value of the body is called in front of it: that of all iterations, where it differs.
    const std::string& now(const std::string& name) const { return is_lifted(name) ? lifted(name) : name; }

    Values body_{loop_.regions[0]};
    std::set<std::string> past_; ///< what follows from carried values
    std::optional<Op> combine_;  ///< nothing while it is not known
};

std::optional<std::vector<Operation>> reduced(const Program& program, const Operation& loop, Values& values,
                                              std::string* why) {
    try {
        const std::optional<Operation> flat = without_branches(loop);
        if (!flat) throw Refusal{"it has a branch that cannot be computed always"};
        return Lift(program, values, *flat).run();
    } catch (const Refusal& refusal) {
        if (why != nullptr) *why = refusal.why;
        return std::nullopt;
    }
}

/// A reduction of a few iterations in each iteration of a loop around is no faster than they are.
bool is_short(const Operation& operation) {
    if (operation.op != Op::for_loop || !operation.attributes.at(attr::step).is_constant()) return false;
    const Size iterations = iterations_of(operation);
    return iterations.is_constant() && iterations.constant() <= kShortIterations;
}

} // namespace

Program reduction_recognition(const Program& program) {
    Values values(program);
    values.number_above();
    Program out = program;
    bool changed = false;
    // Loops, and those inside of loops that stay.
    rewrite<Order::outer_first>(out.body, [&](Operation& operation, Place& place) {
        if (operation.op != Op::for_loop) return Fate::closed;
        if (!place.around.empty() && is_short(operation)) return Fate::keeps;
        auto made = reduced(program, operation, values, nullptr);
        if (!made) return Fate::keeps;
        std::ranges::move(*made, std::back_inserter(place.out));
        changed = true;
        return Fate::goes;
    });
    return changed ? without_dead_code(out) : program;
}

std::string why_no_sum(const Program& program, const Operation& loop, bool inner) {
    if (inner && is_short(loop)) return "it has few iterations";
    Values values(program);
    values.number_above();
    std::string why;
    return reduced(program, loop, values, &why) ? "" : why;
}

} // namespace tilewright::translator
