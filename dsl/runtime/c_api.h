/* The C face of exported functions: arrays, error codes, threads. Part of every kernels.h. */
#ifndef TILEWRIGHT_C_API_H
#define TILEWRIGHT_C_API_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TW_MAX_RANK 8

enum tw_dtype {
    TW_BOOL,
    TW_INT8,
    TW_INT16,
    TW_INT32,
    TW_INT64,
    TW_UINT8,
    TW_UINT16,
    TW_UINT32,
    TW_UINT64,
    TW_FLOAT32,
    TW_FLOAT64,
    TW_COMPLEX64,
    TW_COMPLEX128,
    TW_FLOAT16 /* its bits, as uint16_t */
};

/* An array in the caller's memory. Strides are in bytes and may be negative or zero; results are C-contiguous. An
   argument that is not const is written: its elements share no memory with each other or with another array of the
   call. Complex elements lie as C's float _Complex and double _Complex. */
struct tw_array {
    void* data;
    int32_t dtype; /* enum tw_dtype */
    int32_t rank;
    int64_t shape[TW_MAX_RANK];
    int64_t strides[TW_MAX_RANK];
};

struct tw_complex64 {
    float re, im;
};
struct tw_complex128 {
    double re, im;
};

/* A function NAME that was built for CUDA devices is there as NAME_cuda too. It takes a stream first, a CUstream or
   cudaStream_t of the device's primary context (NULL: the legacy default stream), and arrays whose data are addresses
   of one device. It puts its work on the stream and returns; what goes wrong there later is an error of a later call.
   Structures, shapes and strides lie on the host and may go when it returns. */

enum tw_status {
    TW_OK = 0,
    TW_NEEDS_MEMORY = 1, /* a result's data is NULL: dtype, rank, shape and strides were filled in, nothing computed */
    TW_BAD_ARGUMENT = 2, /* a dtype, rank, shape or value that the function does not take */
    TW_NOT_SERVED = 3,   /* no compiled version for these sizes, layouts or this CPU */
    TW_OUT_OF_MEMORY = 4,
    TW_FAILED = 5,
    TW_CHECK_FAILED = 6, /* the data are none that the function computes with: an index out of bounds. No argument was
                            written; results may have been. */
    TW_DEVICE_ERROR = 7  /* there is no CUDA device, or it refused or reported something, perhaps of an earlier call */
};

/* Why the last call on this thread did not return TW_OK; valid until the next call. */
const char* tw_last_error(void);
/* Threads that calls may use in all; below 1 means the default (affinity, cgroup quota, OMP_NUM_THREADS). */
void tw_set_num_threads(int n);

/* A C-contiguous array over data. */
static inline struct tw_array tw_contiguous(void* data, enum tw_dtype dtype, int rank, const int64_t* shape) {
    static const int64_t bytes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 8, 16, 2};
    struct tw_array a;
    int64_t stride = bytes[dtype];
    int k;
    a.data = data;
    a.dtype = dtype;
    a.rank = rank;
    for (k = 0; k < TW_MAX_RANK; ++k)
        a.shape[k] = a.strides[k] = 0;
    for (k = rank - 1; k >= 0; --k) {
        a.shape[k] = shape[k];
        a.strides[k] = stride;
        stride *= shape[k];
    }
    return a;
}

#ifdef __cplusplus
}
#endif
#endif
