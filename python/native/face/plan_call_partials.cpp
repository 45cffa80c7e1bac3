// python/native/face/plan_call_partials.cpp: calls of more elements than kernels can index that reduce their rows.
#include <alloca.h>

#include <algorithm>
#include <array>
#include <optional>

#include "dsl/runtime/element_count.h"
#include "python/native/face/call_parts.h"
#include "python/native/face/call_rows.h"
#include "python/native/face/device_arguments.h"
#include "python/native/face/device_array.h"
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
    if (!binding.partials || binding.partials == Py_None) return true;
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

bool LoadedPlan::make_stacks(PyObject* const* values, Py_ssize_t parts, std::vector<Ref>& stacks) const {
    stacks.clear();
    const runtime::Plan& plan = executable_->plan();
    const runtime::Executable::Frame frame = executable_->lay_out(alloca(executable_->frame_bytes()));
    static constexpr std::int64_t kNoStrides[runtime::kMaxRank] = {};
    std::vector<std::array<std::int64_t, runtime::kMaxRank>> shapes(sources_.size());
    for (std::size_t i = 0; i < sources_.size(); ++i) {
        PyObject* owned = nullptr;
        PyObject* object = object_of(i, values, owned);
        const Ref held(owned);
        const runtime::PlanArgument& a = plan.arguments[i];
        if (!object) return true;
        if (!a.is_array) {
            if (!read_number(i, object, false, frame)) return true;
            continue;
        }
        Ref array; // of a list
        if (!PyArray_Check(object) && !array_class_of(object)) {
            array = as_array(object, function_, a.name);
            if (!array) return false;
            object = array.get();
        }
        if (!read_shape(object, a.rank, shapes[i].data())) return PyErr_Clear(), true;
        frame.arguments[i].array = {nullptr, shapes[i].data(), kNoStrides};
    }
    int large = -1;
    if (!executable_->read_sizes(frame, large) || !executable_->size_results(frame)) return true;
    std::vector<Ref> made;
    for (const Return& each : returns_) {
        const runtime::CallResult& result = frame.results[each.index];
        const std::size_t rank = plan.results[static_cast<std::size_t>(each.index)].shape.size();
        std::int64_t shape[runtime::kMaxRank] = {};
        std::copy_n(result.shape, rank, shape);
        shape[0] = parts;
        const DType dtype = plan.results[static_cast<std::size_t>(each.index)].dtype;
        if (runtime::count_elements(shape, rank, runtime::element_limit(dtype)) < 0) return true;
        made.push_back(whole_result(static_cast<std::size_t>(each.index), shape, values));
        if (!made.back()) return false;
    }
    stacks = std::move(made);
    return true;
}

bool LoadedPlan::read_place(PyObject* const* values, runtime::cuda::Place& place) const {
    const std::size_t count = sources_.size();
    auto** arrays = static_cast<PyObject**>(alloca((count + 1) * sizeof(PyObject*)));
    RefArray owned(alloca((count + 1) * sizeof(PyObject*)), count);
    for (std::size_t i = 0; i < count; ++i)
        if (arrays[i] = object_of(i, values, owned[i]); !arrays[i]) arrays[i] = Py_None;
    DeviceArguments arguments(*this, arrays, alloca(DeviceViews::bytes(count)));
    if (!arguments.read()) return false;
    place = arguments.place();
    return true;
}

LoadedPlan::Attempt LoadedPlan::call_by_partials(PyObject* const* values, PyObject* out, Freedom freedom,
                                                 Problem& problem, PyObject** result) const {
    const Py_ssize_t rows = partial_->rows_of(values, problem);
    if (rows < 2) return Attempt::no_match;
    const Problem stands = problem; // said of the whole arrays
    std::vector<Ref> stacks;
    Part part(*partial_, values);
    Division cut{rows};
    for (Py_ssize_t k = 0; k < cut.parts;) {
        Ref to;
        PyObject* object = nullptr;
        if (!part.take(values, cut.begin_of(k), cut.begin_of(k + 1))) return Attempt::error;
        if (k == 0 && !partial_->make_stacks(part.values(), cut.parts, stacks)) return Attempt::error;
        if (!stacks.empty() && !partial_->part_of_results(stacks, k, k + 1, to)) return Attempt::error;
        const Attempt attempt = stacks.empty()
                                    ? Attempt::no_match
                                    : partial_->call_whole(part.values(), to.get(), freedom, &problem, &object);
        const Ref made(object);
        if (attempt == Attempt::done) {
            ++k;
            continue;
        }
        if (attempt != Attempt::no_match || k > 0 || !is_too_large(problem)) return attempt;
        const bool helps = stacks.empty() || partial_->may_be_cut_for(problem);
        problem = stands;
        if (!helps || !cut.may_be_finer()) return Attempt::no_match;
        cut.make_finer(); // as few parts as serve
    }
    std::vector<PyObject*> of_total(values, values + parameters_);
    for (const Ref& stack : stacks)
        of_total.push_back(stack.get());
    // Arrays of libraries whose results we make ourselves have streams that the stacks do not know of.
    std::optional<CallsRunAt> there;
    runtime::cuda::Place place;
    PyObject* first = values[partial_->sources_[partial_->sliced_[0]].parameter];
    if (memory_of_device_array(stacks[0].get()) && !memory_of_device_array(first)) {
        if (!partial_->read_place(values, place)) return Attempt::error;
        there.emplace(place);
    }
    const Attempt attempt = rest_ ? call_with_rest(values, of_total.data(), out, freedom, problem, result)
                                  : total_->call_whole(of_total.data(), out, freedom, &problem, result);
    there.reset();
    if (attempt == Attempt::no_match) problem = stands; // the caller did not pass these arguments
    if (attempt != Attempt::done) return attempt;
    return hand_over_results(values, out, result) ? Attempt::done : Attempt::error;
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

bool LoadedPlan::hand_over_results(PyObject* const* values, PyObject* out, PyObject** result) const {
    const ArrayClass* like = array_class_of(values[partial_->sources_[partial_->sliced_[0]].parameter]);
    if (!like || returns_.empty()) return true;
    const Ref made(*result);
    *result = nullptr;
    *result = put_together(executable_->plan().returns_tuple, returns_.size(), [&](std::size_t r) {
                  Ref item = Ref::borrowed(item_at(made.get(), r));
                  return out && item_at(out, r) == item.get() ? item : hand_over(*like, std::move(item));
              }).release();
    return *result != nullptr;
}

} // namespace tilewright::face
