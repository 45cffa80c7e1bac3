// python/native/face/plan_call_sliced.cpp: calls of more elements than kernels can index, in parts.
#include <alloca.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <vector>

#include "dsl/runtime/element_count.h"
#include "dsl/runtime/memory_range.h"
#include "python/native/face/call_parts.h"
#include "python/native/face/device_arguments.h"
#include "python/native/face/device_results.h"
#include "python/native/face/face_errors.h"

namespace tilewright::face {
namespace {

/// Rows in parts of nearly one length, so that what serves the first one serves the others. The first is a longest one.
struct Division {
    /// Up to so many parts one more is tried, then twice as many: few arrays are so much too large.
    static constexpr Py_ssize_t kOneByOne = 16;
    Py_ssize_t rows, parts = 2;
    Py_ssize_t begin_of(Py_ssize_t k) const {
        return static_cast<Py_ssize_t>((static_cast<__int128>(rows) * k + parts - 1) / parts);
    }
    bool may_be_finer() const { return parts < rows; }
    void make_finer() { parts = std::min(rows, parts < kOneByOne ? parts + 1 : 2 * parts); }
};

Ref part_of(PyObject* array, Py_ssize_t begin, Py_ssize_t end) {
    const Ref from(PyLong_FromSsize_t(begin)), to(PyLong_FromSsize_t(end));
    const Ref rows(from && to ? PySlice_New(from.get(), to.get(), nullptr) : nullptr);
    return Ref(rows ? PyObject_GetItem(array, rows.get()) : nullptr);
}

bool is_of_columns(PyObject* object) {
    if (!PyArray_Check(object)) return false;
    auto* array = numpy_array(object);
    bool is = false;
    for (int k = 1; k < PyArray_NDIM(array); ++k)
        is = is ||
             (PyArray_DIMS(array)[k] > 1 && std::abs(PyArray_STRIDES(array)[k]) > std::abs(PyArray_STRIDES(array)[0]));
    return is;
}

bool is_too_large(const Problem& problem) {
    return problem.kind == Problem::Kind::too_large || problem.kind == Problem::Kind::result_too_large;
}

/// Where an array on a device lies. False where it does not say.
bool range_on_device(PyObject* object, runtime::MemoryRange& range) {
    const ArrayClass* its_class = array_class_of(object);
    DeviceView view;
    if (!its_class || !read_device_array(object, *its_class, nullptr, view)) return PyErr_Clear(), false;
    if (!view.has_dtype) return false;
    range = runtime::memory_of(view.array, view.rank, info(view.dtype).bytes);
    return true;
}

/// Whether two arrays share memory, or may.
bool share_memory(PyObject* a, PyObject* b) {
    if (PyArray_Check(a) && PyArray_Check(b)) return overlap(numpy_array(a), numpy_array(b));
    if (PyArray_Check(a) || PyArray_Check(b)) return false; // a host's and a device's
    runtime::MemoryRange first, second;
    return !range_on_device(a, first) || !range_on_device(b, second) || first.meets(second);
}

} // namespace

LoadedPlan::Attempt LoadedPlan::call(PyObject* const* values, PyObject* out, Freedom freedom, Problem* problem,
                                     PyObject** result, Found* found) const {
    if (sliced_.empty() && !partial_) return call_whole(values, out, freedom, problem, result, found);
    Problem own;
    Problem& seen = problem ? *problem : own;
    const Attempt attempt = call_whole(values, out, freedom, &seen, result, found);
    if (attempt != Attempt::no_match || !is_too_large(seen)) return attempt;
    // One array may be too large along what are rows of the results, another one along what is reduced.
    if (may_be_cut_for(seen)) return call_in_parts(values, out, freedom, seen, result);
    if (!partial_ || seen.kind != Problem::Kind::too_large) return attempt;
    return call_by_partials(values, out, freedom, seen, result);
}

bool LoadedPlan::may_be_cut_for(const Problem& problem) const {
    if (problem.kind == Problem::Kind::result_too_large) return !sliced_.empty();
    return problem.kind == Problem::Kind::too_large &&
           std::count(sliced_.begin(), sliced_.end(), static_cast<std::size_t>(problem.index)) != 0;
}

Py_ssize_t LoadedPlan::rows_of(PyObject* const* values, Problem& problem) const {
    const runtime::Plan& plan = executable_->plan();
    Py_ssize_t rows = -1;
    for (const std::size_t argument : sliced_) {
        const int parameter = sources_[argument].parameter;
        if (parameter < 0) return -1;
        const Py_ssize_t length = PyObject_Length(values[parameter]);
        if (length < 0) return PyErr_Clear(), -1;
        if (rows >= 0 && length != rows) {
            const std::string &first = plan.arguments[sliced_[0]].name, &other = plan.arguments[argument].name;
            problem.kind = Problem::Kind::guard;
            problem.text = other + ".shape[0] must equal " + first + ".shape[0], but they are " +
                           std::to_string(length) + " and " + std::to_string(rows) + ". Pass arrays whose sizes agree.";
            return -1;
        }
        rows = length;
    }
    return rows;
}

bool LoadedPlan::shares_memory(PyObject* const* values, const std::vector<Ref>& given) const {
    for (std::size_t k = 0; k < given.size(); ++k) {
        if (!given[k]) continue;
        for (std::size_t i = 0; i < sources_.size(); ++i) {
            PyObject* owned = nullptr;
            PyObject* object = executable_->plan().arguments[i].is_array ? object_of(i, values, owned) : nullptr;
            const Ref held(owned);
            if (object && share_memory(given[k].get(), object)) return true;
        }
        for (std::size_t other = 0; other < k; ++other)
            if (given[other] && share_memory(given[k].get(), given[other].get())) return true;
    }
    return false;
}

LoadedPlan::Attempt LoadedPlan::make_results(PyObject* const* values, Py_ssize_t rows, bool are_few, Problem& problem,
                                             std::vector<Ref>& whole) const {
    const runtime::Plan& plan = executable_->plan();
    const std::size_t count = sources_.size();
    auto** arrays = static_cast<PyObject**>(alloca((count + 1) * sizeof(PyObject*)));
    RefArray owned(alloca((count + 1) * sizeof(PyObject*)), count);
    for (std::size_t i = 0; i < count; ++i)
        if (arrays[i] = object_of(i, values, owned[i]); !arrays[i])
            return no_match(&problem, Problem::Kind::array, i, Py_None);
    DeviceArguments arguments(*this, arrays, alloca(DeviceViews::bytes(count)));
    if (!arguments.read()) return Attempt::error;
    const runtime::Executable::Frame frame = executable_->lay_out(alloca(executable_->frame_bytes()));
    for (std::size_t i = 0; i < count; ++i) {
        const runtime::PlanArgument& a = plan.arguments[i];
        if (!a.is_array) {
            if (!read_number(i, arrays[i], false, frame))
                return no_match(&problem, Problem::Kind::scalar, i, arrays[i]);
            continue;
        }
        const DeviceView& view = arguments.view(i);
        frame.arguments[i].array = view.array;
        int rank = view.rank;
        if (!view.array.shape) { // of the host
            Ref array = as_array(arrays[i], function_, a.name);
            if (!array) return Attempt::error;
            rank = PyArray_NDIM(numpy_array(array.get()));
            view_of(numpy_array(array.get()), frame.arguments[i].array);
            Py_XDECREF(owned[i]);
            arrays[i] = owned[i] = array.release();
        }
        if (rank != a.rank) return no_match(&problem, Problem::Kind::array, i, arrays[i]);
    }
    if (!has_sizes(frame, arrays, &problem)) return Attempt::no_match;
    if (!executable_->size_results(frame))
        return no_match(&problem, Problem::Kind::result_too_large, 0, nullptr, executable_->why_not_sized(frame));
    std::vector<Ref> made(plan.results.size());
    for (std::size_t r = 0; r < whole.size(); ++r) {
        if (whole[r]) continue; // the caller's
        const auto index = static_cast<std::size_t>(returns_[r].index);
        const DType dtype = plan.results[index].dtype;
        const std::size_t rank = plan.results[index].shape.size();
        std::int64_t* const shape = frame.results[index].shape;
        shape[0] = rows;
        if (are_few && runtime::count_elements(shape, rank, runtime::element_limit(dtype)) < 0)
            return no_match(&problem, Problem::Kind::none, 0, nullptr);
        if (!made[index]) made[index] = new_result_where(arguments, dtype, static_cast<int>(rank), shape);
        if (!made[index]) return Attempt::error;
        whole[r] = made[index];
    }
    return Attempt::done;
}

Ref LoadedPlan::new_result_where(const DeviceArguments& arguments, DType dtype, int rank,
                                 const std::int64_t* shape) const {
    const std::int64_t elements = std::accumulate(shape, shape + rank, std::int64_t{1}, std::multiplies<>());
    if (!arguments.on_device()) {
        bool is_pooled = false;
        return Ref(reinterpret_cast<PyObject*>(new_result(dtype, rank, shape, elements, &is_pooled)));
    }
    DeviceResult fresh;
    const ResultPlace place{*arguments.view(arguments.leader()).of, arguments.place(), arguments.on_library_stream()};
    if (!new_result_like(place, dtype, rank, shape, elements, fresh)) return name_memory_error(function_), Ref();
    return std::move(fresh.object);
}

bool LoadedPlan::take_out_of_rows(PyObject* out, Py_ssize_t rows, std::vector<Ref>& given) const {
    const std::size_t returns = given.size();
    if (!has_item_for_each(out)) return false;
    for (std::size_t r = 0; r < returns; ++r) {
        PyObject* item = item_at(out, r);
        if (item == Py_None) continue;
        const bool has_rows = (PyArray_Check(item) || array_class_of(item)) && PyObject_Length(item) == rows;
        if (!has_rows) {
            PyErr_Clear();
            error(PyExc_ValueError, "out is " + describe(item) + ", but the result has " + std::to_string(rows) +
                                        " rows. Pass an array of that.");
            return false;
        }
        for (std::size_t other = 0; other < r; ++other)
            if (given[other] && returns_[other].index != returns_[r].index &&
                refuse_shared_out(function_, item, given[other].get()))
                return false;
        given[r] = Ref::borrowed(item);
    }
    return true;
}

LoadedPlan::Attempt LoadedPlan::call_in_parts(PyObject* const* values, PyObject* out, Freedom freedom, Problem& problem,
                                              PyObject** result) const {
    const Py_ssize_t rows = rows_of(values, problem);
    if (rows < 2) return Attempt::no_match;
    const std::size_t returns = returns_.size();
    std::vector<Ref> given(returns);
    if (out && !take_out_of_rows(out, rows, given)) return Attempt::error;
    // What one part writes another one would read. The problem stands.
    if (shares_memory(values, given)) return Attempt::no_match;

    std::vector<Ref> whole = given;
    if (const Attempt attempt = run_parts(values, rows, false, freedom, problem, whole); attempt != Attempt::done)
        return attempt;
    *result = put_together(executable_->plan().returns_tuple, whole.size(), [&](std::size_t r) {
                  return whole[r];
              }).release();
    return hand_over_results(values[sources_[sliced_[0]].parameter], out, result);
}

LoadedPlan::Attempt LoadedPlan::run_parts(PyObject* const* values, Py_ssize_t rows, bool gives_rows, Freedom freedom,
                                          Problem& problem, std::vector<Ref>& whole) const {
    const Problem stands = problem; // said of the whole arrays
    const std::vector<Ref> given = whole;
    // The values of a call with a part of each sliced argument.
    int last = -1;
    for (const Source& source : sources_)
        last = std::max(last, source.parameter);
    for (const Fixed& fixed : fixed_)
        last = std::max(last, fixed.parameter);
    std::vector<PyObject*> of_part(values, values + last + 1);
    Division cut{rows};
    for (Py_ssize_t k = 0; k < cut.parts;) {
        const Py_ssize_t begin = cut.begin_of(k), end = cut.begin_of(k + 1);
        std::vector<Ref> owned;
        for (const std::size_t argument : sliced_) {
            const auto parameter = static_cast<std::size_t>(sources_[argument].parameter);
            Ref part = part_of(values[parameter], begin, end);
            // Of an array of columns the part reaches as far as the whole.
            if (part && is_of_columns(part.get()) && !executable_->plan().arguments[argument].written)
                part = Ref(PyArray_NewCopy(numpy_array(part.get()), NPY_KEEPORDER));
            if (!part) return Attempt::error;
            of_part[parameter] = part.get();
            owned.push_back(std::move(part));
        }
        Attempt attempt = Attempt::done;
        if (k == 0) attempt = make_results(of_part.data(), gives_rows ? cut.parts : rows, gives_rows, problem, whole);
        if (attempt == Attempt::done) {
            const auto its_rows = [&](std::size_t r) {
                return part_of(whole[r].get(), gives_rows ? k : begin, gives_rows ? k + 1 : end);
            };
            Ref to; // nothing where nothing is returned
            if (!whole.empty()) to = put_together(executable_->plan().returns_tuple, whole.size(), its_rows);
            if (!to && !whole.empty()) return Attempt::error;
            PyObject* made = nullptr;
            attempt = call_whole(of_part.data(), to.get(), freedom, &problem, &made);
            const Ref gone(made);
        }
        if (attempt == Attempt::done) {
            ++k;
            continue;
        }
        if (attempt == Attempt::no_match && k == 0 && may_be_cut_for(problem) && cut.may_be_finer()) {
            cut.make_finer(); // as few parts as serve
            whole = given;
            continue;
        }
        // Nobody may run it all again over what is written.
        if (attempt != Attempt::error && writes_arguments_ && k > 0)
            return error(PyExc_RuntimeError, "the call runs in " + std::to_string(cut.parts) +
                                                 " parts, and no version serves part " + std::to_string(k + 1) +
                                                 ": rows from " + std::to_string(begin) +
                                                 " on are not written. Call it with parts of the arguments.");
        // A guard that the whole call meets and a part does not is nothing that the caller can see to.
        const bool is_of_parts =
            is_too_large(problem) || problem.kind == Problem::Kind::guard || problem.kind == Problem::Kind::none;
        if (attempt == Attempt::no_match && is_of_parts) problem = stands;
        return attempt;
    }
    return Attempt::done;
}

LoadedPlan::Attempt LoadedPlan::hand_over_results(PyObject* first, PyObject* out, PyObject** result) const {
    const ArrayClass* like = array_class_of(first);
    if (!*result || !like || returns_.empty()) return *result ? Attempt::done : Attempt::error;
    const Ref made(*result);
    *result = put_together(executable_->plan().returns_tuple, returns_.size(), [&](std::size_t r) {
                  Ref item = Ref::borrowed(item_at(made.get(), r));
                  return out && item_at(out, r) == item.get() ? item : hand_over(*like, std::move(item));
              }).release();
    return *result ? Attempt::done : Attempt::error;
}

} // namespace tilewright::face
