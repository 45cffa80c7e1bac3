// translator/ir/values.cpp: names and types of values, region by region; operations from their parts.
#include "translator/ir/values.h"

#include <algorithm>
#include <utility>

#include "translator/ir/walk.h"

namespace tilewright::translator {

Values::Values(const Program& program) : program_(&program), body_(&program.body) {
    for (const ArrayArgument& argument : program.arrays)
        values_[argument.name] = {.type = &argument.type};
    for (const ScalarArgument& argument : program.scalars)
        declare(argument.name, {argument.dtype, {}});
    define(program.body, nullptr);
}

void Values::define(const Block& block, const Operation* around) {
    for (std::size_t k = 0; k < block.parameters.size(); ++k)
        values_[block.parameters[k].first] = {&block.parameters[k].second, around, k, true};
    for (const Operation& operation : block.operations) {
        values_[operation.result] = {&operation.type, &operation, 0, false};
        for (std::size_t k = 0; k < operation.more_results.size(); ++k)
            values_[operation.more_results[k].first] = {&operation.more_results[k].second, &operation, k + 1, false};
        for (const Block& region : operation.regions)
            define(region, &operation);
    }
}

const Operation* Values::made_by(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() || found->second.is_parameter ? nullptr : found->second.operation;
}

const Operation* Values::made_by(const std::string& name, Op op) const {
    const Operation* const made = made_by(name);
    return made != nullptr && made->op == op ? made : nullptr;
}

const Operation* Values::carried_by(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() || !found->second.is_parameter ? nullptr : found->second.operation;
}

void Values::count_uses() const {
    counted_ = true;
    const auto use = [this](const std::string& name) { ++uses_[name].count; };
    std::ranges::for_each(body_->yields, use);
    walk(*body_, [&](const Operation& operation) {
        for (const std::string& operand : operation.operands) {
            use(operand);
            uses_[operand].users.push_back(&operation);
        }
        for (const Block& region : operation.regions)
            std::ranges::for_each(region.yields, use);
    });
    if (program_ == nullptr) return;
    for (const Check& check : program_->checks)
        use(check.value);
    for (const Write& write : program_->writes)
        use(write.value);
}

const Values::Uses& Values::uses_of(const std::string& name) const {
    static const Uses none;
    if (!counted_) count_uses();
    const auto found = uses_.find(name);
    return found == uses_.end() ? none : found->second;
}

void Values::declare(const std::string& name, Type type) {
    values_[name].type = &declared_.emplace_back(std::move(type));
    if (names_) names_->take(name);
}

FreshNames& Values::names() {
    if (names_) return *names_;
    names_.emplace();
    for_each([this](const std::string& name, const Type&) { names_->take(name); });
    walk(*body_, [this](const Operation& operation) {
        if (const std::string* index = operation.attributes.find(attr::variable)) names_->take(*index);
    });
    if (above_) names_->number_above();
    return *names_;
}

namespace {

void rename(std::string& name, const Renamed& renamed) {
    for (auto found = renamed.find(name); found != renamed.end(); found = renamed.find(name))
        name = found->second;
}

} // namespace

void replace_uses(Block& block, const Renamed& renamed) {
    const auto apply = [&](std::string& name) { rename(name, renamed); };
    std::ranges::for_each(block.yields, apply);
    for (Operation& operation : block.operations)
        walk_uses(operation, apply);
}

void replace_all_uses(Program& program, const Renamed& renamed) {
    if (renamed.empty()) return;
    replace_uses(program.body, renamed);
    for (Check& check : program.checks)
        rename(check.value, renamed);
    for (Write& write : program.writes)
        rename(write.value, renamed);
}

Operation make_operation(std::string result, Type type, Op op, std::vector<std::string> operands, Attributes attributes,
                         int line) {
    Operation made;
    made.result = std::move(result);
    made.type = std::move(type);
    made.op = op;
    made.operands = std::move(operands);
    made.attributes = std::move(attributes);
    made.line = line;
    return made;
}

void collect_symbols(const Operation& operation, std::set<std::string>& symbols) {
    for (const Size& extent : operation.type.shape)
        extent.collect_symbols(symbols);
    if (operation.op == Op::for_loop || operation.op == Op::read) return;
    operation.attributes.for_each_size([&](const Size& size) { size.collect_symbols(symbols); });
}

int check_of(const Operation& take) {
    const int* check = take.attributes.find(attr::checked);
    return check == nullptr ? -1 : *check;
}

std::vector<int> reduced_axes(const Operation& operation) {
    if (const int* axis = operation.attributes.find(attr::axis)) return {*axis};
    std::vector<int> axes = operation.attributes.at(attr::axes);
    std::sort(axes.begin(), axes.end());
    return axes;
}

std::vector<std::pair<std::string, Type>> results_of(const Operation& operation) {
    std::vector<std::pair<std::string, Type>> out{{operation.result, operation.type}};
    out.insert(out.end(), operation.more_results.begin(), operation.more_results.end());
    return out;
}

} // namespace tilewright::translator
