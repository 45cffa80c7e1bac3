// python/native/face/device_results.h: new arrays of the library whose arrays a call was given.
#pragma once

#include "python/native/face/device_array.h"

namespace tilewright::face {

/// A result before its kernels are queued. `object` is what the caller gets, but for libraries that take it over later.
struct DeviceResult {
    Ref object;
    void* data = nullptr;
};

/// C-contiguous, of the library of `like`, allocated by it where it lets us: PyTorch and CuPy; of others a DeviceArray.
/// False with a Python error.
bool new_result_like(const ArrayClass& like, const runtime::cuda::Place& place, runtime::DType dtype, int rank,
                     const std::int64_t* shape, std::int64_t elements, DeviceResult& result);

/// The object for the caller, when the kernels that fill it are queued: Numba and JAX take the DeviceArray over. Null
/// with a Python error.
Ref hand_over(const ArrayClass& like, Ref made);

} // namespace tilewright::face
