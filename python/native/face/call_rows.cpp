// python/native/face/call_rows.cpp: parts of arrays along their first axes.
#include "python/native/face/call_rows.h"

#include <cstdlib>

namespace tilewright::face {
namespace {

bool is_of_columns(PyObject* object) {
    if (!PyArray_Check(object)) return false;
    auto* array = numpy_array(object);
    bool is = false;
    for (int k = 1; k < PyArray_NDIM(array); ++k)
        is = is ||
             (PyArray_DIMS(array)[k] > 1 && std::abs(PyArray_STRIDES(array)[k]) > std::abs(PyArray_STRIDES(array)[0]));
    return is;
}

} // namespace

bool read_shape(PyObject* array, int rank, std::int64_t* shape) {
    const Ref extents(PyObject_GetAttrString(array, "shape"));
    for (int k = 0; k < rank && extents; ++k) {
        const Ref extent(PySequence_GetItem(extents.get(), k));
        shape[k] = extent ? PyLong_AsLongLong(extent.get()) : -1;
        if (PyErr_Occurred()) return false;
    }
    return bool(extents);
}

Ref rows_between(Py_ssize_t begin, Py_ssize_t end) {
    Ref from(PyLong_FromSsize_t(begin)), to(PyLong_FromSsize_t(end));
    return Ref(from && to ? PySlice_New(from.get(), to.get(), nullptr) : nullptr);
}

Ref part_of(PyObject* array, Py_ssize_t begin, Py_ssize_t end) {
    Ref rows = rows_between(begin, end);
    return Ref(rows ? PyObject_GetItem(array, rows.get()) : nullptr);
}

LoadedPlan::Part::Part(const LoadedPlan& plan, PyObject* const* values) : plan_(plan) {
    int last = -1;
    for (const Source& source : plan.sources_)
        last = std::max(last, source.parameter);
    for (const Fixed& fixed : plan.fixed_)
        last = std::max(last, fixed.parameter);
    values_.assign(values, values + last + 1);
}

bool LoadedPlan::Part::take(PyObject* const* values, Py_ssize_t begin, Py_ssize_t end) {
    owned_.clear();
    for (const std::size_t argument : plan_.sliced_) {
        const auto parameter = static_cast<std::size_t>(plan_.sources_[argument].parameter);
        Ref part = part_of(values[parameter], begin, end);
        // Of an array of columns the part reaches as far as the whole.
        if (part && is_of_columns(part.get()) && !plan_.executable_->plan().arguments[argument].written)
            part = Ref(PyArray_NewCopy(numpy_array(part.get()), NPY_KEEPORDER));
        if (!part) return false;
        owned_.push_back(std::move(part));
        values_[parameter] = owned_.back().get();
    }
    return true;
}

} // namespace tilewright::face
