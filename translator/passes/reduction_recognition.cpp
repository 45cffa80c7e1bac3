// translator/passes/reduction_recognition.cpp: the body of a loop, once for all iterations: each value gets an axis of
// iterations in front.
#include "translator/passes/reduction_recognition.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "translator/ir/attributes.h"
#include "translator/ir/dead_code.h"
#include "translator/ir/dtypes.h"
#include "translator/ir/values.h"
#include "translator/loops/access.h"
#include "translator/loops/pixelwise.h"
#include "translator/passes/pixelwise_if_conversion.h"

namespace tilewright::translator {
namespace {

constexpr std::int64_t kShortIterations = 64;

/// Why a loop stays one; caught in this file.
struct Refusal {
    std::string why;
};

[[noreturn]] void refuse(const Operation& operation, const std::string& what) {
    throw Refusal{(operation.line > 0 ? "line " + std::to_string(operation.line) + " " : "the loop ") + what};
}

/// Names of parts of expressions that no value has.
class Names {
  public:
    explicit Names(const std::map<std::string, Type>& types) {
        for (const auto& [name, type] : types) {
            if (name[0] == '%') next_ = std::max(next_, std::stol(name.substr(1)) + 1);
        }
    }
    std::string fresh() { return "%" + std::to_string(next_++); }

  private:
    long next_ = 1;
};

bool is_integer(const std::string& dtype) {
    return find_dtype(dtype)->is_integer();
}

/// One loop's iterations as an axis.
class Lift {
  public:
    Lift(const Program& program, std::map<std::string, Type>& types, Names& names, const Operation& loop)
        : types_(types), names_(names), loop_(loop), index_(loop.attributes.at(attr::variable)), line_(loop.line) {
        if (!loop.attributes.at(attr::step).is_constant()) refuse(loop, "has a step that is no constant");
        const Size distance = step_of(loop) > 0 ? loop.attributes.at(attr::stop) - start_of(loop)
                                                : start_of(loop) - loop.attributes.at(attr::stop);
        const Size plain = ceil_div(distance, std::abs(step_of(loop)));
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
            made_by_[operation.result] = &operation;
            const bool follows = std::any_of(operation.operands.begin(), operation.operands.end(),
                                             [&](const std::string& name) { return past_.count(name) != 0; });
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
        if (!type.shape.empty() || !(truth || is_integer(type.dtype)))
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
        const auto found = made_by_.find(value);
        if (past_.count(value) == 0 || found == made_by_.end())
            throw Refusal{"it carries " + parameter + ", which an iteration sets to something else than a sum"};
        const Operation& operation = *found->second;
        const auto& operands = operation.operands;
        auto is_past = [&](std::size_t k) { return past_.count(operands[k]) != 0; };
        const bool truth = dtype == "bool";
        const Op op = operation.op;
        if (op == Op::where && !is_past(0)) {
            const std::string a = term_of(operands[1], parameter, dtype);
            const std::string b = term_of(operands[2], parameter, dtype);
            if (a.empty() && b.empty()) return "";
            return choice(operation, operands[0], a.empty() ? neutral(dtype) : a, b.empty() ? neutral(dtype) : b,
                          dtype);
        }
        const bool sums = truth ? op == Op::logical_and || op == Op::logical_or : op == Op::add || op == Op::subtract;
        if (!sums || operation.type.dtype != dtype || is_past(0) == is_past(1) || (op == Op::subtract && is_past(1)))
            refuse(operation, "makes " + parameter + " of its past by " + text_of(op));
        if (truth) {
            if (combine_ && combine_ != op) refuse(operation, "mixes all and any");
            combine_ = op;
        }
        const std::string before = term_of(operands[is_past(0) ? 0 : 1], parameter, dtype);
        std::string own = operands[is_past(0) ? 1 : 0];
        if (lifted_.count(own) != 0) own = lifted_.at(own);
        if (op == Op::subtract) own = add(types_.at(own), Op::negative, {own}, {});
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

    std::string choice(const Operation& where, const std::string& condition, const std::string& a, const std::string& b,
                       const std::string& dtype) {
        const auto found = lifted_.find(condition);
        line_ = where.line;
        return elementwise(Op::where, {found == lifted_.end() ? condition : found->second, a, b}, dtype, {});
    }

    /// One number for all iterations as an array over them.
    std::string spread(const std::string& value) {
        const Type& type = types_.at(value);
        return type.shape.empty() ? add({type.dtype, {iterations_}}, Op::broadcast_to, {value}, {}) : value;
    }

    // -- values of an iteration as arrays over the iterations
    // -------------------------------------------------------------------

    void lift(const Operation& operation) {
        line_ = operation.line;
        std::set<std::string> symbols;
        collect_symbols(operation, symbols);
        const bool moves = symbols.count(index_) != 0;
        for (const Size& extent : operation.type.shape) {
            std::set<std::string> own;
            extent.collect_symbols(own);
            if (own.count(index_) != 0) refuse(operation, "has another size in each iteration");
        }
        const bool reads = std::any_of(operation.operands.begin(), operation.operands.end(),
                                       [&](const std::string& name) { return lifted_.count(name) != 0; });
        const Op op = operation.op;
        if (!moves && !reads) {
            const bool plain =
                op == Op::constant || op == Op::scalar_size || op == Op::iota || info(op).kind == OpKind::elementwise;
            // A place that is read need not exist where no iteration runs.
            if (!plain && !(runs_ && (op == Op::index || op == Op::transpose || op == Op::broadcast_to)))
                refuse(operation, "is " + text_of(op) + " in the loop");
            out_.push_back(operation);
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
        if (!moves && operation.type.shape.empty() && is_elementwise(op)) {
            std::vector<std::string> operands;
            for (const std::string& name : operation.operands)
                operands.push_back(lifted_.count(name) != 0 ? lifted_.at(name) : name);
            lifted_[operation.result] = elementwise(op, operands, operation.type.dtype, operation.attributes);
            return;
        }
        refuse(operation, "is " + text_of(op) + " at a place that differs from iteration to iteration");
    }

    /// An integer that follows the index, for each iteration.
    std::string number(const Size& size) {
        const Type each{"int64", {iterations_}};
        std::set<std::string> symbols;
        size.collect_symbols(symbols);
        if (symbols.count(index_) == 0) return add({"int64", {}}, Op::scalar_size, {}, {attr::size(size)});
        if (size.op() == Size::Op::symbol) {
            const std::string along = add(each, Op::iota, {}, {attr::axis(0)});
            const std::string step = number(Size::integer(step_of(loop_)));
            return add(each, Op::add, {add(each, Op::multiply, {along, step}, {}), number(start_of(loop_))}, {});
        }
        return add(each, operation_for(size.op()), {number(size.operands()[0]), number(size.operands()[1])}, {});
    }

    /// index(A) at a place of one axis that moves evenly: a slice along the iterations.
    std::string moving_read(const Operation& operation) {
        if (!operation.type.shape.empty()) refuse(operation, "reads a part of an array that moves");
        const Size first = start_of(loop_);
        std::vector<IndexEntry> entries;
        int moving = 0;
        for (const IndexEntry& entry : operation.attributes.at(attr::index)) {
            std::set<std::string> symbols;
            if (entry.kind == IndexEntry::Kind::position) entry.start.collect_symbols(symbols);
            if (symbols.count(index_) == 0) {
                entries.push_back(IndexEntry::position(entry.start));
                continue;
            }
            // Evenly: the difference of neighbouring iterations is free of the index.
            const Size here = entry.start;
            const Size next = substitute(here, index_, Size::symbol(index_) + Size::integer(step_of(loop_)));
            const std::optional<Size> step = multiplied_out(next - here);
            std::set<std::string> left;
            if (step) step->collect_symbols(left);
            if (!step || left.count(index_) != 0) refuse(operation, "reads places that do not move evenly");
            entries.push_back(IndexEntry::slice(substitute(here, index_, first), *step));
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
                                       [&](const std::string& name) { return !types_.at(name).shape.empty(); });
        return add({dtype, along ? std::vector<Size>{iterations_} : std::vector<Size>{}}, op, operands, attributes);
    }

    std::string add(const Type& type, Op op, const std::vector<std::string>& operands, const Attributes& attributes) {
        const std::string name = names_.fresh();
        emit(name, type, op, operands, attributes);
        return name;
    }

    void emit(const std::string& name, const Type& type, Op op, const std::vector<std::string>& operands,
              const Attributes& attributes) {
        types_[name] = type;
        out_.push_back(make_operation(name, type, op, operands, attributes, line_));
    }

    std::map<std::string, Type>& types_;
    Names& names_;
    const Operation& loop_;
    std::string index_;
    int line_ = 0;
    bool runs_ = false; ///< at least one iteration, in every call
    Size iterations_;
    std::set<std::string> past_; ///< what follows from carried values
    std::map<std::string, std::string> lifted_;
    std::map<std::string, const Operation*> made_by_;
    std::optional<Op> combine_; ///< nothing while it is not known
    std::vector<Operation> out_;
};

std::optional<std::vector<Operation>> reduced(const Program& program, const Operation& loop,
                                              std::map<std::string, Type>& types, Names& names, std::string* why) {
    try {
        const std::optional<Operation> flat = without_branches(loop);
        if (!flat) throw Refusal{"it has a branch that cannot be computed always"};
        // The names that branches gave stay those of the loop.
        for (const Operation& operation : flat->regions[0].operations)
            types[operation.result] = operation.type;
        return Lift(program, types, names, *flat).run();
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

/// The block with its loops, and those inside of loops that stay.
Block with_sums(const Program& program, const Block& block, bool inner, std::map<std::string, Type>& types,
                Names& names, bool* changed) {
    Block out = block;
    out.operations.clear();
    for (const Operation& operation : block.operations) {
        std::optional<std::vector<Operation>> made;
        const bool stays = inner && is_short(operation);
        if (operation.op == Op::for_loop && !stays) made = reduced(program, operation, types, names, nullptr);
        if (made) {
            out.operations.insert(out.operations.end(), made->begin(), made->end());
            *changed = true;
            continue;
        }
        out.operations.push_back(operation);
        if (operation.op != Op::for_loop) continue;
        for (Block& region : out.operations.back().regions)
            region = with_sums(program, region, true, types, names, changed);
    }
    return out;
}

} // namespace

Program reduction_recognition(const Program& program) {
    std::map<std::string, Type> types = types_of(program);
    Names names(types);
    Program out = program;
    bool changed = false;
    out.body = with_sums(program, program.body, false, types, names, &changed);
    return changed ? without_dead_code(out) : program;
}

std::string why_no_sum(const Program& program, const Operation& loop, bool inner) {
    if (inner && is_short(loop)) return "it has few iterations";
    std::map<std::string, Type> types = types_of(program);
    Names names(types);
    std::string why;
    return reduced(program, loop, types, names, &why) ? "" : why;
}

} // namespace tilewright::translator
