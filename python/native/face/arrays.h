// python/native/face/arrays.h: which Python objects a plan's arguments accept, and arrays for results.
#pragma once

#include <string>

#include "dsl/base/dtypes.h"
#include "dsl/runtime/executor.h"
#include "dsl/runtime/memory_range.h"
#include "python/native/face/numpy_api.h"

namespace tilewright::face {

/// NumPy's number of a dtype.
int numpy_type(DType dtype);
/// Whether a class of this module (or below it) and name, null for any, is among a class and its bases.
bool has_class(PyTypeObject* type, const char* module, const char* name);

/// The dtype of an array, byte order aside; false for one that plans do not know.
bool dtype_of(PyArrayObject* array, DType& dtype);

/// Why an object was not accepted.
enum class Mismatch { none, needs_copy, dtype, byte_order, rank, kind };

/// An exact ndarray of this dtype and rank that a kernel may read in place.
Mismatch check_array(PyObject* object, DType dtype, int rank);
inline void view_of(PyArrayObject* array, runtime::ArrayView& view) {
    static_assert(sizeof(npy_intp) == sizeof(std::int64_t));
    view.data = PyArray_DATA(array);
    view.shape = reinterpret_cast<const std::int64_t*>(PyArray_DIMS(array));
    view.strides = reinterpret_cast<const std::int64_t*>(PyArray_STRIDES(array));
}

/// np.asarray for what is no exact ndarray. Null with a TypeError for matrix, masked arrays and pandas.
Ref as_array(PyObject* object, const std::string& function, const std::string& name);
/// True for memory-mapped arrays: they are plain arrays in all but class.
bool is_memmap(PyObject* object);

/// Writes a scalar argument. `exact_type` null: what a module accepts (Python's number of that kind, or NumPy's scalar
/// of that dtype). False without a Python error when it is something else.
bool read_scalar(PyObject* object, DType dtype, PyTypeObject* exact_type, bool strict, unsigned char* to);

/// "float32[100, 2]", "list", for messages.
std::string describe(PyObject* object);
/// (100, 2); nothing with a Python error.
Ref tuple_of(const std::int64_t* extents, int rank);
/// "[100, 2]".
std::string extents_text(const std::int64_t* extents, int rank);
/// "float64[:, :]".
std::string describe(DType dtype, int rank);

/// Memory from this size on comes from the pool. Below, NumPy's own small-block cache is faster than setting an
/// allocator, and malloc keeps what is freed.
inline constexpr std::size_t kPoolFrom = 64u << 10;
/// Whether the pool may keep anything at all.
bool is_pooling();
/// A new C-contiguous array, large ones from the pool. Null with MemoryError.
PyArrayObject* new_result(DType dtype, int rank, const std::int64_t* shape, std::int64_t elements, bool* is_pooled);
/// Makes the allocator's capsule. False with a Python error.
bool prepare_allocator();

runtime::MemoryRange memory_of(PyArrayObject* array);
/// Whether the byte ranges of two arrays meet.
bool overlap(PyArrayObject* a, PyArrayObject* b);
/// Whether elements of `out` share memory with each other, with a ValueError: no order of writes is the right one.
bool refuse_overlapping_out(const std::string& function, PyObject* out);
/// Whether two out arrays have an element in common, with a ValueError: columns of one array have ranges that meet, and
/// no common element.
bool refuse_shared_out(const std::string& function, PyObject* out, PyObject* other);

} // namespace tilewright::face
