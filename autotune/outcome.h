// autotune/outcome.h: what became of a candidate. A failed candidate is a value, not an error.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright::autotune {

enum class OutcomeKind {
    measured,
    illegal,      ///< refused by check()
    build_failed, ///< refused by Halide, or the compiler crashed
    build_timed_out,
    run_crashed, ///< signal, wild write (guard page), out of memory
    run_timed_out,
    wrong_answer
};

struct Outcome {
    OutcomeKind kind = OutcomeKind::measured;
    std::string text; ///< for people: what happened, with the first wrong element or the signal
    /// Of a paired measurement: it was the incumbent that failed, the candidate is not to blame.
    bool of_incumbent = false;
    /// Its process was killed from outside, each time it was tried: that says nothing lasting of the candidate.
    bool killed = false;
};

/// In the order of OutcomeKind.
inline constexpr const char* kOutcomeNames[] = {"measured",    "illegal",       "build_failed", "build_timed_out",
                                                "run_crashed", "run_timed_out", "wrong_answer"};

/// "measured", "build_failed", ...: the word in the store and in messages.
constexpr const char* outcome_name(OutcomeKind kind) {
    return kOutcomeNames[static_cast<std::size_t>(kind)];
}
/// The reverse; nullopt for an unknown word.
inline std::optional<OutcomeKind> try_outcome_kind(std::string_view name) {
    const auto found = std::ranges::find(kOutcomeNames, name);
    if (found == std::end(kOutcomeNames)) return std::nullopt;
    return static_cast<OutcomeKind>(found - std::begin(kOutcomeNames));
}

} // namespace tilewright::autotune
