// python/native/face/plan_call_stages.cpp: the stages of a plan that Python computes, between its kernels.
#include "python/native/face/plan_call_stages.h"

#include <algorithm>
#include <cstring>

#include "python/native/face/arrays.h"
#include "python/native/face/face_errors.h"

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

bool is_like(PyObject* object, const StageArray& a) {
    if (!PyArray_Check(object) || PyArray_NDIM(numpy_array(object)) != a.rank) return false;
    DType dtype;
    return dtype_of(numpy_array(object), dtype) && dtype == a.dtype &&
           std::equal(a.shape, a.shape + a.rank, PyArray_DIMS(numpy_array(object)));
}

} // namespace

bool LoadedPlan::load_stages(const Binding& binding) {
    for (const std::string& expression : executable_->stages()) {
        PyObject* const computes = binding.stages && PyDict_Check(binding.stages)
                                       ? PyDict_GetItemString(binding.stages, expression.c_str())
                                       : nullptr;
        stages_.push_back(Ref::borrowed(computes));
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
    const StageOutcome outcome = call_python(stages_[number].get(), arrays, count);
    if (times_) times_->each[number].add(now_ns() - start_ns);
    if (was_released) thread_.release_gil();
    return outcome;
}

StageOutcome StageCalls::call_python(PyObject* callee, const StageArray* arrays, int count) {
    const StageArray& wanted = arrays[count - 1];
    if (!held_) held_ = Ref(PyDict_New());
    const Ref given(PyTuple_New(count));
    if (!held_ || !given) return raised();
    PyTuple_SetItem(given.get(), 0, Ref::borrowed(held_.get()).release());
    for (int k = 0; k + 1 < count; ++k) {
        Ref view = view_of(arrays[k], false);
        if (!view) return raised();
        PyTuple_SetItem(given.get(), k + 1, view.release());
    }
    Ref result(PyObject_Call(callee, given.get(), nullptr));
    if (result && !PyArray_Check(result.get())) result = Ref(PyArray_FromAny(result.get(), nullptr, 0, 0, 0, nullptr));
    if (!result) return raised();
    if (!is_like(result.get(), wanted)) return StageOutcome::refused;
    const Ref memory = view_of(wanted, true);
    if (!memory || PyArray_CopyInto(numpy_array(memory.get()), numpy_array(result.get())) != 0) return raised();
    return StageOutcome::done;
}

Ref StageCalls::held(const void* number) const {
    std::int64_t key;
    std::memcpy(&key, number, sizeof key);
    const Ref name(PyUnicode_FromFormat("r%lld", static_cast<long long>(key)));
    PyObject* const found = name && held_ ? PyDict_GetItemWithError(held_.get(), name.get()) : nullptr;
    if (!found && !PyErr_Occurred()) PyErr_Format(g_plan_error, "no stage holds r%lld.", static_cast<long long>(key));
    return Ref::borrowed(found);
}

/// An Exception is NumPy's to raise again, at its place among the writes of the call; Ctrl-C ends the call.
StageOutcome StageCalls::raised() {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return StageOutcome::interrupted;
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback); // until now it may be text alone
    const Ref of_type(type), of_traceback(traceback);
    if (value && traceback) PyException_SetTraceback(value, traceback);
    error_ = Ref(value);
    return StageOutcome::refused;
}

} // namespace tilewright::face
