// translator/plan/dependence_test.h: whether the trips of a loop may run at the same time.
#pragma once

#include <set>
#include <string>

#include "translator/plan/steps.h"

namespace tilewright::translator {

/// Buffers of no dimensions that each trip of a range makes and nothing else needs: each trip may have its own.
std::set<std::string> own_of_each_trip(const Stepped& stepped, const Step& range);

/// Why the trips of a range cannot run at the same time, "" where they can: every buffer that it writes has an axis
/// along which each trip keeps to a position of its own, in all that it writes and reads.
std::string why_not_independent(const Stepped& stepped, const Step& range);

} // namespace tilewright::translator
