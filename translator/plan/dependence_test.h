// translator/plan/dependence_test.h: whether the iterations of a loop may run at the same time.
#pragma once

#include <set>
#include <string>

#include "translator/plan/steps.h"

namespace tilewright::translator {

/// Buffers of no dimensions that each iteration of a range makes and nothing else needs: each iteration may have its
/// own.
std::set<std::string> own_of_each_iteration(const Stepped& stepped, const Step& range);

/// Why the iterations of a range cannot run at the same time, "" where they can: every buffer that it writes has an
/// axis along which each iteration keeps to one position, in all that it writes and reads.
std::string why_not_independent(const Stepped& stepped, const Step& range);

} // namespace tilewright::translator
