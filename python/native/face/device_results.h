// python/native/face/device_results.h: new arrays of the library whose arrays a call was given.
#pragma once

#include "python/native/face/device_array.h"

namespace tilewright::face {

/// New memory of a library, by its table. Null with a Python error: MemoryError where that is what the table means.
dlpack::ManagedTensorVersioned* allocate(const dlpack::ExchangeApi& api, int device, int rank, dlpack::DataType dtype,
                                         std::int64_t* shape);

/// A result before its kernels are queued. `object` is what the caller gets, but for libraries that take it over later.
struct DeviceResult {
    Ref object;
    void* data = nullptr;
};

/// Where results are made: the stream is the one that the library of `like` computes on, or one of the caller's.
struct ResultPlace {
    const ArrayClass& like;
    const runtime::cuda::Place& place;
    bool is_library_stream;
};

/// C-contiguous, of the library of `like`, allocated by it where it lets us: PyTorch and CuPy; of others a DeviceArray.
/// Where the library finds no memory, our pool gives back what it keeps, and it is asked again.
/// False with a Python error.
bool new_result_like(const ResultPlace& at, DType dtype, int rank, const std::int64_t* shape, std::int64_t elements,
                     DeviceResult& result);

/// " PyTorch keeps 1024 bytes that no array of its uses: …", and so of CuPy, of libraries that are imported: what to do
/// where a device's memory is used up. No Python error may be set.
std::string unused_memory_of_libraries(int device);

/// The object for the caller, when the kernels that fill it are queued: Numba and JAX take the DeviceArray over. Null
/// with a Python error.
Ref hand_over(const ArrayClass& like, Ref made);

} // namespace tilewright::face
