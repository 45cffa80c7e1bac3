// python/native/face/dispatcher.cpp: class Dispatcher, the base of jit objects: plans first, then the Python method
// _miss.
#include <alloca.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "python/native/face/call_parts.h"
#include "python/native/face/device_context.h"
#include "python/native/face/face_errors.h"
#include "python/native/face/face_types.h"
#include "python/native/face/measured_calls.h"
#include "python/native/face/plan_call.h"
#include "python/native/face/result_form.h"
#include "python/native/face/stayed_calls.h"
#include "python/native/face/vector_calls.h"

namespace tilewright::face {
namespace {

/// A plan, and what makes the function's result of the tuple that it gives, and of the caller's objects whose
/// attributes it sets; null where that is the result.
struct Entry {
    std::shared_ptr<const LoadedPlan> plan;
    std::shared_ptr<const ResultForm> form;
    std::vector<std::size_t> objects{}; ///< places
    bool may_repeat = false;            ///< whether NumPy may run a call that raised something
};

struct Plans {
    std::string name;
    Signature signature;
    std::vector<std::shared_ptr<const Entry>> list;
    StayedCalls stayed;
    Ref measured; ///< what makes calls that are measured; null where none are
};

struct DispatcherObject {
    PyObject_HEAD VectorFunction vector_call;
    Plans* plans;
    unsigned long long calls, misses, timed_calls, took_ns;
    MeasuredCalls in_python;
    char copy_layouts, copies_to_device, takes_out, is_timed;
    char is_hot, is_given_up, stays_here; ///< calls are measured while it is none of these
    char is_new;                          ///< `_begin` comes before its first call
    unsigned rested_misses; ///< of the next calls that no plan serves: Python makes them, and nobody is asked
};

Plans& plans_of(PyObject* self) {
    return *reinterpret_cast<DispatcherObject*>(self)->plans;
}

PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* call_vector(PyObject* self, PyObject* const* items, std::size_t bits, PyObject* names);

PyObject* create(PyTypeObject* type, PyObject*, PyObject*) {
    PyObject* self = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self) return nullptr;
    reinterpret_cast<DispatcherObject*>(self)->plans = new Plans;
    reinterpret_cast<DispatcherObject*>(self)->vector_call = call_vector;
    take_vector_calls(type, call);
    return self;
}

int initialize(PyObject* self, PyObject* args, PyObject* kwargs) {
    static const char* kNames[] = {"name", "parameters", nullptr};
    const char* name = nullptr;
    PyObject* parameters = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sO:Dispatcher", const_cast<char**>(kNames), &name, &parameters))
        return -1;
    Signature signature;
    if (!signature.read(name, parameters, g_missing)) return -1;
    Plans& plans = plans_of(self);
    plans.name = name;
    plans.signature = std::move(signature);
    plans.list.clear();
    plans.stayed.clear();
    return 0;
}

/// Of a context variable, here and now. PyContextVar_Get is in CPython since 3.7, but not in its stable ABI.
Ref value_of_variable(PyObject* variable) {
    using Get = int (*)(PyObject*, PyObject*, PyObject**);
    static const auto get = reinterpret_cast<Get>(dlsym(RTLD_DEFAULT, "PyContextVar_Get"));
    PyObject* value = nullptr;
    if (variable && get && get(variable, nullptr, &value) == 0) return Ref(value);
    PyErr_Clear();
    static PyObject* const method = variable ? PyObject_GetAttrString(variable, "get") : nullptr;
    value = method ? PyObject_CallNoArgs(method) : nullptr;
    PyErr_Clear();
    return Ref(value);
}

/// Whether np.errstate or np.seterr asks for exceptions here and now: kernels raise none, so NumPy has to run the call.
/// NumPy keeps the setting in one object per change; the last one that was seen to be harmless needs no second look.
bool numpy_raises() {
    static PyObject *variable = nullptr, *geterr = nullptr, *harmless = nullptr;
    kept_or_nothing(variable, "numpy._core.umath", "_extobj_contextvar");
    kept_or_nothing(geterr, "numpy", "geterr");
    Ref now = value_of_variable(variable);
    if (now && now.get() == harmless) return false;
    Ref settings(geterr ? PyObject_CallNoArgs(geterr) : nullptr);
    if (!settings || !PyDict_Check(settings.get())) {
        PyErr_Clear();
        return false;
    }
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(settings.get(), &at, &key, &value);)
        if (PyUnicode_Check(value) && PyUnicode_CompareWithASCIIString(value, "raise") == 0) return true;
    if (now) {
        Py_XDECREF(harmless);
        harmless = now.release();
    }
    return false;
}

/// One try of one plan. done: `result` is the function's, or null with an error of making it.
LoadedPlan::Attempt try_plan(const Entry& entry, PyObject* const* values, PyObject* out, Freedom freedom,
                             PyObject*& result) {
    const LoadedPlan& plan = *entry.plan;
    if (!entry.form) return plan.call(values, out, freedom, nullptr, &result);
    // The objects as they are found when the call begins: what the plan's stages call may bind others.
    const std::size_t count = entry.objects.size();
    RefArray objects(alloca((count + 1) * sizeof(PyObject*)), count);
    Found found(plan.outside(), values, alloca(Found::bytes(plan.outside())));
    for (std::size_t k = 0; k < count; ++k)
        if (objects[k] = Py_XNewRef(found.at(entry.objects[k])); !objects[k]) return LoadedPlan::Attempt::no_match;
    const auto attempt = plan.call(values, out, freedom, nullptr, &result, &found);
    if (attempt != LoadedPlan::Attempt::done) return attempt;
    const Ref made(result);
    result = entry.form->result_of(made.get(), objects.items(), count);
    return attempt;
}

/// Serves the call in C; null without an error when Python has to. `unchecked`: for the data that it has.
PyObject* serve(PyObject* self, const RawCall& call, bool& unchecked) {
    auto* object = reinterpret_cast<DispatcherObject*>(self);
    Plans& plans = *object->plans;
    if (plans.list.empty() || numpy_raises()) return nullptr;
    auto** values = static_cast<PyObject**>(alloca((plans.signature.size() + 1) * sizeof(PyObject*)));
    PyObject *out = nullptr, *result = nullptr;
    Gathered gathered;
    if (!plans.signature.bind(call, values, &out, gathered, false)) return nullptr;
    for (int pass = 0; pass <= object->copy_layouts; ++pass)
        for (std::size_t i = 0; i < plans.list.size(); ++i) {
            // By index and with a reference: other threads, and Python's code that a look at a place runs, may add,
            // replace or forget plans meanwhile.
            const std::shared_ptr<const Entry> entry = plans.list[i];
            if (!entry->plan->usable() || (entry->form && out)) continue; // Python copies into `out`, item by item
            const Freedom freedom{true, pass == 1, object->copies_to_device != 0};
            const auto attempt = try_plan(*entry, values, out, freedom, result);
            if (attempt == LoadedPlan::Attempt::done) return result;
            if (attempt == LoadedPlan::Attempt::no_match) continue;
            // What raised stands behind attributes that are set, perhaps: NumPy sets those, and raises it.
            unchecked = attempt == LoadedPlan::Attempt::unchecked ||
                        (entry->may_repeat && PyErr_ExceptionMatches(PyExc_Exception) && !is_of_a_handler());
            if (unchecked) PyErr_Clear();
            return nullptr;
        }
    return nullptr;
}

/// Whether results of a call, or elements of one, would be written over each other, with a ValueError: whatever
/// computes it instead of a plan copies them there one by one. A function's own parameter of that name is its own.
bool has_shared_out(PyObject* self, PyObject* kwargs) {
    const Plans& plans = plans_of(self);
    static PyObject* const key = PyUnicode_InternFromString("out");
    PyObject* out = kwargs ? PyDict_GetItemWithError(kwargs, key) : nullptr;
    const bool is_own = reinterpret_cast<DispatcherObject*>(self)->takes_out || plans.signature.find("out") >= 0;
    if (!out || is_own) return PyErr_Occurred() != nullptr;
    if (!PyTuple_Check(out)) return refuse_overlapping_out(plans.name, out);
    for (Py_ssize_t i = 0; i < PyTuple_Size(out); ++i)
        if (refuse_overlapping_out(plans.name, PyTuple_GetItem(out, i))) return true;
    for (Py_ssize_t i = 1, n = PyTuple_Size(out); i < n; ++i)
        for (Py_ssize_t k = 0; k < i; ++k)
            if (refuse_shared_out(plans.name, PyTuple_GetItem(out, i), PyTuple_GetItem(out, k))) return true;
    return false;
}

/// What a call has raised that Python made, by `_raised`, which leaves our frames out of its traceback.
void tell_raised(PyObject* self) {
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback) PyException_SetTraceback(value, traceback);
    static PyObject* const raised = PyUnicode_InternFromString("_raised");
    if (!Ref(PyObject_CallMethodObjArgs(self, raised, value, nullptr))) PyErr_Clear();
    Py_XDECREF(std::exchange(traceback, PyException_GetTraceback(value)));
    PyErr_Restore(type, value, traceback);
}

/// A call that Python makes, and `_look` looks at now and then.
PyObject* answer_measured(PyObject* self, const RawCall& call, std::size_t bits) {
    // The call may replace the function under its name, and what makes its calls.
    const Ref held(Py_NewRef(self)), run(Py_NewRef(plans_of(self).measured.get()));
    bool is_due = false;
    Ref result(
        measured_call(self, run.get(), call, bits, reinterpret_cast<DispatcherObject*>(self)->in_python, is_due));
    if (result && !is_due) return result.release();
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    if (!result) {
        tell_raised(self);
        if (!is_due) return nullptr;
        PyErr_Fetch(&type, &value, &traceback);
    }
    static PyObject* const look = PyUnicode_InternFromString("_look");
    const Ref args = result ? positional_of(call) : Ref(Py_NewRef(Py_None)),
              keywords = args ? keywords_of(call) : Ref();
    const Ref looked(keywords ? PyObject_CallMethodObjArgs(self, look, args.get(), keywords.get(), nullptr) : nullptr);
    if (result) return looked ? result.release() : nullptr;
    const Ref error(type), what(value), where(traceback);
    if (looked || PyErr_ExceptionMatches(PyExc_Exception)) // not Ctrl-C meanwhile
        PyErr_Restore(Py_XNewRef(error.get()), Py_XNewRef(what.get()), Py_XNewRef(where.get()));
    return nullptr;
}

/// A call of which is known that nobody but Python serves it for now.
PyObject* answer_at_rest(PyObject* self, const RawCall& call, std::size_t bits) {
    const Ref held(Py_NewRef(self)), run(Py_NewRef(plans_of(self).measured.get()));
    bool is_due = false;
    PyObject* const result =
        measured_call(self, run.get(), call, bits, reinterpret_cast<DispatcherObject*>(self)->in_python, is_due);
    if (!result) tell_raised(self);
    return result;
}

/// Whether Python makes its calls and they are measured; not those of a function inside of itself.
bool is_measured(PyObject* self) {
    const auto* object = reinterpret_cast<DispatcherObject*>(self);
    return object->plans->measured && !object->is_hot && !object->is_given_up && !object->stays_here &&
           !is_in_measured_call(self);
}

PyObject* answer(PyObject* self, PyObject* const* items, std::size_t bits, PyObject* names) {
    auto* object = reinterpret_cast<DispatcherObject*>(self);
    const RawCall call{items, static_cast<Py_ssize_t>(bits & ~kMayWriteBefore), names};
    const StayedCalls& stayed = object->plans->stayed;
    if (const Ref run = stayed.empty() ? Ref() : stayed.find(call); run && !device_context())
        return call_likewise(run.get(), call, bits);
    if (object->is_new) {
        object->is_new = 0;
        static PyObject* const begin = PyUnicode_InternFromString("_begin");
        if (!Ref(PyObject_CallMethodObjArgs(self, begin, nullptr))) return nullptr;
    }
    if (is_measured(self)) return ++object->misses, answer_measured(self, call, bits);
    bool unchecked = false;
    PyObject* result = serve(self, call, unchecked);
    if (result || PyErr_Occurred()) return result;
    if (!unchecked && object->rested_misses > 0 && object->plans->measured && !is_in_measured_call(self))
        return --object->rested_misses, ++object->misses, answer_at_rest(self, call, bits);
    const Ref args = positional_of(call), keywords = args ? keywords_of(call) : Ref();
    if (!keywords || has_shared_out(self, keywords.get())) return nullptr;
    ++object->misses;
    static PyObject* const miss = PyUnicode_InternFromString("_miss");
    static PyObject* const failed = PyUnicode_InternFromString("_check_failed");
    return PyObject_CallMethodObjArgs(self, unchecked ? failed : miss, args.get(), keywords.get(), nullptr);
}

PyObject* call_vector(PyObject* self, PyObject* const* items, std::size_t bits, PyObject* names) {
    auto* object = reinterpret_cast<DispatcherObject*>(self);
    ++object->calls;
    static thread_local bool is_inside = false; // of a timed call, of which this one is a part
    if (!object->is_timed || is_inside) return answer(self, items, bits, names);
    // Another reference: the call may replace the function under its name.
    const Ref held(Py_NewRef(self));
    is_inside = true;
    const auto began = std::chrono::steady_clock::now();
    PyObject* result = answer(self, items, bits, names);
    const auto took = std::chrono::steady_clock::now() - began;
    is_inside = false;
    ++object->timed_calls;
    object->took_ns += static_cast<unsigned long long>(std::chrono::nanoseconds(took).count());
    return result;
}

/// `answer` of a call's items, number of positional ones, and names of the others, which come as a tuple and a dict (or
/// null), as by `f(*args, **kwargs)`.
template <class Answer> PyObject* with_items(PyObject* args, PyObject* kwargs, const Answer& answer) {
    const Py_ssize_t positional = PyTuple_Size(args), keywords = kwargs ? PyDict_Size(kwargs) : 0;
    std::vector<PyObject*> many;
    auto** items = static_cast<PyObject**>(nullptr);
    if (positional + keywords <= 256) {
        items =
            static_cast<PyObject**>(alloca(static_cast<std::size_t>(positional + keywords + 1) * sizeof(PyObject*)));
    } else {
        many.resize(static_cast<std::size_t>(positional + keywords));
        items = many.data();
    }
    for (Py_ssize_t i = 0; i < positional; ++i)
        items[i] = PyTuple_GetItem(args, i);
    Ref names;
    if (keywords > 0) {
        names = Ref(PyTuple_New(keywords));
        if (!names) return nullptr;
        PyObject *key = nullptr, *value = nullptr;
        Py_ssize_t at = 0, n = 0;
        while (n < keywords && PyDict_Next(kwargs, &at, &key, &value)) {
            PyTuple_SetItem(names.get(), n, Py_NewRef(key));
            items[positional + n++] = value;
        }
    }
    return answer(items, static_cast<std::size_t>(positional), names.get());
}

PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) {
    return with_items(args, kwargs, [&](PyObject* const* items, std::size_t count, PyObject* names) {
        return call_vector(self, items, count, names);
    });
}

PyObject* default_miss(PyObject* self, PyObject*) {
    return PyErr_Format(PyExc_NotImplementedError, "%s: no plan serves this call, and there is no _miss method.",
                        plans_of(self).name.c_str());
}

PyObject* default_check_failed(PyObject* self, PyObject*) {
    return PyErr_Format(PyExc_NotImplementedError,
                        "%s: the plan cannot compute with these data, and there is no _check_failed method.",
                        plans_of(self).name.c_str());
}

/// The places of the objects whose attributes a plan's calls set, and whether NumPy may run a call that raised
/// something.
bool read_objects(PyObject* sets, Entry& entry) {
    if (!sets || sets == Py_None) return true;
    PyObject* places = nullptr;
    int may_repeat = 0;
    if (!PyTuple_Check(sets) || !PyArg_ParseTuple(sets, "Op:sets", &places, &may_repeat))
        return !PyErr_Occurred() && fail(PyExc_TypeError, "sets: expected (places, whether a call may be repeated).");
    entry.may_repeat = may_repeat != 0;
    const Ref list(PySequence_List(places));
    if (!list) return false;
    for (Py_ssize_t i = 0, n = PyList_Size(list.get()); i < n; ++i) {
        const Py_ssize_t place = PyLong_AsSsize_t(PyList_GetItem(list.get(), i));
        if (place == -1 && PyErr_Occurred()) return false;
        if (place < 0 || static_cast<std::size_t>(place) >= entry.plan->outside().size() || !entry.form)
            return fail(PyExc_ValueError, "sets: expected places, and `finish`.");
        entry.objects.push_back(static_cast<std::size_t>(place));
    }
    return true;
}

PyObject* add(PyObject* self, PyObject* args, PyObject* kwargs) {
    static const char* kNames[] = {"plan_text",    "objects",  "index",  "constants", "hidden",     "places", "checks",
                                   "scalar_types", "partials", "stages", "finish",    "generators", "sets",   nullptr};
    PyObject *plan_text, *objects, *finish = nullptr, *sets = nullptr;
    Py_ssize_t index = -1;
    Binding b;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|$nOOOOOOOOOO:add", const_cast<char**>(kNames), &plan_text,
                                     &objects, &index, &b.constants, &b.hidden, &b.places, &b.checks, &b.scalar_types,
                                     &b.partials, &b.stages, &finish, &b.generators, &sets))
        return nullptr;
    Plans& plans = plans_of(self);
    auto plan = LoadedPlan::make(plan_text, objects, plans.name, plans.signature, b);
    if (!plan) return nullptr;
    Entry entry{std::move(plan), nullptr};
    if (finish && finish != Py_None && !(entry.form = ResultForm::read(finish))) return nullptr;
    if (!read_objects(sets, entry)) return nullptr;
    const auto count = static_cast<Py_ssize_t>(plans.list.size()); // now: making it may have run Python
    if (index < -1 || index >= count)
        return PyErr_Format(PyExc_IndexError, "add: there is no plan %zd; there are %zd.", index, count);
    if (index < 0) {
        plans.list.push_back(std::make_shared<const Entry>(std::move(entry)));
        return PyLong_FromSsize_t(count);
    }
    const auto replaced =
        std::exchange(plans.list[static_cast<std::size_t>(index)], std::make_shared<const Entry>(std::move(entry)));
    return PyLong_FromSsize_t(index);
}

PyObject* stage_times(PyObject* self, PyObject* index) {
    const Plans& plans = plans_of(self);
    const Py_ssize_t number = PyLong_AsSsize_t(index);
    if (number == -1 && PyErr_Occurred()) return nullptr;
    if (number < 0 || static_cast<std::size_t>(number) >= plans.list.size())
        return PyErr_Format(PyExc_IndexError, "stage_times: there is no plan %zd; there are %zu.", number,
                            plans.list.size());
    return plans.list[static_cast<std::size_t>(number)]->plan->stage_times().release();
}

PyObject* clear_plans(PyObject* self, PyObject*) {
    std::vector<std::shared_ptr<const Entry>> gone;
    gone.swap(plans_of(self).list);
    Py_RETURN_NONE;
}

PyObject* stay(PyObject* self, PyObject* args) {
    PyObject *key = nullptr, *names = nullptr, *run = nullptr;
    if (!PyArg_ParseTuple(args, "OOO:stay", &key, &names, &run) || !plans_of(self).stayed.add(key, names, run))
        return nullptr;
    Py_RETURN_NONE;
}

PyObject* forget_stayed(PyObject* self, PyObject*) {
    plans_of(self).stayed.clear();
    Py_RETURN_NONE;
}

PyObject* measure(PyObject* self, PyObject* args) {
    PyObject* run = nullptr;
    long long every = 0;
    if (!PyArg_ParseTuple(args, "OL:measure", &run, &every)) return nullptr;
    const Ref before = std::exchange(plans_of(self).measured, run == Py_None ? Ref() : Ref::borrowed(run));
    reinterpret_cast<DispatcherObject*>(self)->in_python.looked_every = every;
    Py_RETURN_NONE;
}

PyObject* measured_call_of(PyObject* self, PyObject* args) {
    PyObject *positional = nullptr, *keywords = nullptr;
    if (!PyArg_ParseTuple(args, "O!O!:measured_call", &PyTuple_Type, &positional, &PyDict_Type, &keywords))
        return nullptr;
    if (!plans_of(self).measured) return PyErr_Format(PyExc_RuntimeError, "measured_call: nothing is measured.");
    return with_items(positional, keywords, [&](PyObject* const* items, std::size_t count, PyObject* names) {
        return answer_measured(self, {items, static_cast<Py_ssize_t>(count), names}, count);
    });
}

PyObject* is_in_call(PyObject* self, PyObject*) {
    return PyBool_FromLong(is_in_measured_call(self));
}

PyObject* calls_here(PyObject*, PyObject*) {
    return measured_calls_here().release();
}

PyObject* missed_here(PyObject*, PyObject* args) {
    long long ns = -1;
    if (!PyArg_ParseTuple(args, "|L:missed_here", &ns)) return nullptr;
    if (ns >= 0) missed_here_ns() = ns;
    return PyLong_FromLongLong(missed_here_ns());
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    Plans* plans = reinterpret_cast<DispatcherObject*>(self)->plans;
    if (!plans) return 0;
    if (int rc = plans->signature.traverse(visit, arg)) return rc;
    if (int rc = plans->stayed.traverse(visit, arg)) return rc;
    Py_VISIT(plans->measured.get());
    // A plan in use elsewhere has references that the collector does not see, and must not be counted as ours alone.
    for (const auto& entry : plans->list) {
        if (entry.use_count() > 1) continue;
        if (entry->form)
            if (int rc = entry->form->traverse(visit, arg)) return rc;
        if (entry->plan.use_count() == 1)
            if (int rc = entry->plan->traverse(visit, arg)) return rc;
    }
    return 0;
}

int clear_references(PyObject* self) {
    Plans* plans = reinterpret_cast<DispatcherObject*>(self)->plans;
    if (plans) {
        Plans gone;
        std::swap(gone.list, plans->list);
        std::swap(gone.signature, plans->signature);
        std::swap(gone.stayed, plans->stayed);
        std::swap(gone.measured, plans->measured);
    }
    return 0;
}

void dealloc(PyObject* self) {
    PyObject_GC_UnTrack(self);
    delete std::exchange(reinterpret_cast<DispatcherObject*>(self)->plans, nullptr);
    free_object(self);
}

PyTypeObject* g_dispatcher_type = nullptr;

} // namespace

bool is_dispatcher(PyObject* object) {
    return g_dispatcher_type && PyObject_TypeCheck(object, g_dispatcher_type);
}

PyObject* make_dispatcher_type() {
    static PyMethodDef methods[] = {
        {"add", with_keywords(add), METH_VARARGS | METH_KEYWORDS,
         "add($self, plan_text, objects, *, index=-1, constants=None, hidden=None, places=None, checks=None, "
         "scalar_types=None, "
         "partials=None, stages=None, finish=None, generators=None, sets=None)\n--\n\n"
         "Loads a plan and returns its index: behind those that are there, or in the place of the one with that "
         "index,\n"
         "which calls that run keep.\n\n"
         "constants: values of hidden arguments and of fixed parameters. places: (place that it "
         "begins at\n"
         "or -1, object, parameter, entry (of a dict), attribute, item, contents (of a cell), closure or call, "
         "key), looked "
         "up "
         "at each call.\n"
         "checks: (place, is, equal, type, length, code, defaults, keywords, same, another, absent or call, value) "
         "that must "
         "hold. "
         "hidden:\n"
         "argument -> place. scalar_types: scalar -> the exact type it must have.\n"
         "partials: for calls of more elements than kernels can index: the plan of a part of the rows, the plan of the "
         "total of\n"
         "what the parts give, the arguments that are given in parts, what the total calls the parts' results, and "
         "None "
         "or,\n"
         "where rows need what the total gives, the plan of the rest, what that calls the total's results, and None or "
         "its own\n"
         "partials; or what the error of such a call says to do.\n"
         "stages: text of a stage -> what computes it, of a dict that lives as long as the call, and of arrays.\n"
         "finish: makes the function's result of the tuple that the plan gives; calls with `out` are misses then. A "
         "form of\nresult_forms.py, or a callable.\n"
         "sets: (places of objects whose attributes finish sets: it is called with them behind the tuple; whether "
         "NumPy runs a call\n"
         "that raises something, and begins anew).\n"
         "generators: (argument that has the state's words or None, place of the Generator, a size: how many it draws, "
         "or "
         "None where\n"
         "stages draw from it, whether it is locked while the call runs). Without an argument, the place is a bit "
         "generator's."},
        {"stage_times", stage_times, METH_O,
         "stage_times($self, index, /)\n--\n\n((calls, nanoseconds) of a plan on the host, {text of a stage: the "
         "same}) of those calls that were\ntimed: the first ones, long ones, some of the others. Plans without stages "
         "are "
         "not."},
        {"clear", clear_plans, METH_NOARGS, "clear($self)\n--\n\nForgets all plans."},
        {"stay", stay, METH_VARARGS,
         "stay($self, key, names, run, /)\n--\n\n"
         "From now on `run` runs calls like this one, before any plan is looked at: the function, or what does the "
         "same. The last\nfew are kept. key: for each argument (shape, dtype), (class, value), (shape, dtype, None) or "
         "(int, None, size) of "
         "what is no\nlarger, a class, a code object, or what it is; names: of\nthose that are given by keyword, which "
         "come last."},
        {"forget_stayed", forget_stayed, METH_NOARGS, "forget_stayed($self)\n--\n\nForgets what stay() said."},
        {"measure", measure, METH_VARARGS,
         "measure($self, run, every, /)\n--\n\n"
         "From now on `run` makes all calls (None: none), and they are measured, while the function is not hot, given "
         "up "
         "or\nleft to Python: but for those inside of one another. _look(args, kwargs) is called behind one in "
         "`every`, "
         "and once they\nhave taken next_look_ns; with None for args where the call raised something. _raised(error) "
         "is called first "
         "then."},
        {"measured_call", measured_call_of, METH_VARARGS,
         "measured_call($self, args, kwargs, /)\n--\n\nA call of that kind."},
        {"is_in_call", is_in_call, METH_NOARGS,
         "is_in_call($self)\n--\n\nWhether this thread is in a measured call of the function."},
        {"calls_here", calls_here, METH_NOARGS | METH_STATIC,
         "calls_here()\n--\n\nThe measured calls that this thread is in, the outermost first: (function, "
         "time.perf_counter_ns()\nof its beginning)."},
        {"missed_here", missed_here, METH_VARARGS | METH_STATIC,
         "missed_here(ns=-1, /)\n--\n\nNanoseconds that are no time of the callers of what took them, in this "
         "thread so far; from 0 on sets them."},
        {"_check_failed", default_check_failed, METH_VARARGS,
         "_check_failed($self, args, kwargs)\n--\n\nAnswers a call whose data fail a check of the plan; override it."},
        {"_miss", default_miss, METH_VARARGS,
         "_miss($self, args, kwargs)\n--\n\nAnswers a call that no plan serves; override it."},
        {}};
    static PyMemberDef members[] = {
        {"__vectorcalloffset__", T_PYSSIZET, offsetof(DispatcherObject, vector_call), READONLY, nullptr},
        {"calls", T_ULONGLONG, offsetof(DispatcherObject, calls), 0, "How many calls there were."},
        {"misses", T_ULONGLONG, offsetof(DispatcherObject, misses), 0, "How many of them went to _miss."},
        {"timed_calls", T_ULONGLONG, offsetof(DispatcherObject, timed_calls), 0,
         "How many calls were timed: none inside of another timed call of the thread."},
        {"took_ns", T_ULONGLONG, offsetof(DispatcherObject, took_ns), 0, "Nanoseconds that those took."},
        {"python_calls", T_LONGLONG, offsetof(DispatcherObject, in_python.calls), 0,
         "How many calls were measured, of those that Python made."},
        {"python_ns", T_LONGLONG, offsetof(DispatcherObject, in_python.ns), 0, "Nanoseconds that those took."},
        {"next_look_ns", T_LONGLONG, offsetof(DispatcherObject, in_python.next_look_ns), 0,
         "How many of them call for a look."},
        {"is_new", T_BOOL, offsetof(DispatcherObject, is_new), 0, "Whether _begin() comes before the first call."},
        {"rested_misses", T_UINT, offsetof(DispatcherObject, rested_misses), 0,
         "Of the next calls that no plan serves: Python makes them, and _miss() is not asked."},
        {"is_hot", T_BOOL, offsetof(DispatcherObject, is_hot), 0, "Whether calls are followed, and compiled."},
        {"is_given_up", T_BOOL, offsetof(DispatcherObject, is_given_up), 0, "Whether all calls are Python's."},
        {"_stays_here", T_BOOL, offsetof(DispatcherObject, stays_here), 0,
         "Whether others hold it, and Python serves all calls best."},
        {"is_timed", T_BOOL, offsetof(DispatcherObject, is_timed), 0, "Whether calls are timed, at some 50 ns each."},
        {"copy_layouts", T_BOOL, offsetof(DispatcherObject, copy_layouts), 0,
         "Whether arrays that no plan takes as they lie are copied to one that fits, instead of a miss."},
        {"takes_out", T_BOOL, offsetof(DispatcherObject, takes_out), 0,
         "Whether `out` is the function's own, also without a parameter of that name."},
        {"copies_to_device", T_BOOL, offsetof(DispatcherObject, copies_to_device), 0,
         "Whether NumPy arrays are copied to a device for plans that have no version for the host, instead of a miss."},
        {}};
    static PyType_Slot slots[] = {
        {Py_tp_new, reinterpret_cast<void*>(create)},
        {Py_tp_init, reinterpret_cast<void*>(initialize)},
        {Py_tp_call, reinterpret_cast<void*>(call)},
        {Py_tp_descr_get, reinterpret_cast<void*>(bind_call)},
        {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
        {Py_tp_clear, reinterpret_cast<void*>(clear_references)},
        {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
        {Py_tp_methods, methods},
        {Py_tp_members, members},
        {Py_tp_doc, const_cast<char*>("Dispatcher(name, parameters)\n--\n\nCalls the first loaded plan that fits, "
                                      "else _miss(args, kwargs).")},
        {0, nullptr}};
    static PyType_Spec spec = {"tilewright._face.Dispatcher", sizeof(DispatcherObject), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | kVectorFlag, slots};
    PyObject* const type = PyType_FromSpec(&spec);
    g_dispatcher_type = reinterpret_cast<PyTypeObject*>(type);
    return type;
}

} // namespace tilewright::face
