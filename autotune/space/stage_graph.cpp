// autotune/space/stage_graph.cpp: who reads whom, and inside which loops a stage could be computed.
#include "autotune/space/stage_graph.h"

#include <algorithm>
#include <set>

namespace tilewright::autotune {

double StagePlan::most_copies() const {
    double most = 0;
    for (const auto& [reader, count] : copies)
        most = std::max(most, count);
    return most;
}

bool StagePlan::follows(const std::vector<std::string>& axes) const {
    return std::all_of(axes.begin(), axes.end(), [&](const std::string& axis) {
        return std::any_of(to_root.begin(), to_root.end(), [&](const auto& each) { return each.second == axis; });
    });
}

bool is_short_size(const dsl::LoopInfo& loop, const dsl::AlgorithmInfo& info) {
    return std::ranges::find(info.sizes, loop.extent, &dsl::SizeInfo::name) != info.sizes.end() &&
           loop.extent_here > 1 && loop.extent_here <= 8;
}

std::int64_t extent_of(const dsl::LoopInfo& loop, std::int64_t otherwise) {
    return loop.extent_here >= 0 ? loop.extent_here : otherwise;
}

std::vector<std::string> names_of(const std::vector<dsl::LoopInfo>& loops) {
    std::vector<std::string> names;
    for (const dsl::LoopInfo& loop : loops)
        names.push_back(loop.name);
    return names;
}

std::vector<std::string> reduced_first(const dsl::DefinitionInfo& definition) {
    std::vector<std::string> names;
    for (auto loop = definition.loops.rbegin(); loop != definition.loops.rend(); ++loop)
        if (loop->reduced) names.push_back(loop->name);
    return names;
}

double iterations_of(const std::vector<dsl::LoopInfo>& loops) {
    double product = 1;
    for (const dsl::LoopInfo& loop : loops)
        product *= static_cast<double>(extent_of(loop, 1024));
    return product;
}

StageGraph::StageGraph(const dsl::AlgorithmInfo& info) : info_(info) {
    for (const dsl::StageInfo& stage : info_.stages)
        by_name_[stage.name] = &stage;
    for (const dsl::StageInfo& stage : info_.stages)
        for (const dsl::ReadInfo& read : stage.reads)
            if (by_name_.count(read.from) && read.from != stage.name) uses_[read.from].push_back({&stage, &read});
}

const std::vector<Use>& StageGraph::uses(const std::string& stage) const {
    static const std::vector<Use> none;
    auto found = uses_.find(stage);
    return found == uses_.end() ? none : found->second;
}

const dsl::StageInfo* StageGraph::find(const std::string& stage) const {
    auto found = by_name_.find(stage);
    return found == by_name_.end() ? nullptr : found->second;
}

double StageGraph::operations_with_own(const dsl::StageInfo& stage) const {
    double sum = stage.operations;
    for (const dsl::ReadInfo& read : stage.reads) {
        const dsl::StageInfo* from = find(read.from);
        const bool is_own = from != nullptr && from != &stage && from->kernel == stage.kernel && read.places == 1 &&
                            uses(from->name).size() == 1;
        if (is_own && from->updates.empty()) sum += operations_with_own(*from);
    }
    return sum;
}

std::vector<std::pair<const dsl::StageInfo*, int>> StageGraph::computed_from(const dsl::StageInfo& stage) const {
    std::vector<std::pair<const dsl::StageInfo*, int>> found;
    for (const dsl::ReadInfo& read : stage.reads) {
        const dsl::StageInfo* from = find(read.from);
        if (from != nullptr && from != &stage && from->kernel == stage.kernel && from->updates.empty() && !from->output)
            found.emplace_back(from, read.places);
    }
    return found;
}

double StageGraph::operations_behind(const dsl::StageInfo& stage) const {
    std::set<const dsl::StageInfo*> seen{&stage};
    std::vector<const dsl::StageInfo*> open{&stage};
    double sum = 0;
    while (!open.empty()) {
        const dsl::StageInfo& each = *open.back();
        open.pop_back();
        sum += each.operations;
        for (const auto& [from, places] : computed_from(each))
            if (seen.insert(from).second) open.push_back(from);
    }
    return sum;
}

double StageGraph::operations_repeated(const dsl::StageInfo& stage) const {
    std::map<const dsl::StageInfo*, double> known;
    const auto count = [&](const auto& self, const dsl::StageInfo& each) -> double {
        if (const auto found = known.find(&each); found != known.end()) return found->second;
        double sum = each.operations;
        for (const auto& [from, places] : computed_from(each))
            sum += places * self(self, *from);
        return known[&each] = sum;
    };
    return count(count, stage);
}

namespace {

/// How often a loop inside the reader's elements, whose iterations read other places along some axis, comes to each
/// place; 1 where there is no such loop.
double visits_of_a_place(const dsl::StageInfo& stage, const Use& use) {
    if (use.reader->part != dsl::StagePart::loop || use.read->definition < 0 || use.read->broadcast ||
        std::ranges::find(use.read->axes, "") == use.read->axes.end())
        return 1;
    const double visits = iterations_of(use.reader->definition(use.read->definition).loops);
    return std::max(1.0, visits / std::max(1.0, iterations_of(stage.pure.loops)));
}

} // namespace

StagePlan StageGraph::follow(const dsl::StageInfo& stage, const std::map<std::string, StagePlan>& plans) const {
    StagePlan plan;
    bool first = true;
    for (const Use& use : uses(stage.name)) {
        const StagePlan& reader = plans.at(use.reader->name);
        if (first) plan.root = reader.root;
        if (reader.root != plan.root || use.reader->kernel != stage.kernel) plan.root = nullptr;
        for (std::size_t axis = 0; axis < stage.pure.loops.size(); ++axis) {
            const std::string& own = stage.pure.loops[axis].name;
            std::string followed;
            if (axis < use.read->axes.size()) {
                const std::string& loop = use.read->axes[axis];
                if (use.reader == reader.root) {
                    for (const dsl::LoopInfo& pure : use.reader->pure.loops)
                        if (pure.name == loop) followed = loop;
                } else if (auto found = reader.to_root.find(loop); found != reader.to_root.end()) {
                    followed = found->second;
                }
            }
            if (first && !followed.empty()) plan.to_root[own] = followed;
            if (!first && (!plan.to_root.count(own) || plan.to_root[own] != followed)) plan.to_root.erase(own);
        }
        first = false;
        const double before = reader.placement == Placement::inlined ? reader.spread : 1;
        plan.spread = std::max(plan.spread, before * use.read->places);
        const double repeated = reader.placement == Placement::inlined ? reader.repeats : 1;
        plan.repeats = std::max(plan.repeats, repeated * visits_of_a_place(stage, use));
        if (reader.placement == Placement::inlined)
            for (const auto& [name, count] : reader.copies)
                plan.copies[name] += count * use.read->places;
        else
            plan.copies[use.reader->name] += use.read->places;
        plan.in_update = plan.in_update || (use.reader == reader.root ? use.read->definition >= 0 : reader.in_update);
    }
    return plan;
}

const dsl::StageInfo* StageGraph::reducing_reader(const dsl::StageInfo& stage,
                                                  const std::map<std::string, StagePlan>& plans,
                                                  std::string* loop) const {
    const std::vector<Use>& readers = uses(stage.name);
    const dsl::StageInfo* only = nullptr;
    for (const Use& use : readers) {
        if (only && only != use.reader) return nullptr;
        only = use.reader;
    }
    if (!only) return nullptr;
    const Use& use = readers.front();
    if (readers.size() == 1 && plans.at(only->name).placement == Placement::inlined)
        return reducing_reader(*only, plans, loop);
    if (readers.size() != 1 || use.read->definition < 0) return nullptr;
    const auto& loops = only->definition(use.read->definition).loops;
    for (const std::string& axis : use.read->axes)
        for (const dsl::LoopInfo& candidate : loops)
            if (candidate.reduced && candidate.name == axis) {
                *loop = axis;
                return only;
            }
    return nullptr;
}

} // namespace tilewright::autotune
