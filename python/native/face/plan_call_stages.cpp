// python/native/face/plan_call_stages.cpp: the stages of a plan that Python computes, between its kernels.
#include "python/native/face/plan_call_stages.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include "dsl/runtime/memory_range.h"
#include "python/native/face/arrays.h"
#include "python/native/face/face_errors.h"
#include "python/native/face/twins.h"

namespace tilewright::face {

using runtime::StageArray;
using runtime::StageOutcome;

namespace {

/// An array over the plan's own memory, which it does not own; of no dimensions, NumPy's scalar.
Ref view_of(const StageArray& a, bool is_result) {
    npy_intp shape[runtime::kMaxRank], strides[runtime::kMaxRank];
    std::copy_n(a.shape, a.rank, shape);
    std::copy_n(a.strides, a.rank, strides);
    Ref view(PyArray_New(&PyArray_Type, a.rank, shape, numpy_type(a.dtype), strides, a.data, 0,
                         is_result ? NPY_ARRAY_WRITEABLE : 0, nullptr));
    if (!view || is_result) return view;
    return Ref(PyArray_Return(numpy_array(view.release())));
}

/// An array of memory of its own with gaps where `a` has some: a gap is one element. What is contiguous, the order of
/// the axes, their directions and what they repeat are those of `a`, for what a function does may depend on them
/// (numpy.asfortranarray).
Ref copy_with_gaps(const StageArray& a) {
    const std::int64_t bytes = info(a.dtype).bytes;
    StageArray copy = a;
    std::vector<int> axes(static_cast<std::size_t>(a.rank));
    std::iota(axes.begin(), axes.end(), 0);
    std::ranges::sort(axes, {}, [&](int k) { return std::abs(a.strides[k]); });
    std::int64_t follows = bytes, end = bytes; // the stride without a gap: of `a`, of the copy
    std::int64_t first = 0, last = 0;          // bytes before and behind element 0
    for (const int k : axes) {
        if (a.shape[k] == 1 || a.strides[k] == 0) continue; // what is repeated stays so
        const std::int64_t given = std::abs(a.strides[k]), stride = given == follows ? end : end + bytes;
        follows = given * a.shape[k];
        end = stride * a.shape[k];
        copy.strides[k] = a.strides[k] > 0 ? stride : -stride;
        (a.strides[k] > 0 ? last : first) += stride * (a.shape[k] - 1);
    }
    npy_intp size = first + last + bytes;
    Ref memory(PyArray_New(&PyArray_Type, 1, &size, NPY_UINT8, nullptr, nullptr, 0, 0, nullptr));
    if (!memory) return {};
    copy.data = PyArray_BYTES(numpy_array(memory.get())) + first;
    Ref view = view_of(copy, true);
    if (!view || PyArray_SetBaseObject(numpy_array(view.get()), memory.release()) != 0) return {};
    return view;
}

/// An array of memory of its own that lies there as the plan's does.
Ref copy_of(const StageArray& a) {
    Ref view = view_of(a, false);
    if (!view || !PyArray_Check(view.get())) return view;
    auto* array = numpy_array(view.get());
    const bool has_gaps = !PyArray_IS_C_CONTIGUOUS(array) && !PyArray_IS_F_CONTIGUOUS(array);
    Ref copy = has_gaps ? copy_with_gaps(a) : Ref(PyArray_NewCopy(array, NPY_KEEPORDER));
    if (!copy || (has_gaps && PyArray_CopyInto(numpy_array(copy.get()), array) != 0)) return {};
    PyArray_CLEARFLAGS(numpy_array(copy.get()), NPY_ARRAY_WRITEABLE);
    return copy;
}

/// Whether two arrays lie in one place, by their lowest and highest addresses.
bool share_memory(std::span<const StageArray> arrays) {
    const auto memory = [](const StageArray& a) {
        return runtime::memory_of({a.data, a.shape, a.strides}, a.rank, info(a.dtype).bytes);
    };
    for (std::size_t k = 1; k < arrays.size(); ++k)
        for (std::size_t other = 0; other < k; ++other)
            if (memory(arrays[k]).meets(memory(arrays[other]))) return true;
    return false;
}

/// Whether anything but `given` refers to an array in it, or to memory of it.
bool is_kept(PyObject* given, int k) {
    PyObject* const item = PyTuple_GetItem(given, k);
    return PyArray_Check(item) && Py_REFCNT(item) > 1;
}

/// A view that somebody keeps: from now on it has memory of its own.
bool give_memory(PyArrayObject* view) {
    Ref copy(PyArray_NewCopy(view, NPY_KEEPORDER));
    if (!copy) return false;
    auto* const fields = reinterpret_cast<PyArrayObject_fields*>(view);
    fields->data = PyArray_BYTES(numpy_array(copy.get()));
    std::copy_n(PyArray_STRIDES(numpy_array(copy.get())), fields->nd, fields->strides);
    PyArray_UpdateFlags(view, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS);
    return PyArray_SetBaseObject(view, copy.release()) == 0;
}

} // namespace

bool LoadedPlan::load_stages(const Binding& binding) {
    for (const std::string& expression : executable_->stages()) {
        PyObject* const computes = binding.stages && PyDict_Check(binding.stages)
                                       ? PyDict_GetItemString(binding.stages, expression.c_str())
                                       : nullptr;
        stages_.emplace_back(Ref::borrowed(computes));
        if (!computes)
            return fail(g_plan_error, "plan of %s: there is nothing that computes its stage %s.",
                        executable_->plan().function.c_str(), expression.c_str());
    }
    if (!stages_.empty()) stage_times_ = std::make_unique<StageTimes>(stages_.size());
    return true;
}

LoadedPlan::LoadedPlan() = default;
LoadedPlan::~LoadedPlan() = default;

Ref LoadedPlan::stage_times() const {
    const auto pair = [](const RunTime& time) {
        return Ref(Py_BuildValue("(LL)", static_cast<long long>(time.calls), static_cast<long long>(time.ns)));
    };
    const Ref stages(PyDict_New());
    if (!stages) return {};
    for (std::size_t k = 0; k < stages_.size(); ++k) {
        const Ref time = pair(stage_times_->each[k]);
        if (!time || PyDict_SetItemString(stages.get(), executable_->stages()[k].c_str(), time.get()) != 0) return {};
    }
    const Ref whole = stage_times_ ? pair(stage_times_->whole) : pair({});
    return whole ? Ref(PyTuple_Pack(2, whole.get(), stages.get())) : Ref();
}

StageOutcome StageCalls::call(int stage, const StageArray* arrays, int count) {
    const bool was_released = thread_.released();
    const std::int64_t start_ns = times_ ? now_ns() : 0;
    thread_.take_gil();
    const auto number = static_cast<std::size_t>(stage);
    const StageOutcome outcome = compute(stages_[number], arrays, count);
    if (times_) times_->each[number].add(now_ns() - start_ns);
    if (was_released) thread_.release_gil();
    return outcome;
}

StageOutcome StageCalls::compute(const Stage& stage, const StageArray* arrays, int count) {
    if (!held_) held_ = Ref(PyDict_New());
    if (!held_) return raised();
    return stage.part ? stored(stage.part->store(held_.get(), arrays[count - 1])) : call_python(stage, arrays, count);
}

StageOutcome StageCalls::call_python(const Stage& stage, const StageArray* arrays, int count) {
    // Of those that share memory the callee has to see that they do.
    const bool is_copied =
        stage.keeps.load(std::memory_order_relaxed) && !share_memory({arrays, static_cast<std::size_t>(count - 1)});
    const Ref given(PyTuple_New(count));
    if (!given) return raised();
    PyTuple_SetItem(given.get(), 0, Ref::borrowed(held_.get()).release());
    for (int k = 0; k + 1 < count; ++k) {
        Ref view = is_copied ? copy_of(arrays[k]) : view_of(arrays[k], false);
        if (!view) return raised();
        PyTuple_SetItem(given.get(), k + 1, view.release());
    }
    Ref result;
    {
        const Destination destination(arrays, count);
        result = Ref(PyObject_Call(stage.callee.get(), given.get(), nullptr));
    }
    const bool is_stored = result && store_result(result.get(), arrays[count - 1]);
    if (!is_stored) return stored(false);
    result = Ref();
    bool keeps = false;
    for (int k = 1; k < count; ++k) {
        if (!is_kept(given.get(), k)) continue;
        keeps = true;
        if (!is_copied && !give_memory(numpy_array(PyTuple_GetItem(given.get(), k)))) return raised();
    }
    stage.keeps.store(keeps, std::memory_order_relaxed);
    return keeps && !is_copied ? StageOutcome::refused : StageOutcome::done; // parts of the view may be kept as well
}

Ref StageCalls::held(const void* number) const {
    std::int64_t key;
    std::memcpy(&key, number, sizeof key);
    const Ref name(PyUnicode_FromFormat("r%lld", static_cast<long long>(key)));
    PyObject* const found = name && held_ ? PyDict_GetItemWithError(held_.get(), name.get()) : nullptr;
    if (!found && !PyErr_Occurred()) PyErr_Format(g_plan_error, "no stage holds r%lld.", static_cast<long long>(key));
    return Ref::borrowed(found);
}

/// An Exception is NumPy's to raise again, at its place among the writes of the call; Ctrl-C ends the call, and so do
/// time limits.
StageOutcome StageCalls::raised() {
    if (!PyErr_ExceptionMatches(PyExc_Exception) || is_of_a_handler()) return StageOutcome::interrupted;
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback); // until now it may be text alone
    const Ref of_type(type), of_traceback(traceback);
    if (value && traceback) {
        PyException_SetTraceback(value, traceback);
        // Its frames have arrays over memory of this call.
        const Ref module(PyImport_ImportModule("traceback"));
        if (!module || !Ref(PyObject_CallMethod(module.get(), "clear_frames", "O", traceback))) PyErr_Clear();
    }
    error_ = Ref(value);
    return StageOutcome::refused;
}

} // namespace tilewright::face
