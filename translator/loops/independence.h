// translator/loops/independence.h: whether the trips of a loop may run at the same time.
#pragma once

#include <set>
#include <string>

#include "translator/loops/steps.h"

namespace tilewright::translator {

/// Buffers of no dimensions that each trip of a range makes and nothing else needs: each trip may have its own.
/// `elsewhere`: names that are used outside of the range.
std::set<std::string> own_of_each_trip(const Step& range, const std::set<std::string>& elsewhere);

/// Names of the buffers and arguments that steps read, write or exchange.
void collect_names(const std::vector<Step>& steps, std::set<std::string>& names);
void collect_names(const Step& step, std::set<std::string>& names);

/// Whether every buffer that the range writes has an axis along which each trip keeps to a position of its own, in all
/// that it writes and reads. `own`: memory that each trip, also of the loops inside, has for itself.
bool trips_are_independent(const Step& range, const std::set<std::string>& own);

} // namespace tilewright::translator
