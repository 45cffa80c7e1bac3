// translator/plan/cut_regions.cpp: loops and branches, and the memory that they carry.
#include <algorithm>
#include <map>
#include <utility>

#include "translator/ir/attributes.h"
#include "translator/plan/cutter.h"

namespace tilewright::translator {

/// Choices of choices say their conditions twice.
constexpr std::size_t kLongestCondition = 300;

std::string Cutter::home(const Item& item, std::size_t k, std::vector<Step>& steps) {
    const Operation& operation = *item.operation;
    const std::string& init = operation.operands[k];
    const std::string result = results_of(operation)[k].first;
    if (item.consumed.count(init) != 0 && place_.count(init) != 0) return place_.at(init);
    return fresh_buffer(result, init, steps, operation);
}

void Cutter::move(const std::vector<std::string>& yields, const std::vector<std::string>& homes,
                  std::vector<Step>& steps, const Operation& operation) {
    struct Move {
        std::string from, to;
    };
    std::vector<Move> moves;
    std::map<std::string, int> uses;
    for (std::size_t k = 0; k < yields.size(); ++k) {
        std::string from;
        if (scalars_.count(yields[k]) != 0 || place_.count(yields[k]) == 0) {
            const Type& type = types_.at(yields[k]);
            from = add_temporary(fresh_name("%", base_name(homes[k]) + "_next"), type, steps);
            steps.push_back(segment({{yields[k], whole(from, type, operation.line)}}));
        } else {
            from = place_.at(yields[k]);
        }
        if (from == homes[k]) continue;
        moves.push_back({from, homes[k]});
        ++uses[from];
    }
    // A home that another one wants is saved first.
    for (Move& each : moves) {
        if (std::ranges::find(homes, each.from) == homes.end()) continue;
        const std::string saved =
            add_temporary(fresh_name("%", base_name(each.from) + "_last"), type_of_buffer(each.from), steps);
        steps.push_back(step_of(Step::Kind::copy, {each.from, saved}));
        each.from = saved;
    }
    for (const Move& each : moves) {
        const bool both = is_temporary(each.from) && is_temporary(each.to) && uses[each.from] <= 1 &&
                          made_inside(each.from) &&
                          same_shape(type_of_buffer(each.from).shape, type_of_buffer(each.to).shape);
        if (both) buffer(each.from).swapped = buffer(each.to).swapped = true;
        steps.push_back(step_of(both ? Step::Kind::swap : Step::Kind::copy, {each.from, each.to}));
    }
}

bool Cutter::made_inside(const std::string& name) const {
    return std::any_of(out_.buffers.begin() + static_cast<std::ptrdiff_t>(inside_from_), out_.buffers.end(),
                       [&](const BufferPlan& plan) { return plan.name == name; });
}

Step Cutter::step_of(Step::Kind kind, const std::vector<std::string>& memory) {
    Step step;
    step.kind = kind;
    for (const std::string& name : memory)
        step.arguments.push_back(Size::symbol(name));
    return step;
}

Names Cutter::parameters_of(const Block& block) {
    Names out;
    for (const auto& [name, type] : block.parameters)
        out.insert(name);
    return out;
}

std::vector<std::string> Cutter::enter(const Item& item, std::vector<Step>& steps) {
    std::vector<std::string> homes;
    for (std::size_t k = 0; k < item.operation->operands.size(); ++k)
        homes.push_back(home(item, k, steps));
    for (const Block& inner : item.operation->regions)
        for (std::size_t k = 0; k < inner.parameters.size(); ++k)
            place_[inner.parameters[k].first] = homes[k];
    return homes;
}

void Cutter::leave(const Operation& operation, const std::vector<std::string>& homes) {
    const auto results = results_of(operation);
    for (std::size_t k = 0; k < results.size(); ++k)
        place_[results[k].first] = homes[k];
}

std::vector<Step> Cutter::body(const Block& inner, const std::vector<std::string>& homes, const Operation& operation,
                               const Names& taken) {
    const std::size_t before = out_.buffers.size();
    const std::size_t known = symbols_.size();
    std::vector<Step> steps = block(inner, set_of(inner.yields), taken);
    const std::size_t saved = std::exchange(inside_from_, before);
    move(inner.yields, homes, steps, operation);
    inside_from_ = saved;
    symbols_.resize(known); // sizes that the block read
    return steps;
}

void Cutter::emit_for(Item& item, std::vector<Step>& steps) {
    const Operation& operation = *item.operation;
    const std::vector<std::string> homes = enter(item, steps);
    Step loop;
    loop.kind = Step::Kind::for_range;
    loop.operation = &operation;
    loop.symbol = operation.attributes.at(attr::variable);
    for (const auto& limit : {attr::start, attr::stop, attr::step})
        loop.arguments.push_back(operation.attributes.at(limit));
    const bool known = loop.step().is_constant();
    const Size last = loop.stop() - Size::integer(known && loop.step().constant() < 0 ? -1 : 1);
    symbols_.push_back({loop.symbol, loop.first(), last, known});
    loop.body = body(operation.regions[0], homes, operation, parameters_of(operation.regions[0]));
    symbols_.pop_back();
    steps.push_back(std::move(loop));
    leave(operation, homes);
}

void Cutter::emit_while(Item& item, std::vector<Step>& steps) {
    const Operation& operation = *item.operation;
    const std::vector<std::string> homes = enter(item, steps);
    const Block& condition = operation.regions[0];
    Step loop;
    loop.kind = Step::Kind::loop;
    loop.operation = &operation;
    const std::size_t known = symbols_.size();
    loop.body = block(condition, set_of(condition.yields), {});
    const std::string goes_on = truth(condition.yields[0], loop.body, operation.line);
    loop.body.push_back(step_of(Step::Kind::leave_unless, {goes_on}));
    symbols_.resize(known);
    // The condition's block reads what is carried; the other one may take it over.
    std::vector<Step> rest = body(operation.regions[1], homes, operation, parameters_of(operation.regions[1]));
    std::move(rest.begin(), rest.end(), std::back_inserter(loop.body));
    steps.push_back(std::move(loop));
    leave(operation, homes);
}

std::string Cutter::truth(const std::string& value, std::vector<Step>& steps, int line) {
    if (scalars_.count(value) != 0) return value;
    return in_memory(value, steps, "truth", line);
}

std::string Cutter::in_memory(const std::string& value, std::vector<Step>& steps, const char* wish, int line) {
    if (place_.count(value) != 0) return place_.at(value);
    const std::string name = add_temporary(fresh_name("%", wish), types_.at(value), steps);
    steps.push_back(segment({{value, Target{name, types_.at(value), true, {}, line}}}));
    return name;
}

std::optional<Size> Cutter::plan_number(const std::string& value) const {
    if (types_.at(value).dtype != "int64" || !types_.at(value).shape.empty()) return std::nullopt;
    if (scalars_.count(value) != 0) return Size::symbol(value);
    const auto found = operations_.find(value);
    if (found == operations_.end()) return std::nullopt;
    const Operation* made = found->second;
    if (made->op == Op::constant) return try_parse_size(made->attributes.at(attr::value));
    if (made->op == Op::scalar_size) {
        // Sizes and indices of loops have 32 bits; what is worked out of an argument may leave its 64, in the middle of
        // a loop that has written already.
        const Size size = made->attributes.at(attr::size);
        for (const std::string& symbol : size.symbols())
            if (scalars_.count(symbol) != 0 && size.op() != Size::Op::symbol) return std::nullopt;
        return size;
    }
    if (made->op != Op::floor_divide && made->op != Op::remainder) return std::nullopt;
    // Nothing that is divided by a positive number leaves int64.
    const auto divided = plan_number(made->operands[0]);
    const auto divisor = plan_number(made->operands[1]);
    if (!divided || !divisor || !divisor->is_constant() || divisor->constant() <= 0) return std::nullopt;
    return Size::binary(made->op == Op::remainder ? Size::Op::mod : Size::Op::floordiv, *divided, *divisor);
}

std::optional<Size> Cutter::plan_condition(const std::string& value) const {
    if (types_.at(value).dtype != "bool" || !types_.at(value).shape.empty()) return std::nullopt;
    const auto found = operations_.find(value);
    if (found == operations_.end() || found->second->operands.empty()) return std::nullopt;
    const Operation* made = found->second;
    if (made->op == Op::logical_not || made->op == Op::invert) {
        const auto inner = plan_condition(made->operands[0]);
        return inner ? std::optional(Size::unary(Size::Op::logical_not, *inner)) : std::nullopt;
    }
    if (made->op == Op::where) { // what Python's `and` and `or` leave
        std::vector<Size> parts;
        for (const std::string& operand : made->operands) {
            const auto part = plan_condition(operand);
            if (!part || part->text().size() > kLongestCondition) return std::nullopt;
            parts.push_back(*part);
        }
        const Size first =
            made->operands[1] == made->operands[0] ? parts[0] : Size::binary(Size::Op::logical_and, parts[0], parts[1]);
        if (made->operands[2] == made->operands[0]) return first;
        const Size second = Size::binary(Size::Op::logical_and, Size::unary(Size::Op::logical_not, parts[0]), parts[2]);
        return Size::binary(Size::Op::logical_or, first, second);
    }
    if (made->operands.size() != 2) return std::nullopt;
    static const std::map<Op, Size::Op> operators = {{Op::logical_and, Size::Op::logical_and},
                                                     {Op::bitwise_and, Size::Op::logical_and},
                                                     {Op::logical_or, Size::Op::logical_or},
                                                     {Op::bitwise_or, Size::Op::logical_or},
                                                     {Op::equal, Size::Op::eq},
                                                     {Op::not_equal, Size::Op::ne},
                                                     {Op::less, Size::Op::lt},
                                                     {Op::greater, Size::Op::gt},
                                                     {Op::less_equal, Size::Op::le},
                                                     {Op::greater_equal, Size::Op::ge}};
    const auto operation = operators.find(made->op);
    if (operation == operators.end()) return std::nullopt;
    const bool joined = operation->second == Size::Op::logical_and || operation->second == Size::Op::logical_or;
    const auto side = [&](std::size_t k) {
        return joined ? plan_condition(made->operands[k]) : plan_number(made->operands[k]);
    };
    const auto left = side(0), right = side(1);
    if (!left || !right) return std::nullopt;
    return Size::binary(operation->second, *left, *right);
}

void Cutter::emit_check(const Check& check, std::vector<Step>& steps) {
    Step step = step_of(Step::Kind::check, {truth(check.value, steps, 0)});
    step.message = check.text;
    steps.push_back(std::move(step));
}

void Cutter::emit_read(const Operation& operation, std::vector<Step>& steps) {
    Step step = step_of(Step::Kind::read, {in_memory(operation.operands[0], steps, "size", operation.line)});
    step.symbol = operation.result;
    if (operation.attributes.has(attr::min))
        step.limits.emplace(operation.attributes.at(attr::min), operation.attributes.at(attr::max));
    const auto [least, most] = step.limits.value_or(std::pair<Size, Size>());
    symbols_.push_back({operation.result, least, most, step.limits.has_value()});
    steps.push_back(std::move(step));
}

void Cutter::emit_if(Item& item, std::vector<Step>& steps) {
    const Operation& operation = *item.operation;
    Step branch;
    branch.kind = Step::Kind::branch;
    branch.operation = &operation;
    const auto of_sizes = device_ ? plan_condition(operation.operands[0]) : std::nullopt;
    branch.arguments.push_back(of_sizes ? *of_sizes
                                        : Size::symbol(truth(operation.operands[0], steps, operation.line)));
    std::vector<std::string> homes;
    const std::map<std::string, std::string> in_place = changed_in_place(operation);
    for (const auto& [name, type] : results_of(operation)) {
        const auto start = in_place.find(name);
        const bool takes = start != in_place.end() && item.consumed.count(start->second) != 0;
        homes.push_back(takes ? place_.at(start->second)
                              : add_temporary(fresh_name(name, text_of(operation.op)), type, steps));
    }
    branch.body = body(operation.regions[0], homes, operation, item.consumed);
    branch.otherwise = body(operation.regions[1], homes, operation, item.consumed);
    steps.push_back(std::move(branch));
    leave(operation, homes);
}

} // namespace tilewright::translator
