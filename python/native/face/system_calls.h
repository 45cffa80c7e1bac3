// python/native/face/system_calls.h: NumPy's calls of small square matrices, which dsl/runtime/twins hands to LAPACK.
#pragma once

#include "python/native/face/twin_calls.h"

namespace tilewright::face {

/// numpy.linalg.inv(a)
Ref inverse(TwinCall given);
/// numpy.linalg.solve(a, b)
Ref solution(TwinCall given);
/// numpy.linalg.det(a)
Ref determinant(TwinCall given);

} // namespace tilewright::face
