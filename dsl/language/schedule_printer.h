// dsl/language/schedule_printer.h: printing without comments, for digests.
#pragma once

#include <string>

#include "dsl/language/schedule.h"

namespace tilewright::dsl {

std::string print_schedule(const Schedule& schedule, bool comments);

} // namespace tilewright::dsl
