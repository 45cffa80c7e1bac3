// autotune/outcome.cpp: the words for what became of a candidate.
#include "autotune/outcome.h"

#include "dsl/base/error.h"

namespace tilewright::autotune {
namespace {

constexpr OutcomeKind kEveryKind[] = {
    OutcomeKind::measured,    OutcomeKind::illegal,       OutcomeKind::build_failed, OutcomeKind::build_timed_out,
    OutcomeKind::run_crashed, OutcomeKind::run_timed_out, OutcomeKind::wrong_answer};

} // namespace

const char* outcome_name(OutcomeKind kind) {
    switch (kind) {
    case OutcomeKind::measured:
        return "measured";
    case OutcomeKind::illegal:
        return "illegal";
    case OutcomeKind::build_failed:
        return "build_failed";
    case OutcomeKind::build_timed_out:
        return "build_timed_out";
    case OutcomeKind::run_crashed:
        return "run_crashed";
    case OutcomeKind::run_timed_out:
        return "run_timed_out";
    case OutcomeKind::wrong_answer:
        return "wrong_answer";
    }
    throw InternalError("outcome: a kind without a name: " + std::to_string(static_cast<int>(kind)) + ".");
}

std::optional<OutcomeKind> try_outcome_kind(std::string_view name) {
    for (OutcomeKind kind : kEveryKind)
        if (name == outcome_name(kind)) return kind;
    return std::nullopt;
}

} // namespace tilewright::autotune
