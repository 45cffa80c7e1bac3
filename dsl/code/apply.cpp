// dsl/code/apply.cpp: a schedule onto an algorithm's Funcs.
#include "dsl/code/apply.h"

#include "dsl/base/error.h"
#include "dsl/check/check.h"
#include "dsl/code/emit.h"
#include "dsl/code/run_schedule.h"
#include "dsl/model/algorithm_impl.h"

namespace tilewright::dsl {

std::map<int, Preconditions> preconditions(const AlgorithmInfo& algorithm, const Schedule& schedule) {
    ScheduleModel model(algorithm, schedule.target, false);
    run_schedule(model, schedule, nullptr);
    return std::move(model.preconditions);
}

void apply(Algorithm& algorithm, const Schedule& schedule, bool guard_tails) {
    const auto violations = check(algorithm.info(), schedule);
    if (!violations.empty()) throw ScheduleError(violations.front().text());
    ScheduleModel model(algorithm.info(), schedule.target, guard_tails);
    run_schedule(model, schedule, &algorithm.impl());
    if (!model.violations.empty()) {
        throw InternalError("a schedule passed check() and failed in apply(): " + model.violations.front().text());
    }
}

} // namespace tilewright::dsl
