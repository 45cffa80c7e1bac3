// python/native/face/plan_call_partials.cpp: calls of more elements than kernels can index that reduce their rows.
#include "python/native/face/call_parts.h"
#include "python/native/face/call_rows.h"
#include "python/native/face/device_results.h"
#include "python/native/face/face_errors.h"

namespace tilewright::face {
namespace {

bool read_names(PyObject* given, std::vector<std::string>& names) {
    Ref list(PySequence_List(given));
    if (!list) return false;
    for (Py_ssize_t k = 0; k < PyList_Size(list.get()); ++k) {
        const char* text = PyUnicode_AsUTF8AndSize(PyList_GetItem(list.get(), k), nullptr);
        if (!text) return false;
        names.emplace_back(text);
    }
    return true;
}

/// Of what a call returns, or was given as `out`.
PyObject* item_at(PyObject* object, std::size_t index) {
    return PyTuple_Check(object) ? PyTuple_GetItem(object, static_cast<Py_ssize_t>(index)) : object;
}

} // namespace

bool LoadedPlan::load_partials(PyObject* objects, const Signature& signature, const Binding& binding) {
    if (!binding.partials || binding.partials == Py_None) return true;
    PyObject *part = nullptr, *total = nullptr, *rows = nullptr, *stacks = nullptr;
    if (!PyTuple_Check(binding.partials) ||
        !PyArg_ParseTuple(binding.partials, "OOOO:partials", &part, &total, &rows, &stacks)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "partials: expected (part, total, rows, stacks).");
        return false;
    }
    std::vector<std::string> row_names, stack_names;
    if (!read_names(rows, row_names) || !read_names(stacks, stack_names)) return false;
    Binding own = binding;
    own.partials = nullptr;
    const auto partial = std::const_pointer_cast<LoadedPlan>(make(part, objects, function_, signature, own));
    if (!partial) return false;
    const std::vector<runtime::PlanArgument>& arguments = partial->executable_->plan().arguments;
    for (const std::string& name : row_names)
        for (std::size_t i = 0; i < arguments.size(); ++i)
            if (arguments[i].name == name) partial->sliced_.push_back(i);
    // What the parts gave stands behind the function's own parameters.
    Signature extended = signature;
    for (const std::string& name : stack_names)
        if (!extended.append(name)) return false;
    total_ = make(total, objects, function_, extended, own);
    if (!total_) return false;
    if (partial->sliced_.size() != row_names.size() || partial->returns_.size() != stack_names.size()) {
        PyErr_Format(plan_error(), "plans of %s: the parts and their total do not belong together.", function_.c_str());
        return false;
    }
    partial_ = partial;
    parameters_ = signature.size();
    return true;
}

LoadedPlan::Attempt LoadedPlan::call_by_partials(PyObject* const* values, PyObject* out, Freedom freedom,
                                                 Problem& problem, PyObject** result) const {
    const Py_ssize_t rows = partial_->rows_of(values, problem);
    if (rows < 2) return Attempt::no_match;
    const Problem stands = problem; // said of the whole arrays
    const std::size_t count = partial_->returns_.size();
    std::vector<Ref> stacks(count);
    Part part(*partial_, values);
    Division cut{rows};
    Py_ssize_t done = 1;
    for (;; cut.make_finer()) { // as few parts as serve
        PyObject* object = nullptr;
        if (!part.take(values, 0, cut.begin_of(1))) return Attempt::error;
        const Attempt attempt = partial_->call_whole(part.values(), nullptr, freedom, &problem, &object);
        const Ref made(object);
        if (attempt == Attempt::no_match && is_too_large(problem) && cut.may_be_finer()) continue;
        if (attempt == Attempt::no_match && is_too_large(problem)) problem = stands;
        if (attempt != Attempt::done) return attempt;
        for (std::size_t r = 0; r < count; ++r) {
            const auto index = static_cast<std::size_t>(partial_->returns_[r].index);
            stacks[r] = partial_->whole_result(index, item_at(made.get(), r), cut.parts, part.values());
            if (!stacks[r]) return Attempt::error;
        }
        if (!copy_rows(made.get(), 1, stacks)) done = 0; // computed again, where they belong
        if (PyErr_Occurred()) return Attempt::error;
        break;
    }
    for (Py_ssize_t k = done; k < cut.parts; ++k) {
        Ref to;
        PyObject* object = nullptr;
        if (!part.take(values, cut.begin_of(k), cut.begin_of(k + 1))) return Attempt::error;
        if (!partial_->part_of_results(stacks, k, k + 1, to)) return Attempt::error;
        const Attempt attempt = partial_->call_whole(part.values(), to.get(), freedom, &problem, &object);
        const Ref made(object);
        if (attempt != Attempt::done) return attempt;
    }
    std::vector<PyObject*> of_total(values, values + parameters_);
    for (const Ref& stack : stacks)
        of_total.push_back(stack.get());
    const Attempt attempt = total_->call_whole(of_total.data(), out, freedom, &problem, result);
    if (attempt == Attempt::no_match) problem = stands; // its arguments are none of the caller's
    if (attempt != Attempt::done) return attempt;
    return hand_over_results(values, out, result) ? Attempt::done : Attempt::error;
}

bool LoadedPlan::hand_over_results(PyObject* const* values, PyObject* out, PyObject** result) const {
    const ArrayClass* like = array_class_of(values[partial_->sources_[partial_->sliced_[0]].parameter]);
    if (!like) return true;
    const Ref made(*result);
    *result = nullptr;
    Returned all(executable_->plan().returns_tuple, returns_.size());
    if (!all.is_made()) return false;
    for (std::size_t r = 0; r < returns_.size(); ++r) {
        Ref item = Ref::borrowed(item_at(made.get(), r));
        if (!out || item_at(out, r) != item.get()) item = hand_over(*like, std::move(item));
        if (!item) return false;
        all.put(r, std::move(item));
    }
    *result = all.release();
    return true;
}

} // namespace tilewright::face
