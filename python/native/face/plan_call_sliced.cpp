// python/native/face/plan_call_sliced.cpp: calls of more elements than kernels can index, in parts.
#include <alloca.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "dsl/runtime/memory_range.h"
#include "python/native/face/call_parts.h"
#include "python/native/face/call_rows.h"
#include "python/native/face/device_arguments.h"
#include "python/native/face/device_results.h"
#include "python/native/face/face_errors.h"

namespace tilewright::face {
namespace {

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
                                     PyObject** result) const {
    if (sliced_.empty() && !partial_) return call_whole(values, out, freedom, problem, result);
    Problem own;
    Problem& seen = problem ? *problem : own;
    const Attempt attempt = call_whole(values, out, freedom, &seen, result);
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

Ref LoadedPlan::whole_result(std::size_t index, const std::int64_t* shape, PyObject* const* values) const {
    const runtime::PlanBuffer& buffer = executable_->plan().results[index];
    const int rank = static_cast<int>(buffer.shape.size());
    std::int64_t elements = 1;
    for (int k = 0; k < rank; ++k)
        elements *= shape[k];
    const std::size_t count = sources_.size();
    auto** arrays = static_cast<PyObject**>(alloca((count + 1) * sizeof(PyObject*)));
    RefArray owned(alloca((count + 1) * sizeof(PyObject*)), count);
    for (std::size_t i = 0; i < count; ++i)
        if (arrays[i] = object_of(i, values, owned[i]); !arrays[i]) arrays[i] = Py_None;
    DeviceArguments arguments(*this, arrays, alloca(DeviceViews::bytes(count)));
    if (!arguments.read()) return Ref();
    if (!arguments.on_device()) {
        bool is_pooled = false;
        return Ref(reinterpret_cast<PyObject*>(new_result(buffer.dtype, rank, shape, elements, &is_pooled)));
    }
    DeviceResult fresh;
    const ResultPlace place{*arguments.view(arguments.leader()).of, arguments.place(), arguments.on_library_stream()};
    if (!new_result_like(place, buffer.dtype, rank, shape, elements, fresh)) return name_memory_error(function_), Ref();
    return std::move(fresh.object);
}

bool LoadedPlan::make_whole_results(PyObject* made, Py_ssize_t rows, PyObject* const* values,
                                    std::vector<Ref>& whole) const {
    std::vector<Ref> by_result(executable_->plan().results.size());
    for (std::size_t r = 0; r < whole.size(); ++r) {
        if (whole[r]) continue; // the caller's
        PyObject* first = item_at(made, r);
        const auto index = static_cast<std::size_t>(returns_[r].index);
        std::int64_t shape[runtime::kMaxRank] = {};
        if (!read_shape(first, static_cast<int>(executable_->plan().results[index].shape.size()), shape)) return false;
        shape[0] = rows;
        Ref& result = by_result[index];
        if (!result) result = whole_result(index, shape, values);
        if (!result) return false;
        whole[r] = Ref::borrowed(result.get());
    }
    return true;
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

    const Problem stands = problem; // said of the whole arrays
    std::vector<Ref> whole = given;
    Part part(*this, values);
    const bool has_all = std::all_of(whole.begin(), whole.end(), [](const Ref& each) { return bool(each); });
    Py_ssize_t done = 0;
    Division cut{rows};
    auto run = [&](Py_ssize_t k, bool into_whole, Ref& made) {
        Ref to;
        const Py_ssize_t begin = cut.begin_of(k), end = cut.begin_of(k + 1);
        if (!part.take(values, begin, end)) return Attempt::error;
        if (into_whole && !part_of_results(whole, begin, end, to)) return Attempt::error;
        PyObject* object = nullptr;
        const Attempt attempt = call_whole(part.values(), to.get(), freedom, &problem, &object);
        made = Ref(object);
        return attempt;
    };
    for (;; cut.make_finer()) { // as few parts as serve
        Ref made;
        const Attempt attempt = run(0, has_all, made);
        if (attempt == Attempt::no_match && may_be_cut_for(problem) && cut.may_be_finer()) continue;
        // A guard that the whole call meets and a part does not is nothing that the caller can see to.
        if (attempt == Attempt::no_match && (is_too_large(problem) || problem.kind == Problem::Kind::guard))
            problem = stands;
        if (attempt != Attempt::done) return attempt;
        done = 1;
        if (!has_all) {
            if (!make_whole_results(made.get(), rows, part.values(), whole)) return Attempt::error;
            if (!copy_rows(made.get(), cut.begin_of(1), whole)) done = 0; // computed again, where they belong
            if (PyErr_Occurred()) return Attempt::error;
        }
        break;
    }
    for (Py_ssize_t k = done; k < cut.parts; ++k) {
        Ref made;
        const Attempt attempt = run(k, true, made);
        if (attempt == Attempt::done) continue;
        // Nobody may run it all again over what is written.
        if (attempt != Attempt::error && writes_arguments_ && k > 0)
            return error(PyExc_RuntimeError, "the call runs in " + std::to_string(cut.parts) +
                                                 " parts, and no version serves part " + std::to_string(k + 1) +
                                                 ": rows from " + std::to_string(cut.begin_of(k)) +
                                                 " on are not written. Call it with parts of the arguments.");
        if (attempt == Attempt::no_match && problem.kind == Problem::Kind::guard) problem = stands;
        return attempt;
    }
    const ArrayClass* like = array_class_of(values[sources_[sliced_[0]].parameter]);
    *result = put_together(executable_->plan().returns_tuple, returns, [&](std::size_t r) {
                  return given[r] || !like ? std::move(whole[r]) : hand_over(*like, std::move(whole[r]));
              }).release();
    return *result ? Attempt::done : Attempt::error;
}

bool LoadedPlan::part_of_results(const std::vector<Ref>& whole, Py_ssize_t begin, Py_ssize_t end, Ref& to) const {
    if (whole.empty()) return true; // no out
    to = put_together(executable_->plan().returns_tuple, whole.size(),
                      [&](std::size_t r) { return part_of(whole[r].get(), begin, end); });
    return static_cast<bool>(to);
}

bool LoadedPlan::copy_rows(PyObject* made, Py_ssize_t rows, const std::vector<Ref>& whole) {
    for (std::size_t r = 0; r < whole.size(); ++r) {
        Ref place = rows_between(0, rows);
        if (!place) return false;
        if (PyObject_SetItem(whole[r].get(), place.get(), item_at(made, r)) == 0) continue;
        // Of a class whose arrays are not written so.
        if (PyErr_ExceptionMatches(PyExc_TypeError)) PyErr_Clear();
        return false;
    }
    return true;
}

} // namespace tilewright::face
