// dsl/schedule_printer.h: printing without comments, for digests.
#pragma once

#include <string>

#include "dsl/schedule.h"

namespace tilewright::dsl {

std::string print_schedule(const Schedule& schedule, bool comments);

} // namespace tilewright::dsl
