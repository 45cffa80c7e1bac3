// dsl/code/run_schedule.h: walks a schedule directive by directive, on the model alone or on the Funcs as well.
#pragma once

#include "dsl/language/schedule.h"
#include "dsl/model/schedule_model.h"

namespace tilewright::dsl {

struct AlgorithmImpl;

/// Checks each directive against `model` and, where `algorithm` is given, applies it. Violations are collected in the
/// model; with an algorithm there must be none, and what Halide refuses on its own is thrown as ScheduleError.
void run_schedule(ScheduleModel& model, const Schedule& schedule, AlgorithmImpl* algorithm);

} // namespace tilewright::dsl
