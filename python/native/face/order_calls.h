// python/native/face/order_calls.h: sorts of numbers that dsl/runtime/twins computes.
#pragma once

#include "python/native/face/twin_calls.h"

namespace tilewright::face {

/// Whether NumPy sorts numbers in vectors of 64 bytes on this processor.
bool sorts_in_vectors();

/// numpy.sort(a, axis=-1, kind=None, order=None, stable=None)
Ref sort(TwinCall given);
/// numpy.argsort(a, axis=-1, kind=None, order=None, stable=None)
Ref argsort(TwinCall given);
/// numpy.lexsort(keys, axis=-1)
Ref lexsort(TwinCall given);

} // namespace tilewright::face
