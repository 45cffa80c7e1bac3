// dsl/model/algorithm_fields.h: the lists of fields of an algorithm's description: whoever sends or reads one
// walks them. A field that is added to a struct of dsl/model/algorithm.h does not compile here until it is listed.
#pragma once

#include <tuple>
#include <type_traits>

#include "dsl/base/fields.h"
#include "dsl/model/algorithm.h"

namespace tilewright::dsl {

constexpr auto fields_of(std::type_identity<LoopInfo>) {
    return std::tuple(Field("name", &LoopInfo::name), Field("reduced", &LoopInfo::reduced),
                      Field("ordered", &LoopInfo::ordered), Field("extent", &LoopInfo::extent),
                      Field("extent_here", &LoopInfo::extent_here), Field("racing", &LoopInfo::racing),
                      Field("follows", &LoopInfo::follows), Field("longest", &LoopInfo::longest),
                      Field("longest_here", &LoopInfo::longest_here));
}
static_assert(lists_every_field<LoopInfo>);

constexpr auto fields_of(std::type_identity<CallInfo>) {
    return std::tuple(Field("stage", &CallInfo::stage), Field("axes", &CallInfo::axes));
}
static_assert(lists_every_field<CallInfo>);

constexpr auto fields_of(std::type_identity<DefinitionInfo>) {
    return std::tuple(Field("loops", &DefinitionInfo::loops), Field("associative", &DefinitionInfo::associative),
                      Field("calls", &DefinitionInfo::calls));
}
static_assert(lists_every_field<DefinitionInfo>);

constexpr auto fields_of(std::type_identity<ReadInfo>) {
    return std::tuple(Field("from", &ReadInfo::from), Field("innermost", &ReadInfo::innermost),
                      Field("broadcast", &ReadInfo::broadcast), Field("definition", &ReadInfo::definition),
                      Field("axes", &ReadInfo::axes), Field("places", &ReadInfo::places));
}
static_assert(lists_every_field<ReadInfo>);

constexpr auto fields_of(std::type_identity<StageInfo>) {
    return std::tuple(
        Field("name", &StageInfo::name), Field("dtypes", &StageInfo::dtypes), Field("pure", &StageInfo::pure),
        Field("updates", &StageInfo::updates), Field("reads", &StageInfo::reads), Field("output", &StageInfo::output),
        Field("inlinable", &StageInfo::inlinable), Field("guarded", &StageInfo::guarded),
        Field("repeats", &StageInfo::repeats), Field("scans", &StageInfo::scans),
        Field("in_parallel", &StageInfo::in_parallel), Field("rows_together", &StageInfo::rows_together),
        Field("reads_neighbours", &StageInfo::reads_neighbours), Field("operations", &StageInfo::operations),
        Field("line", &StageInfo::line), Field("source", &StageInfo::source), Field("kernel", &StageInfo::kernel),
        Field("part", &StageInfo::part));
}
static_assert(lists_every_field<StageInfo>);

constexpr auto fields_of(std::type_identity<SizeInfo>) {
    return std::tuple(Field("name", &SizeInfo::name), Field("here", &SizeInfo::here));
}
static_assert(lists_every_field<SizeInfo>);

constexpr auto fields_of(std::type_identity<AlgorithmInfo>) {
    return std::tuple(Field("function", &AlgorithmInfo::function), Field("variant", &AlgorithmInfo::variant),
                      Field("stages", &AlgorithmInfo::stages), Field("sizes", &AlgorithmInfo::sizes));
}
static_assert(lists_every_field<AlgorithmInfo>);

} // namespace tilewright::dsl
