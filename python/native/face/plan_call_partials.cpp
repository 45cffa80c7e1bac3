// python/native/face/plan_call_partials.cpp: calls of more elements than kernels can index that reduce their rows.
#include <algorithm>
#include <optional>

#include "python/native/face/call_parts.h"
#include "python/native/face/device_arguments.h"
#include "python/native/face/device_array.h"
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

bool read_numbers(PyObject* given, std::size_t limit, std::vector<std::size_t>& numbers) {
    Ref list(PySequence_List(given));
    for (Py_ssize_t k = 0; list && k < PyList_Size(list.get()); ++k) {
        numbers.push_back(PyLong_AsSize_t(PyList_GetItem(list.get(), k)));
        if (!PyErr_Occurred() && numbers.back() >= limit)
            PyErr_SetString(PyExc_ValueError, "rest: kept does not name a result.");
        if (PyErr_Occurred()) return false;
    }
    return bool(list);
}

} // namespace

bool LoadedPlan::load_partials(PyObject* objects, const Signature& signature, const Binding& binding) {
    if (!binding.partials || binding.partials == Py_None || !drawn_.empty()) return true;
    if (PyUnicode_Check(binding.partials)) {
        const char* text = PyUnicode_AsUTF8AndSize(binding.partials, nullptr);
        if (text) when_too_large_ = text;
        return text != nullptr;
    }
    PyObject *part = nullptr, *total = nullptr, *rows = nullptr, *stacks = nullptr, *rest = nullptr;
    if (!PyTuple_Check(binding.partials) ||
        !PyArg_ParseTuple(binding.partials, "OOOOO:partials", &part, &total, &rows, &stacks, &rest))
        return !PyErr_Occurred() &&
               fail(PyExc_TypeError, "partials: expected (part, total, rows, stacks, rest) or a text.");
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
    if (partial->sliced_.size() != row_names.size() || partial->returns_.size() != stack_names.size())
        return fail(g_plan_error, "plans of %s: the parts and their total do not belong together.", function_.c_str());
    partial_ = partial;
    parameters_ = signature.size();
    return rest == Py_None || load_rest(rest, objects, signature, binding);
}

bool LoadedPlan::load_rest(PyObject* rest, PyObject* objects, const Signature& signature, const Binding& binding) {
    PyObject *plan = nullptr, *handed = nullptr, *kept = nullptr, *partials = nullptr;
    if (!PyTuple_Check(rest) || !PyArg_ParseTuple(rest, "OOOO:rest", &plan, &handed, &kept, &partials))
        return !PyErr_Occurred() && fail(PyExc_TypeError, "rest: expected (plan, handed, kept, partials).");
    std::vector<std::string> names;
    if (!read_names(handed, names) || !read_numbers(kept, returns_.size(), kept_)) return false;
    handed_ = names.size();
    Signature extended = signature;
    for (const std::string& name : names)
        if (!extended.append(name)) return false;
    Binding own = binding;
    own.partials = partials;
    rest_ = make(plan, objects, function_, extended, own);
    if (!rest_) return false;
    const std::size_t of_rest = rest_->returns_.size(), of_total = total_->returns_.size();
    if (of_total != handed_ + kept_.size() || of_rest + kept_.size() != returns_.size())
        PyErr_Format(g_plan_error, "plans of %s: the total and the rest do not belong together.", function_.c_str());
    return !PyErr_Occurred();
}

LoadedPlan::Attempt LoadedPlan::call_by_partials(PyObject* const* values, PyObject* out, Freedom freedom,
                                                 Problem& problem, PyObject** result) const {
    const Py_ssize_t rows = partial_->rows_of(values, problem);
    if (rows < 2) return Attempt::no_match;
    const Problem stands = problem; // said of the whole arrays
    std::vector<Ref> stacks(partial_->returns_.size());
    Attempt attempt = partial_->run_parts(values, rows, true, freedom, problem, stacks);
    if (attempt != Attempt::done) return attempt;
    std::vector<PyObject*> of_total(values, values + parameters_);
    for (const Ref& stack : stacks)
        of_total.push_back(stack.get());
    // Arrays of libraries whose results we make ourselves have streams that the stacks do not know of.
    std::optional<CallsRunAt> there;
    PyObject* first = values[partial_->sources_[partial_->sliced_[0]].parameter];
    DeviceMemory* const stacked = memory_of_device_array(stacks[0].get());
    if (stacked && !memory_of_device_array(first)) there.emplace(stacked->place());
    attempt = rest_ ? call_with_rest(values, of_total.data(), out, freedom, problem, result)
                    : total_->call_whole(of_total.data(), out, freedom, &problem, result);
    there.reset();
    if (attempt == Attempt::no_match) problem = stands; // the caller did not pass these arguments
    return attempt == Attempt::done ? hand_over_results(first, out, result) : attempt;
}

bool LoadedPlan::take_out_apart(PyObject* const* values, PyObject* out, Ref& of_total, Ref& of_rest,
                                Attempt& attempt) const {
    attempt = Attempt::error;
    const std::size_t returns = returns_.size();
    if (!has_item_for_each(out)) return false;
    std::vector<PyObject*> first(handed_, Py_None), second;
    std::vector<Ref> given(returns);
    bool is_kept_given = false;
    for (std::size_t r = 0; r < returns; ++r) {
        PyObject* item = item_at(out, r);
        const bool is_kept = std::ranges::find(kept_, r) != kept_.end();
        if (PyArray_Check(item) || array_class_of(item)) given[r] = Ref::borrowed(item);
        is_kept_given = is_kept_given || (is_kept && item != Py_None);
        (is_kept ? first : second).push_back(item);
    }
    // The total writes while the rest has not read yet. The problem stands.
    attempt = Attempt::no_match;
    if (is_kept_given && shares_memory(values, given)) return false;
    const auto tuple_of = [](const std::vector<PyObject*>& items) {
        return put_together(true, items.size(), [&](std::size_t k) { return Ref::borrowed(items[k]); });
    };
    attempt = Attempt::error;
    of_total = tuple_of(first);
    of_rest = tuple_of(second);
    return of_total && of_rest;
}

LoadedPlan::Attempt LoadedPlan::call_with_rest(PyObject* const* values, PyObject* const* of_total, PyObject* out,
                                               Freedom freedom, Problem& problem, PyObject** result) const {
    Ref total_out, rest_out;
    Attempt attempt = Attempt::error;
    if (out && !take_out_apart(values, out, total_out, rest_out, attempt)) return attempt;
    PyObject *first = nullptr, *second = nullptr;
    attempt = total_->call_whole(of_total, total_out.get(), freedom, &problem, &first);
    const Ref from_total(first);
    if (attempt != Attempt::done) return attempt;
    std::vector<PyObject*> of_rest(values, values + parameters_);
    for (std::size_t k = 0; k < handed_; ++k)
        of_rest.push_back(item_at(first, k));
    attempt = rest_->call(of_rest.data(), rest_out.get(), freedom, &problem, &second);
    const Ref from_rest(second);
    if (attempt != Attempt::done) return attempt;
    std::size_t kept = 0;
    *result = put_together(executable_->plan().returns_tuple, returns_.size(), [&](std::size_t r) {
                  const bool is_kept = kept < kept_.size() && kept_[kept] == r;
                  return Ref::borrowed(is_kept ? item_at(first, handed_ + kept++) : item_at(second, r - kept));
              }).release();
    return *result ? Attempt::done : Attempt::error;
}

} // namespace tilewright::face
