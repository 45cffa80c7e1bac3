// python/native/face/recycled_memory.h: PyTorch's memory of small results, used again for the next ones.
#pragma once

#include "dsl/base/dtypes.h"
#include "dsl/runtime/cuda/device.h"
#include "python/native/face/device_types.h"

namespace tilewright::face {

/// An array of `like`'s library with memory of it that an earlier result of this stream has given up, or that is asked
/// for now; `data` is its address. Null without a Python error: this result cannot be served so. Null
/// with one: there is no memory. The place's stream is the one that the library computes on.
Ref recycled_array(const ArrayClass& like, const runtime::cuda::Place& place, DType dtype, int rank,
                   const std::int64_t* shape, std::int64_t elements, void*& data);

/// What is kept for the next results goes back to the library.
void drop_recycled();

} // namespace tilewright::face
