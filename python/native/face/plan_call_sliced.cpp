// python/native/face/plan_call_sliced.cpp: calls of more elements than kernels can index, in parts.
#include <alloca.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "python/native/face/call_parts.h"
#include "python/native/face/device_arguments.h"
#include "python/native/face/device_results.h"
#include "python/native/face/face_errors.h"

namespace tilewright::face {
namespace {

/// A part begins at a multiple of this many rows where it can: tiles and vectors then begin where they did.
constexpr Py_ssize_t kRows = 1 << 16;
/// A part that shows the shapes of the results.
constexpr Py_ssize_t kFirstRows = 64;

Ref part_of(PyObject* array, Py_ssize_t begin, Py_ssize_t end) {
    Ref from(PyLong_FromSsize_t(begin)), to(PyLong_FromSsize_t(end));
    Ref slice(from && to ? PySlice_New(from.get(), to.get(), nullptr) : nullptr);
    return Ref(slice ? PyObject_GetItem(array, slice.get()) : nullptr);
}

bool is_of_columns(PyObject* object) {
    if (!PyArray_Check(object)) return false;
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    bool is = false;
    for (int k = 1; k < PyArray_NDIM(array); ++k)
        is = is ||
             (PyArray_DIMS(array)[k] > 1 && std::abs(PyArray_STRIDES(array)[k]) > std::abs(PyArray_STRIDES(array)[0]));
    return is;
}

bool is_too_large(const Problem& problem) {
    return problem.kind == Problem::Kind::too_large || problem.kind == Problem::Kind::result_too_large;
}

} // namespace

LoadedPlan::Attempt LoadedPlan::call(PyObject* const* values, PyObject* out, Freedom freedom, Problem* problem,
                                     PyObject** result) const {
    if (executable_->plan().sliced.empty()) return call_whole(values, out, freedom, problem, result);
    Problem own;
    Problem& seen = problem ? *problem : own;
    const Attempt attempt = call_whole(values, out, freedom, &seen, result);
    if (attempt != Attempt::no_match || !is_too_large(seen)) return attempt;
    return call_in_parts(values, out, freedom, seen, result);
}

/// The values of a call with a part of each sliced argument.
class LoadedPlan::Part {
  public:
    Part(const LoadedPlan& plan, PyObject* const* values) : plan_(plan) {
        int last = -1;
        for (const Source& source : plan.sources_)
            last = std::max(last, source.parameter);
        for (const Fixed& fixed : plan.fixed_)
            last = std::max(last, fixed.parameter);
        values_.assign(values, values + last + 1);
    }

    /// False with a Python error.
    bool take(PyObject* const* values, Py_ssize_t begin, Py_ssize_t end) {
        owned_.clear();
        for (const std::size_t argument : plan_.executable_->plan().sliced) {
            const auto parameter = static_cast<std::size_t>(plan_.sources_[argument].parameter);
            Ref part = part_of(values[parameter], begin, end);
            // Of an array of columns the part reaches as far as the whole.
            if (part && is_of_columns(part.get()) && !plan_.executable_->plan().arguments[argument].written)
                part = Ref(PyArray_NewCopy(reinterpret_cast<PyArrayObject*>(part.get()), NPY_CORDER));
            if (!part) return false;
            owned_.push_back(std::move(part));
            values_[parameter] = owned_.back().get();
        }
        return true;
    }
    PyObject* const* values() const { return values_.data(); }

  private:
    const LoadedPlan& plan_;
    std::vector<PyObject*> values_;
    std::vector<Ref> owned_;
};

Py_ssize_t LoadedPlan::rows_of(PyObject* const* values) const {
    Py_ssize_t rows = -1;
    for (const std::size_t argument : executable_->plan().sliced) {
        const int parameter = sources_[argument].parameter;
        if (parameter < 0) return -1;
        const Py_ssize_t length = PyObject_Length(values[parameter]);
        if (length < 0) PyErr_Clear();
        if (length < 0 || (rows >= 0 && length != rows)) return -1;
        rows = length;
    }
    return rows;
}

Ref LoadedPlan::whole_result(std::size_t index, PyObject* first, Py_ssize_t rows, PyObject* const* values) const {
    const runtime::PlanBuffer& buffer = executable_->plan().results[index];
    std::int64_t shape[runtime::kMaxRank] = {rows}, elements = rows;
    const int rank = static_cast<int>(buffer.shape.size());
    Ref extents(PyObject_GetAttrString(first, "shape"));
    if (!extents) return Ref();
    for (int k = 1; k < rank; ++k) {
        Ref extent(PySequence_GetItem(extents.get(), k));
        shape[k] = extent ? PyLong_AsLongLong(extent.get()) : -1;
        if (PyErr_Occurred()) return Ref();
        elements *= shape[k];
    }
    if (PyArray_Check(first)) {
        bool is_pooled = false;
        return Ref(reinterpret_cast<PyObject*>(new_result(buffer.dtype, rank, shape, elements, &is_pooled)));
    }
    const std::size_t count = sources_.size();
    auto** arrays = static_cast<PyObject**>(alloca((count + 1) * sizeof(PyObject*)));
    RefArray owned(alloca((count + 1) * sizeof(PyObject*)), count);
    for (std::size_t i = 0; i < count; ++i)
        if (arrays[i] = object_of(i, values, owned[i]); !arrays[i]) arrays[i] = Py_None;
    DeviceArguments arguments(*this, arrays, alloca(DeviceArguments::bytes(count)));
    if (!arguments.read()) return Ref();
    DeviceResult fresh;
    const ResultPlace place{*arguments.view(arguments.leader()).of, arguments.place(), arguments.on_library_stream()};
    if (!new_result_like(place, buffer.dtype, rank, shape, elements, fresh)) return Ref();
    return std::move(fresh.object);
}

bool LoadedPlan::make_whole_results(PyObject* made, Py_ssize_t rows, PyObject* const* values,
                                    std::vector<Ref>& whole) const {
    std::vector<Ref> by_result(executable_->plan().results.size());
    for (std::size_t r = 0; r < whole.size(); ++r) {
        if (whole[r]) continue; // the caller's
        PyObject* first = PyTuple_Check(made) ? PyTuple_GetItem(made, static_cast<Py_ssize_t>(r)) : made;
        Ref& result = by_result[static_cast<std::size_t>(returns_[r].index)];
        if (!result) result = whole_result(static_cast<std::size_t>(returns_[r].index), first, rows, values);
        if (!result) return false;
        whole[r] = Ref::borrowed(result.get());
    }
    return true;
}

LoadedPlan::Attempt LoadedPlan::call_in_parts(PyObject* const* values, PyObject* out, Freedom freedom, Problem& problem,
                                              PyObject** result) const {
    const Py_ssize_t rows = rows_of(values);
    const std::size_t returns = returns_.size();
    const bool is_tuple = executable_->plan().returns_tuple;
    if (rows < 2 || (out && PyTuple_Check(out) != static_cast<int>(is_tuple))) return Attempt::no_match;
    if (out && is_tuple && PyTuple_Size(out) != static_cast<Py_ssize_t>(returns)) return Attempt::no_match;
    Part part(*this, values);
    std::vector<Ref> whole(returns), given(returns);
    for (std::size_t r = 0; r < returns && out; ++r) {
        PyObject* item = is_tuple ? PyTuple_GetItem(out, static_cast<Py_ssize_t>(r)) : out;
        if (item != Py_None) whole[r] = given[r] = Ref::borrowed(item);
        if (item != Py_None && PyObject_Length(item) != rows) return PyErr_Clear(), Attempt::no_match;
    }
    const bool has_all = std::all_of(whole.begin(), whole.end(), [](const Ref& each) { return bool(each); });
    if (!has_all) {
        PyObject* made = nullptr;
        if (!part.take(values, 0, std::min(rows, kFirstRows))) return Attempt::error;
        const Attempt attempt = call_whole(part.values(), nullptr, freedom, &problem, &made);
        if (attempt != Attempt::done) return attempt;
        const Ref first(made);
        if (!make_whole_results(made, rows, part.values(), whole)) return Attempt::error;
    }
    // As few parts as serve; nothing is written while the first one is too large.
    Py_ssize_t length = rows;
    for (Py_ssize_t begin = 0; begin < rows;) {
        const Py_ssize_t end = std::min(rows, begin + length);
        Ref to(is_tuple ? PyTuple_New(static_cast<Py_ssize_t>(returns)) : nullptr);
        for (std::size_t r = 0; r < returns; ++r) {
            Ref piece = part_of(whole[r].get(), begin, end);
            if (!piece) return Attempt::error;
            if (is_tuple)
                PyTuple_SetItem(to.get(), static_cast<Py_ssize_t>(r), piece.release());
            else
                to = std::move(piece);
        }
        if (!part.take(values, begin, end)) return Attempt::error;
        PyObject* made = nullptr;
        const Attempt attempt = call_whole(part.values(), to.get(), freedom, &problem, &made);
        const Ref done(made);
        if (attempt == Attempt::no_match && is_too_large(problem) && begin == 0 && length > 1) {
            length = (length + 1) / 2;
            if (length > kRows) length = (length + kRows - 1) / kRows * kRows;
            continue;
        }
        if (attempt != Attempt::done) return attempt;
        begin = end;
    }
    Ref all(is_tuple ? PyTuple_New(static_cast<Py_ssize_t>(returns)) : Py_NewRef(Py_None));
    for (std::size_t r = 0; r < returns; ++r) {
        const ArrayClass* like = array_class_of(values[sources_[executable_->plan().sliced[0]].parameter]);
        Ref item = given[r] || !like ? std::move(whole[r]) : hand_over(*like, std::move(whole[r]));
        if (!item) return Attempt::error;
        if (is_tuple)
            PyTuple_SetItem(all.get(), static_cast<Py_ssize_t>(r), item.release());
        else
            all = std::move(item);
    }
    *result = all.release();
    return Attempt::done;
}

} // namespace tilewright::face
