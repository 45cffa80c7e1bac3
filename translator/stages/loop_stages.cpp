// translator/stages/loop_stages.cpp: the part of the analysis that makes stages of pixelwise loops and of their
// readers.
#include <algorithm>
#include <functional>

#include "dsl/base/error.h"
#include "translator/ir/attributes.h"
#include "translator/ir/values.h"
#include "translator/loops/element_axes.h"
#include "translator/loops/pixelwise.h"
#include "translator/ops/rules.h"
#include "translator/stages/analysis.h"

namespace tilewright::translator {
namespace {

/// What is cheaper than this is computed in every iteration rather than kept.
constexpr int kCheapInLoop = 3;
/// More names than this make no name.
constexpr std::size_t kMostNames = 3;

/// Which of the loop's carried values the given ones need, themselves included.
std::vector<std::size_t> closure(const Operation& loop, const std::set<std::size_t>& wanted) {
    const Block& body = loop.regions[0];
    const Values values(body);
    std::set<std::size_t> needed = wanted;
    std::vector<std::string> open;
    for (std::size_t k : wanted)
        open.push_back(body.yields[k]);
    std::set<std::string> seen;
    while (!open.empty()) {
        const std::string name = open.back();
        open.pop_back();
        if (!seen.insert(name).second || !values.has(name)) continue;
        if (const Operation* made = values.made_by(name))
            open.insert(open.end(), made->operands.begin(), made->operands.end());
        else if (needed.insert(values.position(name)).second)
            open.push_back(body.yields[values.position(name)]);
    }
    return {needed.begin(), needed.end()};
}

} // namespace

void Analysis::collect_loop(const Operation& loop, std::set<std::string>& used) {
    const Block& body = loop.regions[0];
    const std::string& index = loop.attributes.at(attr::variable);
    for (const auto& key : {attr::start, attr::stop})
        loop.attributes.at(key).collect_symbols(used);
    names_.insert(index);
    const auto given = [](const Type& type) {
        return ValueInfo{.kind = ValueInfo::Kind::given, .type = type, .order = by_axes(type)};
    };
    values_[index] = given({"int64", {}});
    for (const auto& [name, type] : body.parameters) {
        names_.insert(name);
        values_[name] = given(type);
    }
    for (const Operation& operation : body.operations) {
        names_.insert(operation.result);
        refuse(operation);
        collect_symbols(operation, used);
        values_[operation.result] = describe(operation, false);
        // Positions in arguments may move with the loop, so nothing here is read by its position alone.
        for (const std::string& operand : operation.operands)
            keep_before_loop(operand);
    }
    used.erase(index);

    const bool elements = !element_shape(loop).empty();
    const std::string name = unique("loop_" + index);
    std::string scalars;
    for (const auto& [result, type] : results_of(loop)) {
        names_.insert(result);
        values_[result] = {.kind = ValueInfo::Kind::stage, .type = type, .operation = &loop, .order = by_axes(type)};
        // What has no axes is carried beside each element, and once more by itself: there may be no element.
        if (elements && type.shape.empty() && scalars.empty()) scalars = unique(name + "_scalars");
        stage_names_[result] = elements && type.shape.empty() ? scalars : name;
    }
}

int Analysis::operations_of(const std::string& value) const {
    const ValueInfo& info = values_.at(value);
    if (info.kind != ValueInfo::Kind::expression) return 0;
    int count = cost_of(info.operation->op);
    for (const std::string& operand : info.operation->operands)
        count += operations_of(operand);
    return count;
}

/// What a loop reads and no iteration changes is a stage, if it is work: it would be computed again in each iteration.
void Analysis::keep_before_loop(const std::string& value) {
    if (operations_of(value) > kCheapInLoop) keep_before(value, "before_loop");
}

void Analysis::keep_before(const std::string& value, const std::string& name) {
    ValueInfo& info = values_.at(value);
    // Values of the body are expressions too, but they are in no table of stages: the program's own operations are.
    const auto& operations = program_.body.operations;
    const bool outside = !operations.empty() && info.operation >= operations.data() &&
                         info.operation < operations.data() + operations.size();
    if (!outside || info.kind != ValueInfo::Kind::expression) return;
    const Op op = info.operation->op;
    if (is_view(op)) return keep_before(info.operation->operands[0], name);
    if (!is_elementwise(op)) return;
    info.kind = ValueInfo::Kind::stage;
    stage_names_[value] = value[0] == '%' ? unique(name) : value;
}

void Analysis::collect_loop_stages(const Operation& loop) {
    std::map<std::string, std::set<std::size_t>> numbers;
    const auto results = results_of(loop);
    for (std::size_t k = 0; k < results.size(); ++k)
        numbers[stage_names_.at(results[k].first)].insert(k);
    // Without axes first: it is read by nothing of the other.
    for (const auto& [name, wanted] : numbers) {
        StagePlan plan;
        plan.name = plan.operand = name;
        plan.value = results[*wanted.begin()].first;
        plan.operation = &loop;
        plan.state = closure(loop, wanted);
        for (std::size_t k : wanted)
            stage_of_value_[results[k].first] = name;
        stages_.push_back(std::move(plan));
        refresh_reads(stages_.back());
    }
}

std::set<std::string> Analysis::stored_behind(const std::vector<std::string>& values) const {
    std::set<std::string> found, seen;
    std::vector<std::string> open = values;
    while (!open.empty()) {
        const std::string value = open.back();
        open.pop_back();
        if (!seen.insert(value).second) continue;
        const ValueInfo& info = values_.at(value);
        if (info.kind == ValueInfo::Kind::stage)
            found.insert(value);
        else if (info.operation != nullptr)
            open.insert(open.end(), info.operation->operands.begin(), info.operation->operands.end());
    }
    return found;
}

/// The values of Kind::stage that a stage's definitions mention.
std::set<std::string> Analysis::read_values(const StagePlan& plan) const {
    std::vector<std::string> mentioned;
    for (const std::size_t k : plan.state) {
        mentioned.push_back(plan.operation->operands[k]);
        mentioned.push_back(plan.operation->regions[0].yields[k]);
    }
    if (plan.is_loop()) return stored_behind(mentioned);
    for (const StageBuffer& buffer : plan.buffers()) {
        if (buffer.operation == nullptr)
            mentioned.push_back(buffer.value);
        else
            mentioned.insert(mentioned.end(), buffer.operation->operands.begin(), buffer.operation->operands.end());
    }
    return stored_behind(mentioned);
}

void Analysis::refresh_reads(StagePlan& plan) const {
    plan.reads.clear();
    for (const std::string& value : read_values(plan))
        plan.reads.insert(source_of(value, plan.name).stage->name);
}

void Analysis::refresh_stages() {
    for (StagePlan& plan : stages_)
        if (!plan.library) refresh_reads(plan);
    order_stages();
}

std::set<std::string> Analysis::library_operands() const {
    std::set<std::string> operands;
    for (const StagePlan& plan : stages_)
        operands.insert(plan.library_operands.begin(), plan.library_operands.end());
    return operands;
}

bool Analysis::reads_through(const StagePlan& reader, const std::string& stage) const {
    std::set<std::string> seen;
    std::vector<std::string> open(reader.reads.begin(), reader.reads.end());
    while (!open.empty()) {
        const std::string name = open.back();
        open.pop_back();
        if (name == stage) return true;
        if (!seen.insert(name).second) continue;
        const StagePlan* plan = find_stage(name);
        if (plan == nullptr) continue; // an argument that a library reads
        open.insert(open.end(), plan->reads.begin(), plan->reads.end());
        open.insert(open.end(), plan->library_operands.begin(), plan->library_operands.end());
    }
    return false;
}

namespace {

/// The results of a loop that one stage computes, followed through the program.
ElementAxes follow_results(const Program& program, const StagePlan& plan) {
    ElementAxes axes;
    const auto results = results_of(*plan.operation);
    const std::size_t rank = element_shape(*plan.operation).size();
    for (const auto& [name, type] : results) {
        if (type.shape.size() == rank) axes.follow(name, type);
    }
    for (const Operation& operation : program.body.operations) {
        if (operation.regions.empty()) axes.visit(operation);
    }
    return axes;
}

} // namespace

/// Named steps between a loop and what is returned become part of the expressions that read them: the loop is then read
/// by as few stages as can be, and may run inside the loops of one.
void Analysis::dissolve_readers_of_loops() {
    const std::set<std::string> operands = library_operands();
    for (std::size_t at = 0; at < stages_.size(); ++at) {
        if (!stages_[at].is_loop()) continue;
        const StagePlan loop = stages_[at];
        const std::vector<Size> shape = values_.at(loop.value).type.shape;
        if (shape.empty()) continue;
        const ElementAxes axes = follow_results(program_, loop);
        const auto dissolves = [&](const StagePlan& plan) {
            return plan.reads.count(loop.name) != 0 && !plan.materialised && !plan.is_loop() && !plan.library &&
                   operands.count(plan.name) == 0 && plan.operation != nullptr && plan.is_elementwise() &&
                   axes.at_own_element(plan.value, shape.size()) && same_shape(plan.operation->type.shape, shape);
        };
        for (auto plan = std::ranges::find_if(stages_, dissolves); plan != stages_.end();
             plan = std::ranges::find_if(stages_, dissolves)) {
            values_.at(plan->value).kind = ValueInfo::Kind::expression;
            stage_of_value_.erase(plan->value);
            stages_.erase(plan);
            for (StagePlan& other : stages_)
                if (!other.library) refresh_reads(other);
        }
    }
}

/// A loop runs inside the loops of one other stage, which reads it at its own element. Where several stages do that
/// they become one Tuple, and those that read other elements or reduce read what that one leaves in memory.
void Analysis::join_readers_of_loops() {
    std::vector<std::string> loops;
    for (const StagePlan& plan : stages_) {
        if (plan.is_loop()) loops.push_back(plan.name);
    }
    const std::set<std::string> operands = library_operands();
    for (const std::string& name : loops) {
        const StagePlan loop = stage(name);
        const std::vector<Size> shape = values_.at(loop.value).type.shape;
        std::vector<std::string> readers;
        for (const StagePlan& plan : stages_) {
            if (plan.reads.count(name) != 0) readers.push_back(plan.name);
        }
        if (readers.empty() || (readers.size() == 1 && shape.empty())) continue;
        const ElementAxes axes = follow_results(program_, loop);
        StagePlan joint;
        std::set<std::string> members;
        std::set<std::string> copied;
        for (const std::string& reader : readers) {
            const StagePlan& plan = stage(reader);
            bool member = plan.is_elementwise() && !plan.is_loop() && operands.count(reader) == 0 &&
                          same_shape(values_.at(plan.value).type.shape, shape) &&
                          axes.at_own_element(plan.value, shape.size()) && plan.joined.empty();
            for (const std::string& other : readers)
                member = member && (other == reader || !reads_through(plan, other));
            if (!member) continue;
            members.insert(reader);
            joint.joined.push_back(plan);
            joint.result = joint.result || plan.result;
            if (plan.operation == nullptr) copied.insert(plan.value);
        }
        for (const std::string& reader : readers) {
            if (members.count(reader) != 0) continue;
            for (const std::string& value : read_values(stage(reader))) {
                if (stage_of_value_.at(value) != name || !copied.insert(value).second) continue;
                const std::string kept = unique(value + "_kept");
                joint.joined.push_back({kept, kept, value, nullptr, false});
            }
        }
        // One reader at its own element hosts the loop as it is; any other reads memory.
        if (readers.size() == 1 && !members.empty()) continue;
        std::string wish;
        for (const StageBuffer& buffer : joint.joined)
            wish += (wish.empty() ? "" : "_") + buffer.name;
        if (joint.joined.size() > kMostNames) wish = joint.joined[0].name + "_and_more";
        joint.name = joint.joined.size() == 1 ? wish : unique(wish);
        joint.operand = joint.name;
        joint.value = joint.joined[0].value;
        joint.materialised = true;
        for (const StageBuffer& buffer : joint.joined)
            buffer_of_value_[buffer.value] = buffer.name;
        std::erase_if(stages_, [&](const StagePlan& plan) { return members.count(plan.name) != 0; });
        stages_.push_back(std::move(joint));
        refresh_stages();
    }
}

/// Each stage after what it reads, otherwise as they stand.
void Analysis::order_stages() {
    std::vector<StagePlan> ordered;
    std::set<std::string> done;
    std::function<void(const std::string&)> take = [&](const std::string& name) {
        for (const StagePlan& plan : stages_) {
            if (plan.name != name || !done.insert(name).second) continue;
            for (const std::string& read : plan.reads)
                take(read);
            for (const std::string& operand : plan.library_operands)
                take(operand);
            ordered.push_back(plan);
        }
    };
    for (const StagePlan& plan : stages_)
        take(plan.name);
    stages_ = std::move(ordered);
}

/// Of what a loop carries, a stage keeps what its readers need and what that needs.
void Analysis::choose_state() {
    if (std::ranges::none_of(stages_, &StagePlan::is_loop)) return;
    for (StagePlan& plan : stages_) {
        if (!plan.is_loop()) continue;
        std::set<std::size_t> wanted;
        const auto results = results_of(*plan.operation);
        for (const StagePlan& reader : stages_) {
            if (reader.reads.count(plan.name) == 0) continue;
            for (const std::string& value : read_values(reader)) {
                if (source_of(value, reader.name).stage != &plan) continue;
                for (std::size_t k = 0; k < results.size(); ++k)
                    if (results[k].first == value) wanted.insert(k);
            }
        }
        plan.state = closure(*plan.operation, wanted);
    }
    refresh_stages();
    keep_live();
}

} // namespace tilewright::translator
