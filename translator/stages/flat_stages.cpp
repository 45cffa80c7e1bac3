// translator/stages/flat_stages.cpp: stages whose axes are one loop.
//
//   y[i, j] = f(x[i, j])   ->   y[p] = f(x[p]), p in C order
//
// Where the last axis is short, as of points and colours, its loop leaves most of a vector empty; where it is longer,
// the vector that ends each row does work twice.
#include <algorithm>

#include "dsl/base/error.h"
#include "translator/stages/analysis.h"

namespace tilewright::translator {
namespace {

/// Longer rows lose a tenth at most by how they end. Objects are kept by the magnitude of sizes, so that it is a power
/// of two.
constexpr std::int64_t kLongAxis = 512;

const Size* last_wide(const std::vector<Size>& shape) {
    const auto found = std::find_if_not(shape.rbegin(), shape.rend(), is_one);
    return found == shape.rend() ? nullptr : &*found;
}

} // namespace

/// Whether an element of `value`, whose wide extents are `extents`, is worked out from elements at the same position.
bool Analysis::reads_in_order(const std::string& value, const std::vector<std::string>& extents,
                              const std::set<std::string>& flat) const {
    const ValueInfo& info = values_.at(value);
    const std::vector<std::string> own = wide_extents(info.type.shape);
    if (own.empty() || info.kind == ValueInfo::Kind::scalar) return true;
    if (own != extents) return false;
    if (info.kind == ValueInfo::Kind::stage) {
        const StagePlan* plan = stage_of_value(value);
        return plan != nullptr && flat.count(plan->name) != 0;
    }
    if (info.order.flat) return true;
    if (info.operation == nullptr || !is_elementwise(info.operation->op)) return false;
    const std::vector<std::string>& operands = info.operation->operands;
    return std::ranges::all_of(operands,
                               [&](const std::string& operand) { return reads_in_order(operand, extents, flat); });
}

/// Whether a stage is computed element by element and its last axis is not long.
bool Analysis::may_be_flat(const StagePlan& plan) const {
    if (plan.library || plan.is_loop() || plan.target != nullptr) return false;
    const std::vector<StageBuffer> buffers = plan.buffers();
    const std::vector<Size>& shape = values_.at(buffers[0].value).type.shape;
    if (wide_extents(shape).size() < 2) return false;
    const std::int64_t last = here(*last_wide(shape));
    if (last < 0 || last >= kLongAxis) return false;
    return std::ranges::all_of(buffers, [&](const StageBuffer& buffer) {
        return buffer.is_elementwise() && wide_extents(values_.at(buffer.value).type.shape) == wide_extents(shape);
    });
}

/// The largest set of stages that read each other at their own position alone.
std::set<std::string> Analysis::flat_candidates() const {
    std::set<std::string> flat;
    for (const StagePlan& plan : stages_)
        if (may_be_flat(plan)) flat.insert(plan.name);
    const auto is_right = [&](const StagePlan& plan) {
        for (const StagePlan& reader : stages_) {
            const bool reads = reader.reads.count(plan.name) != 0 && reader.kernel == plan.kernel;
            if (reads && !reader.library && flat.count(reader.name) == 0) return false;
        }
        for (const StageBuffer& buffer : plan.buffers()) {
            const std::vector<std::string> extents = wide_extents(values_.at(buffer.value).type.shape);
            const auto in_order = [&](const std::string& value) { return reads_in_order(value, extents, flat); };
            const bool right = buffer.operation == nullptr ? in_order(buffer.value)
                                                           : std::ranges::all_of(buffer.operation->operands, in_order);
            if (!right) return false;
        }
        // What another kernel leaves has its own axes in memory.
        return std::ranges::none_of(plan.reads, [&](const std::string& read) {
            return flat.count(read) != 0 && find_stage(read)->kernel != plan.kernel;
        });
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (const StagePlan& plan : stages_) {
            if (flat.count(plan.name) == 0 || is_right(plan)) continue;
            flat.erase(plan.name);
            changed = true;
        }
    }
    return flat;
}

void Analysis::choose_axes() {
    // On a device threads go along several axes at once; segments of loops have loops around them that schedules name.
    if (options_.device || context_.targets != nullptr) return;
    const std::set<std::string> flat = flat_candidates();
    if (flat.empty()) return;
    const std::string name = unique("axes");
    const std::vector<std::string> options = {"flat", "own"};
    const std::string choice = given_option(name, options);
    if (std::ranges::find(options, choice) == options.end())
        throw TranslateError(program_.function + ": variant " + name + " = " + choice + ": no such option.",
                             "Take flat or own.");
    chosen_[name] = choice;
    variants_.push_back(
        {name, options, "stages whose last axis is not long: one loop over all elements, or a loop an axis"});
    for (StagePlan& plan : stages_)
        plan.flat = choice == "flat" && flat.count(plan.name) != 0;
}

} // namespace tilewright::translator
