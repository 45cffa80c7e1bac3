// autotune/measure/messages.cpp: JSON of an algorithm's description and of measurement requests.
#include "autotune/measure/messages.h"

namespace tilewright::autotune {
namespace {

using nlohmann::json;

json definition_to_json(const dsl::DefinitionInfo& definition) {
    json loops = json::array();
    for (const dsl::LoopInfo& loop : definition.loops)
        loops.push_back({{"name", loop.name},
                         {"reduced", loop.reduced},
                         {"ordered", loop.ordered},
                         {"extent", loop.extent},
                         {"extent_here", loop.extent_here},
                         {"racing", loop.racing}});
    return loops;
}

dsl::DefinitionInfo definition_from_json(const json& loops) {
    dsl::DefinitionInfo definition;
    for (const json& one : loops) {
        dsl::LoopInfo loop;
        loop.name = one.at("name");
        loop.reduced = one.at("reduced");
        loop.ordered = one.at("ordered");
        loop.extent = one.at("extent");
        loop.extent_here = one.at("extent_here");
        loop.racing = one.at("racing");
        definition.loops.push_back(std::move(loop));
    }
    return definition;
}

} // namespace

json algorithm_info_to_json(const dsl::AlgorithmInfo& info) {
    json stages = json::array();
    for (const dsl::StageInfo& stage : info.stages) {
        json updates = json::array();
        for (const dsl::DefinitionInfo& update : stage.updates)
            updates.push_back(definition_to_json(update));
        json reads = json::array();
        for (const dsl::ReadInfo& read : stage.reads)
            reads.push_back({{"from", read.from},
                             {"innermost", read.innermost},
                             {"broadcast", read.broadcast},
                             {"definition", read.definition},
                             {"axes", read.axes}});
        stages.push_back({{"name", stage.name},
                          {"dtypes", stage.dtypes},
                          {"pure", definition_to_json(stage.pure)},
                          {"updates", std::move(updates)},
                          {"reads", std::move(reads)},
                          {"output", stage.output},
                          {"inlinable", stage.inlinable},
                          {"guarded", stage.guarded},
                          {"repeats", stage.repeats},
                          {"scans", stage.scans},
                          {"in_parallel", stage.in_parallel},
                          {"rows_together", stage.rows_together},
                          {"reads_neighbours", stage.reads_neighbours},
                          {"operations", stage.operations},
                          {"line", stage.line},
                          {"source", stage.source},
                          {"kernel", stage.kernel},
                          {"part", stage.part}});
    }
    json sizes = json::array();
    for (const dsl::SizeInfo& size : info.sizes)
        sizes.push_back({{"name", size.name}, {"here", size.here}});
    return {{"function", info.function},
            {"variant", info.variant},
            {"stages", std::move(stages)},
            {"sizes", std::move(sizes)}};
}

dsl::AlgorithmInfo algorithm_info_from_json(const json& object) {
    dsl::AlgorithmInfo info;
    info.function = object.at("function");
    info.variant = object.at("variant").get<std::map<std::string, std::string>>();
    for (const json& one : object.at("stages")) {
        dsl::StageInfo stage;
        stage.name = one.at("name");
        stage.dtypes = one.at("dtypes").get<std::vector<std::string>>();
        stage.pure = definition_from_json(one.at("pure"));
        for (const json& update : one.at("updates"))
            stage.updates.push_back(definition_from_json(update));
        for (const json& each : one.at("reads")) {
            dsl::ReadInfo read;
            read.from = each.at("from");
            read.innermost = each.at("innermost");
            read.broadcast = each.at("broadcast");
            read.definition = each.at("definition");
            read.axes = each.at("axes").get<std::vector<std::string>>();
            stage.reads.push_back(std::move(read));
        }
        stage.output = one.at("output");
        stage.inlinable = one.at("inlinable");
        stage.guarded = one.at("guarded");
        stage.repeats = one.at("repeats");
        stage.scans = one.at("scans");
        stage.in_parallel = one.at("in_parallel");
        stage.rows_together = one.at("rows_together");
        stage.reads_neighbours = one.at("reads_neighbours");
        stage.operations = one.at("operations");
        stage.line = one.at("line");
        stage.source = one.at("source");
        stage.kernel = one.at("kernel");
        stage.part = one.at("part");
        info.stages.push_back(std::move(stage));
    }
    for (const json& size : object.at("sizes"))
        info.sizes.push_back({size.at("name"), size.at("here")});
    return info;
}

json measure_request_to_json(const MeasureRequest& request) {
    return {{"candidate", request.candidate},        {"incumbent", request.incumbent}, {"budget_s", request.budget_s},
            {"min_runs", request.min_runs},          {"max_runs", request.max_runs},   {"limit_s", request.limit_s},
            {"give_up_ratio", request.give_up_ratio}};
}

MeasureRequest measure_request_from_json(const json& object) {
    MeasureRequest request;
    request.candidate = object.at("candidate");
    request.incumbent = object.at("incumbent");
    request.budget_s = object.at("budget_s");
    request.min_runs = object.at("min_runs");
    request.max_runs = object.at("max_runs");
    request.limit_s = object.at("limit_s");
    request.give_up_ratio = object.at("give_up_ratio");
    return request;
}

} // namespace tilewright::autotune
