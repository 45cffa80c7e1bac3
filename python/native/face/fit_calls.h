// python/native/face/fit_calls.h: least squares of many equations that dsl/runtime/twins makes small.
#pragma once

#include "python/native/face/twin_calls.h"

namespace tilewright::face {

/// numpy.linalg.lstsq(a, b, rcond=None)
Ref lstsq(TwinCall given);
/// numpy.polyfit(x, y, deg)
Ref polyfit(TwinCall given);

} // namespace tilewright::face
