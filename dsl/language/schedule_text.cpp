// dsl/language/schedule_text.cpp: what identifies a schedule.
#include "dsl/language/schedule_text.h"

#include "dsl/base/digest.h"
#include "dsl/language/schedule_printer.h"

namespace tilewright::dsl {

std::string schedule_digest(const Schedule& schedule) {
    return digest(print_schedule(schedule, false));
}

} // namespace tilewright::dsl
