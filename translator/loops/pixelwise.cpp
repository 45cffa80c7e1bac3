// translator/loops/pixelwise.cpp: the dependence test of pixelwise loops, on the program alone.
#include "translator/loops/pixelwise.h"

#include <algorithm>
#include <functional>
#include <set>

#include "translator/ir/attributes.h"
#include "translator/ir/dtypes.h"
#include "translator/ir/values.h"
#include "translator/loops/element_axes.h"

namespace tilewright::translator {
namespace {

std::string at_line(int line, const std::string& what) {
    return line > 0 ? "line " + std::to_string(line) + " " + what : "the loop " + what;
}

bool mentions(const Operation& operation, const std::string& symbol) {
    std::set<std::string> symbols;
    collect_symbols(operation, symbols);
    return symbols.count(symbol) != 0 ||
           std::find(operation.operands.begin(), operation.operands.end(), symbol) != operation.operands.end();
}

/// What is known of the body's values in an iteration in which `condition` has failed.
class DeadIteration {
  public:
    DeadIteration(const Values& body, ExitCondition condition) : body_(body), condition_(std::move(condition)) {}

    /// Whether `value` is the old `parameter`, bit for bit.
    bool unchanged(const std::string& value, const std::string& parameter, const Type& type) const {
        if (value == parameter) return true;
        if (type.dtype == "bool") {
            const std::optional<bool> before = truth(parameter);
            if (before && truth(value) == before) return true;
        }
        const Operation* made = body_.made_by(value);
        if (made == nullptr) return false;
        const auto& operands = made->operands;
        if (made->op == Op::where) {
            const std::optional<bool> chosen = truth(operands[0]);
            return (chosen == false || unchanged(operands[1], parameter, type)) &&
                   (chosen == true || unchanged(operands[2], parameter, type));
        }
        // x + 0 and x | 0 of integers; a float -0.0 + 0.0 is another number.
        const DTypeKind kind = find_dtype(type.dtype)->kind;
        if (kind == DTypeKind::floating || kind == DTypeKind::complex_number || made->type.dtype != type.dtype)
            return false;
        if (made->op == Op::add || made->op == Op::bitwise_or || made->op == Op::bitwise_xor) {
            return (unchanged(operands[0], parameter, type) && zero(operands[1])) ||
                   (unchanged(operands[1], parameter, type) && zero(operands[0]));
        }
        return made->op == Op::subtract && unchanged(operands[0], parameter, type) && zero(operands[1]);
    }

  private:
    std::optional<bool> truth(const std::string& value) const {
        if (value == condition_.value) return !condition_.alive_if;
        const Operation* made = body_.made_by(value);
        if (made == nullptr || made->type.dtype != "bool") return std::nullopt;
        const auto& operands = made->operands;
        if (made->op == Op::logical_not || made->op == Op::invert) {
            const auto a = truth(operands[0]);
            return a ? std::optional<bool>(!*a) : std::nullopt;
        }
        const bool all = made->op == Op::logical_and || made->op == Op::bitwise_and;
        if (all || made->op == Op::logical_or || made->op == Op::bitwise_or) {
            const auto a = truth(operands[0]);
            const auto b = truth(operands[1]);
            // False decides what is all true, true what is any.
            if (a == !all || b == !all) return !all;
            return a && b ? std::optional<bool>(all) : std::nullopt;
        }
        if (made->op == Op::where) {
            const auto chosen = truth(operands[0]);
            if (chosen) return truth(operands[*chosen ? 1 : 2]);
        }
        if (made->op == Op::constant) return made->attributes.at(attr::value) == "true";
        return std::nullopt;
    }

    /// Whether an integer is 0.
    bool zero(const std::string& value) const {
        const Operation* made = body_.made_by(value);
        if (made == nullptr) return false;
        if (made->op == Op::constant) return made->attributes.at(attr::value) == "0";
        if (made->op == Op::cast) return truth(made->operands[0]) == false || zero(made->operands[0]);
        if (made->op == Op::multiply || made->op == Op::bitwise_and)
            return zero(made->operands[0]) || zero(made->operands[1]);
        if (made->op == Op::where) {
            const auto chosen = truth(made->operands[0]);
            return (chosen == false || zero(made->operands[1])) && (chosen == true || zero(made->operands[2]));
        }
        return made->op == Op::broadcast_to && zero(made->operands[0]);
    }

    const Values& body_;
    ExitCondition condition_;
};

/// What an iteration may do, as cost_of() counts it, with numbers that it carries (a random generator's state, say):
/// each element does that again. Four draws an iteration cost 7,000; 60 iterations of these over 384 x 512 elements
/// took 250 ms so, and 9 where each iteration draws once.
constexpr int kMostRepeatedCost = 1000;

/// The line of the dearest operation on numbers that an iteration carries, where they are dear; -1 where they are not.
int line_of_dear_numbers(const Block& body) {
    std::set<std::string> carried;
    for (const auto& [name, type] : body.parameters)
        if (type.shape.empty()) carried.insert(name);
    int all = 0, most = 0, line = -1;
    for (const Operation& operation : body.operations) {
        const auto is_carried = [&](const std::string& operand) { return carried.count(operand) != 0; };
        if (!operation.type.shape.empty() || std::ranges::none_of(operation.operands, is_carried)) continue;
        carried.insert(operation.result);
        const int cost = is_elementwise(operation.op) ? cost_of(operation.op) : 0;
        all += cost;
        if (cost > most) {
            most = cost;
            line = operation.line;
        }
    }
    return all > kMostRepeatedCost ? line : -1;
}

} // namespace

std::string why_not_pixelwise(const Operation& loop) {
    if (loop.op != Op::for_loop) return at_line(loop.line, "is a " + text_of(loop.op) + " on data");
    if (!loop.attributes.at(attr::step).is_constant())
        return at_line(loop.line, "steps by " + loop.attributes.at(attr::step).text() + ", whose sign is not known");
    const Block& body = loop.regions[0];
    const std::pair<std::string, Type>* element = nullptr;
    for (const auto& each : body.parameters) {
        const auto& [name, type] = each;
        if (type.shape.empty()) continue;
        if (element == nullptr) element = &each;
        if (!same_shape(element->second.shape, type.shape))
            return at_line(loop.line, "carries " + element->first + " and " + name + ", whose shapes differ");
    }
    const std::size_t rank = element == nullptr ? 0 : element->second.shape.size();
    ElementAxes axes;
    for (const auto& [name, type] : body.parameters)
        axes.follow(name, type);
    for (const Operation& operation : body.operations) {
        if (!operation.regions.empty())
            return at_line(operation.line,
                           operation.op == Op::for_loop ? "is a loop inside it" : "branches on data inside it");
        if (is_reduction(operation.op) || operation.op == Op::matmul) {
            axes.visit(operation);
            if (!axes.trouble().empty()) return at_line(axes.trouble_line(), axes.trouble());
            return at_line(operation.line, "computes a " + text_of(operation.op) + " in each iteration");
        }
        // One element of a list that no iteration changes.
        const bool looks_up =
            operation.op == Op::take && operation.type.shape.empty() && !axes.depends(operation.operands[0]);
        if (!is_elementwise(operation.op) && !is_view(operation.op) && !looks_up && operation.op != Op::constant &&
            operation.op != Op::iota && operation.op != Op::scalar_size && operation.op != Op::update)
            return at_line(operation.line, "does " + text_of(operation.op));
        std::set<std::string> symbols;
        for (const Size& extent : operation.type.shape)
            extent.collect_symbols(symbols);
        if (symbols.count(loop.attributes.at(attr::variable)) != 0)
            return at_line(operation.line, "has a shape that differs from iteration to iteration");
        axes.visit(operation);
        if (!axes.trouble().empty()) return at_line(axes.trouble_line(), axes.trouble());
    }
    for (std::size_t k = 0; k < body.yields.size(); ++k) {
        const auto& [name, type] = body.parameters[k];
        if (axes.depends(body.yields[k]) && !type.shape.empty() && !axes.at_own_element(body.yields[k], rank))
            return at_line(loop.line, "moves elements of " + name);
    }
    if (const int line = element == nullptr ? -1 : line_of_dear_numbers(body); line >= 0)
        return at_line(line, "computes numbers from iteration to iteration, which each element would compute again");
    return "";
}

Size start_of(const Operation& loop) {
    return loop.attributes.at(attr::start);
}

std::int64_t step_of(const Operation& loop) {
    return loop.attributes.at(attr::step).constant();
}

Size iterations_of(const Operation& loop) {
    return iterations(start_of(loop), loop.attributes.at(attr::stop), step_of(loop));
}

std::vector<Size> element_shape(const Operation& loop) {
    for (const auto& [name, type] : loop.regions[0].parameters)
        if (!type.shape.empty()) return type.shape;
    return {};
}

std::optional<ExitCondition> exit_condition(const Operation& loop, const std::vector<std::size_t>& state) {
    const Block& body = loop.regions[0];
    const Values values(body);
    // What the state does not have may change whenever it likes.
    std::set<std::string> foreign;
    for (const auto& [name, type] : body.parameters)
        foreign.insert(name);
    for (std::size_t k : state)
        foreign.erase(body.parameters[k].first);
    const std::string& index = loop.attributes.at(attr::variable);

    // Every truth of the body or among what is carried is a candidate; there are few.
    std::vector<std::string> candidates;
    for (const auto& [name, type] : body.parameters) {
        if (type.dtype == "bool") candidates.push_back(name);
    }
    for (const Operation& operation : body.operations) {
        if (operation.type.dtype == "bool") candidates.push_back(operation.result);
    }
    auto varies = [&](const std::string& value) {
        std::set<std::string> seen;
        std::vector<std::string> open{value};
        while (!open.empty()) {
            const std::string name = open.back();
            open.pop_back();
            if (name == index || foreign.count(name) != 0) return true;
            const Operation* const made = values.made_by(name);
            if (!seen.insert(name).second || made == nullptr) continue;
            if (mentions(*made, index)) return true;
            open.insert(open.end(), made->operands.begin(), made->operands.end());
        }
        return false;
    };
    for (const std::string& candidate : candidates) {
        if (varies(candidate)) continue;
        for (const bool alive_if : {true, false}) {
            const ExitCondition condition{candidate, alive_if};
            const DeadIteration dead(values, condition);
            bool all = true;
            for (std::size_t k : state)
                all = all && dead.unchanged(body.yields[k], body.parameters[k].first, body.parameters[k].second);
            if (all) return condition;
        }
    }
    return std::nullopt;
}

namespace {

/// Whether a value inside the loop is only an index, a small constant, or `parameter`.
bool is_narrow(const std::string& value, const std::string& parameter, const std::string& index,
               const std::function<const Operation*(const std::string&)>& made_by) {
    if (value == parameter || value == index) return true;
    const Operation* const found = made_by(value);
    if (found == nullptr) return false;
    const Operation& made = *found;
    if (made.type.dtype != "int64") return false;
    if (made.op == Op::constant) {
        const Size constant = try_parse_size(made.attributes.at(attr::value)).value_or(Size::integer(INT64_MAX));
        return constant.is_constant() && constant.constant() >= INT32_MIN && constant.constant() <= INT32_MAX;
    }
    if (made.op == Op::scalar_size) return made.attributes.at(attr::size) == Size::symbol(index);
    if (made.op == Op::broadcast_to) return is_narrow(made.operands[0], parameter, index, made_by);
    return made.op == Op::where && is_narrow(made.operands[1], parameter, index, made_by) &&
           is_narrow(made.operands[2], parameter, index, made_by);
}

} // namespace

bool fits_32_bits(const Operation& loop, std::size_t k, const std::map<std::string, const Operation*>& outside) {
    const Block& body = loop.regions[0];
    const auto& [name, type] = body.parameters[k];
    if (type.dtype != "int64") return false;
    const Values values(body);
    const auto before = [&](const std::string& value) {
        const auto found = outside.find(value);
        return found == outside.end() ? nullptr : found->second;
    };
    const auto made_by = [&](const std::string& value) {
        const Operation* const made = values.made_by(value);
        return made == nullptr ? before(value) : made;
    };
    const std::string& index = loop.attributes.at(attr::variable);
    return is_narrow(loop.operands[k], "", "", before) && is_narrow(body.yields[k], name, index, made_by);
}

bool is_region(const Operation& operation) {
    return !operation.regions.empty() && !(operation.op == Op::for_loop && why_not_pixelwise(operation).empty());
}

bool needs_steps(const Program& program) {
    return !program.writes.empty() || !program.checks.empty() ||
           std::ranges::any_of(program.body.operations, [](const Operation& operation) {
               return is_region(operation) || operation.op == Op::read || operation.op == Op::call;
           });
}

} // namespace tilewright::translator
