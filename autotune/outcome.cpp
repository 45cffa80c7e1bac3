// autotune/outcome.cpp: the words for what became of a candidate.
#include "autotune/outcome.h"

#include <algorithm>
#include <iterator>

namespace tilewright::autotune {
namespace {

/// In the order of OutcomeKind.
constexpr const char* kNames[] = {"measured",    "illegal",       "build_failed", "build_timed_out",
                                  "run_crashed", "run_timed_out", "wrong_answer"};

} // namespace

const char* outcome_name(OutcomeKind kind) {
    return kNames[static_cast<std::size_t>(kind)];
}

std::optional<OutcomeKind> try_outcome_kind(std::string_view name) {
    const auto found = std::ranges::find(kNames, name);
    if (found == std::end(kNames)) return std::nullopt;
    return static_cast<OutcomeKind>(found - std::begin(kNames));
}

} // namespace tilewright::autotune
