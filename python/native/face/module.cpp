// python/native/face/module.cpp: the extension module _face: NumPy's C API, our types, threads and memory.
#define TW_FACE_IMPORTS_ARRAY
#include <algorithm>
#include <string>
#include <vector>

#include "dsl/base/targets.h"
#include "dsl/runtime/cuda/device.h"
#include "dsl/runtime/element_count.h"
#include "dsl/runtime/executor.h"
#include "dsl/runtime/memory.h"
#include "dsl/runtime/parallel.h"
#include "dsl/runtime/thread_budget.h"
#include "python/native/face/arrays.h"
#include "python/native/face/device_array.h"
#include "python/native/face/device_context.h"
#include "python/native/face/face_errors.h"
#include "python/native/face/face_types.h"
#include "python/native/face/generators.h"
#include "python/native/face/held_results.h"
#include "python/native/face/kept_memory.h"
#include "python/native/face/older_generators.h"
#include "python/native/face/recycled_memory.h"
#include "python/native/face/result_form.h"
#include "python/native/face/texts.h"
#include "python/native/face/twins.h"

namespace tilewright::face {
namespace {

PyObject* set_num_threads(PyObject*, PyObject* argument) {
    long n = PyLong_AsLong(argument);
    if (n == -1 && PyErr_Occurred()) return nullptr;
    if (n < 1) return PyErr_Format(PyExc_ValueError, "set_num_threads: n is %ld; a call needs at least one thread.", n);
    runtime::set_num_threads(n > runtime::kMaxThreads ? runtime::kMaxThreads : static_cast<int>(n));
    Py_RETURN_NONE;
}

PyObject* get_num_threads(PyObject*, PyObject*) {
    int n = runtime::num_threads(), limit = runtime::thread_limit();
    return PyLong_FromLong(limit > 0 && limit < n ? limit : n);
}

PyObject* pool_info(PyObject*, PyObject*) {
    runtime::PoolInfo info = runtime::pool_info();
    return Py_BuildValue("{sn sn sn sn}", "pooled_bytes", static_cast<Py_ssize_t>(info.pooled_bytes), "pooled_blocks",
                         static_cast<Py_ssize_t>(info.pooled_blocks), "live_bytes",
                         static_cast<Py_ssize_t>(info.live_bytes), "limit_bytes",
                         static_cast<Py_ssize_t>(info.limit_bytes));
}

/// The most demanding first, which stands last in `names`.
PyObject* backwards(std::vector<std::string> names) {
    std::ranges::reverse(names);
    return tuple_of(names).release();
}

PyObject* target_names(PyObject*, PyObject*) {
    std::vector<std::string> levels;
    for (const IsaLevel& level : kIsaLevels)
        levels.emplace_back(level.name);
    return Py_BuildValue("{sNsNsNsN}", "host", backwards(host_targets()), "levels", backwards(levels), "cuda",
                         backwards(cuda_targets()), "usual_cuda", unicode(cuda_target(kUsualCudaCapability)).release());
}

bool put(PyObject* dict, const char* key, PyObject* value) {
    Ref owned(value);
    return owned && PyDict_SetItemString(dict, key, owned.get()) == 0;
}

PyObject* no_device_reason(PyObject*, PyObject*) {
    std::string why;
    if (runtime::cuda::device_count(&why) > 0) return PyUnicode_FromString("");
    return PyUnicode_FromString(why.empty() ? "no CUDA device is here." : why.c_str());
}

/// A dictionary with a number under each name. Null with a Python error.
Ref numbers(std::initializer_list<std::pair<const char*, long long>> all) {
    Ref dict(PyDict_New());
    for (const auto& [name, value] : all)
        if (!dict || !put(dict.get(), name, PyLong_FromLongLong(value))) return Ref();
    return dict;
}

Ref device_facts(int ordinal) {
    const runtime::cuda::Device& d = runtime::cuda::device(ordinal);
    Ref dict = numbers({{"ordinal", d.ordinal},
                        {"multiprocessors", d.multiprocessors},
                        {"max_threads_per_block", d.max_threads_per_block},
                        {"max_threads_per_multiprocessor", d.max_threads_per_multiprocessor},
                        {"max_blocks_per_multiprocessor", d.max_blocks_per_multiprocessor},
                        {"shared_bytes_reserved", d.shared_bytes_reserved},
                        {"shared_bytes_per_block", d.shared_bytes_per_block},
                        {"shared_bytes_per_multiprocessor", d.shared_bytes_per_multiprocessor},
                        {"registers_per_multiprocessor", d.registers_per_multiprocessor},
                        {"memory_bytes", d.memory_bytes},
                        {"l2_bytes", d.l2_bytes},
                        {"clock_khz", d.clock_khz},
                        {"memory_clock_khz", d.memory_clock_khz},
                        {"memory_bus_bits", d.memory_bus_bits},
                        {"driver_version", runtime::cuda::driver_version()}});
    const bool has_all = dict && put(dict.get(), "name", PyUnicode_FromString(d.name.c_str())) &&
                         put(dict.get(), "uuid", PyUnicode_FromString(d.uuid.c_str())) &&
                         put(dict.get(), "capability", Py_BuildValue("(ii)", d.major, d.minor));
    return has_all ? dict : Ref();
}

PyObject* devices(PyObject*, PyObject*) {
    return or_python_error([]() -> PyObject* {
        Ref list(PyList_New(0));
        for (int ordinal = 0, count = runtime::cuda::device_count(); list && ordinal < count; ++ordinal) {
            Ref one = device_facts(ordinal);
            if (!one || PyList_Append(list.get(), one.get()) != 0) return nullptr;
        }
        return list.release();
    });
}

PyObject* driver_calls(PyObject*, PyObject*) {
    const runtime::cuda::DriverCalls c = runtime::cuda::driver_calls();
#define TW_ITEM(name) {#name, static_cast<long long>(c.name)},
    return numbers({TW_DRIVER_CALLS(TW_ITEM)}).release();
#undef TW_ITEM
}

/// What calls have launched on devices, in graphs of ours too: (kernels, threads). No calls of the driver, so apart.
PyObject* launched(PyObject*, PyObject*) {
    const runtime::cuda::DriverCalls c = runtime::cuda::driver_calls();
    return Py_BuildValue("(LL)", static_cast<long long>(c.launches + c.graph_kernels),
                         static_cast<long long>(c.threads));
}

PyObject* current_device(PyObject*, PyObject*) {
    const DeviceContext* context = device_context();
    if (!context) Py_RETURN_NONE;
    Ref stream(context->has_stream ? PyLong_FromVoidPtr(context->place.stream) : Py_NewRef(Py_None));
    return stream ? Py_BuildValue("(iO)", context->place.device, stream.get()) : nullptr;
}

PyObject* device_pool_info(PyObject*, PyObject* argument) {
    runtime::cuda::Place place;
    if (!place_named(argument, place)) return nullptr;
    const runtime::cuda::DevicePoolInfo info = runtime::cuda::device_pool_info(place.device);
    return numbers({{"live_bytes", static_cast<long long>(info.live_bytes)},
                    {"pooled_bytes", static_cast<long long>(info.pooled_bytes)},
                    {"graph_bytes", static_cast<long long>(info.graph_bytes)},
                    {"limit_bytes", static_cast<long long>(info.limit_bytes)}})
        .release();
}

PyObject* trim_device_pool(PyObject*, PyObject* argument) {
    runtime::cuda::Place place;
    if (!place_named(argument, place)) return nullptr;
    return or_python_error([&] {
        drop_recycled();
        return PyLong_FromSize_t(runtime::cuda::trim_device_pool(place.device));
    });
}

/// Whether an object is an array on a CUDA device, and how a trace sees it: None, or (device, dtype's name, shape,
/// strides in bytes, read_only, class's library).
PyObject* placed(PyObject*, PyObject* object) {
    const ArrayClass* its_class = array_class_of(object);
    if (!its_class) Py_RETURN_NONE;
    DeviceView view;
    if (!read_device_array(object, *its_class, nullptr, view)) return nullptr;
    if (view.device == DeviceView::kHost) Py_RETURN_NONE;
    const Ref shape = tuple_of(view.array.shape, view.rank), strides = tuple_of(view.array.strides, view.rank);
    static constexpr const char* kLibraries[] = {"other", "tilewright", "torch", "cupy", "numba", "jax"};
    Ref dtype(view.has_dtype ? unicode(info(view.dtype).name).release() : Py_NewRef(Py_None));
    Ref pointer(PyLong_FromVoidPtr(view.array.data));
    if (!shape || !strides || !dtype || !pointer) return nullptr;
    return Py_BuildValue("(iOOOOOs)", view.device, dtype.get(), shape.get(), strides.get(),
                         view.read_only ? Py_True : Py_False, pointer.get(),
                         kLibraries[static_cast<int>(its_class->library)]);
}

PyMethodDef kMethods[] = {
    {"load", with_keywords(load), METH_VARARGS | METH_KEYWORDS,
     "load(plan_text, objects, *, name, doc=None, signature_text='()', parameters, module_name, constants=None, "
     "partials=None, stages=None)\n--\n\n"
     "A builtin function that runs a plan, or the first of several that fits the call.\n\n"
     "plan_text: str or a sequence of str. objects: mapping from object names to bytes. parameters: (name, kind, "
     "default or\n"
     "MISSING), kinds as in inspect.Parameter. constants: values of hidden arguments, and of parameters that are "
     "fixed.\n"
     "partials: for each plan None, or as in Dispatcher.add(). stages: as there."},
    {"set_bound_type", set_bound_type, METH_O,
     "set_bound_type(type, /)\n--\n\nWhat `object.method` of a Dispatcher is: a class with the base BoundCall."},
    {"set_num_threads", set_num_threads, METH_O,
     "set_num_threads($module, n, /)\n--\n\nThe budget of threads of this process."},
    {"get_num_threads", get_num_threads, METH_NOARGS,
     "get_num_threads($module)\n--\n\nHow many threads a call from here may use."},
    {"trim_pool", [](PyObject*, PyObject*) { return PyLong_FromSize_t(runtime::trim_pool()); }, METH_NOARGS,
     "trim_pool($module)\n--\n\nGives kept memory back to the system; returns how many bytes."},
    {"pool_info", pool_info, METH_NOARGS, "pool_info($module)\n--\n\nBytes kept, bytes handed out, and the limit."},
    {"keep_arrays", keep_arrays, METH_NOARGS,
     "keep_arrays($module)\n--\n\nNumPy's own large arrays come from the pool, in this thread and context; False where "
     "another handler of memory is set, or the pool keeps nothing."},
    {"leave_arrays", leave_arrays, METH_NOARGS,
     "leave_arrays($module)\n--\n\nThe end of keep_arrays(): new arrays come from NumPy's own handler, and kept memory "
     "goes back to the system; returns how many bytes."},
    {"parallel_backend", [](PyObject*, PyObject*) { return PyUnicode_FromString(runtime::parallel_backend()); },
     METH_NOARGS, "parallel_backend($module)\n--\n\n'own', 'openmp', or 'none yet'."},
    {"machine_isa", [](PyObject*, PyObject*) { return unicode(target_of_rank(machine_isa_rank()).name).release(); },
     METH_NOARGS, "machine_isa($module)\n--\n\nThe x86-64 level whose code runs here."},
    {"target_names", target_names, METH_NOARGS,
     "target_names($module)\n--\n\nThe targets that code is made for, the most demanding first."},
    {"twin", twin, METH_VARARGS,
     "twin($module, name, callee, /)\n--\n\nWhat computes large calls of a function of NumPy's on all threads, and "
     "hands "
     "others on to the callee; the callee itself where nothing of ours does."},
    {"twins", twins, METH_NOARGS, "twins($module)\n--\n\nThe names of the functions that have a twin."},
    {"hold", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(hold)), METH_FASTCALL,
     "hold($module, held, name, result, /)\n--\n\nKeeps what a stage gave until the call ends, and gives what is "
     "kept."},
    {"lend", lend, METH_O,
     "lend($module, generators, /)\n--\n\nWhat stages of this thread draw from until take_back(), by the names of "
     "arguments."},
    {"lent", lent, METH_O, "lent($module, name, /)\n--\n\nThe generator that the innermost call has under this name."},
    {"take_back", take_back, METH_NOARGS, "take_back($module)\n--\n\nThe end of the last lend()."},
    {"pcg64_words", pcg64_words, METH_O,
     "pcg64_words($module, generator, /)\n--\n\nState and increment of a Generator on PCG64, the high halves first. "
     "ValueError for other generators."},
    {"mt19937_state", mt19937_state, METH_O,
     "mt19937_state($module, generator, /)\n--\n\nThe words of a RandomState, where the next one is, 624, whether a "
     "normal number is left, 2; and that number. ValueError for other generators."},
    {"reads_mt19937", reads_mt19937, METH_NOARGS,
     "reads_mt19937($module)\n--\n\nWhether this NumPy has the state of a RandomState where mt19937_state() looks."},
    {"set_mt19937_state", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(set_mt19937_state)), METH_FASTCALL,
     "set_mt19937_state($module, generator, words, places, left, /)\n--\n\n0. Makes the words that are not made yet."},
    {"move_pcg64_on", move_pcg64_on, METH_VARARGS,
     "move_pcg64_on($module, generator, draws, /)\n--\n\nAs after so many doubles. What is left of a word that 32-bit "
     "draws took half of stays."},
    {"pcg64_state", pcg64_state, METH_O,
     "pcg64_state($module, generator, /)\n--\n\nThose, whether half of a word is left, and which."},
    {"set_pcg64_state", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(set_pcg64_state)), METH_FASTCALL,
     "set_pcg64_state($module, generator, high, low, has_half, half, /)\n--\n\n0. The increment stays."},
    {"joined", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(joined)), METH_FASTCALL,
     "joined($module, real, imag, /)\n--\n\nComplex numbers of their halves, bit by bit."},
    {"part", part, METH_O,
     "part($module, expression, /)\n--\n\nWhat computes a stage that gives a part of what is held, such as "
     "'r1[0].real'; "
     "None where it is none."},
    {"finished", finished, METH_VARARGS,
     "finished($module, form, made, objects, /)\n--\n\nWhat a form of result_forms.py makes, or a callable, of the "
     "tuple "
     "that a plan gives and of a tuple of the\ncaller's objects, which have then what the form sets."},
    {"to_device", with_keywords(to_device), METH_VARARGS | METH_KEYWORDS,
     "to_device(array, device='cuda')\n--\n\n"
     "A DeviceArray with a copy of a NumPy array; device: 'cuda', 'cuda:1' or device(...)."},
    {"devices", devices, METH_NOARGS, "devices($module)\n--\n\nThe CUDA devices of this machine, a dict each."},
    {"no_device_reason", no_device_reason, METH_NOARGS,
     "no_device_reason($module)\n--\n\nWhy there is no CUDA device; empty where there is one."},
    {"driver_calls", driver_calls, METH_NOARGS,
     "driver_calls($module)\n--\n\nHow often this process has called what of the CUDA driver."},
    {"launched", launched, METH_NOARGS,
     "launched($module)\n--\n\nKernels and threads that this process has launched on devices."},
    {"profile", profile, METH_O,
     "profile($module, call, /)\n--\n\nCalls it, with events around each launch of this thread: (a dict for each "
     "launch "
     "in order, how many were not timed)."},
    {"function_facts", function_facts, METH_VARARGS,
     "function_facts($module, device, ptx, /)\n--\n\nRegisters, shared and local memory of the functions of a PTX "
     "text, "
     "as the device's driver says."},
    {"ptx_for", ptx_for, METH_VARARGS,
     "ptx_for($module, capability, ptx, /)\n--\n\nThe PTX text as the driver gets it for a device "
     "of this capability: 90 is 9.0."},
    {"cubins_in", cubins_in, METH_O,
     "cubins_in($module, folder, /)\n--\n\nThe folder may hold code that was assembled before; it is looked at when "
     "kernels are loaded."},
    {"device_pool_info", device_pool_info, METH_O,
     "device_pool_info($module, device, /)\n--\n\nBytes of device memory kept, handed out, and the limit."},
    {"trim_device_pool", trim_device_pool, METH_O,
     "trim_device_pool($module, device, /)\n--\n\nGives kept device memory back to the driver; returns how many "
     "bytes."},
    {"host_copy", [](PyObject*, PyObject* object) { return host_copy(object); }, METH_O,
     "host_copy($module, array, /)\n--\n\nA NumPy array with the elements of an array on a device."},
    {"current_device", current_device, METH_NOARGS,
     "current_device($module)\n--\n\nNone, or inside of `with device(...)` its (number, stream or None)."},
    {"placed", placed, METH_O,
     "placed($module, object, /)\n--\n\nNone, or of an array on a device: its number, dtype, shape, strides, "
     "read-only, pointer, library."},
    {"element_limit", [](PyObject*, PyObject*) { return PyLong_FromLongLong(runtime::element_limit(DType::float64)); },
     METH_NOARGS,
     "element_limit($module)\n--\n\nHow many elements kernels can index; half as many of complex numbers."},
    {"compose_plan", compose_plan, METH_O,
     "compose_plan($module, versions, /)\n--\n\nOne plan of versions that were compiled one by one, the first choice "
     "first; each is (label, suffix of its objects, plan, requirements). Arguments and results are the first one's."},
    {"evaluate_size", evaluate_size, METH_VARARGS,
     "evaluate_size($module, text, sizes, /)\n--\n\nA size or a condition (0 or 1) at these sizes, an int of any "
     "length. KeyError names a size that is not known, ValueError says what is not a size, ZeroDivisionError divides."},
    {"operations", operations, METH_NOARGS,
     "operations($module, /)\n--\n\nThe operations of programs: (name, kind, number of operands or -1, traits)."},
    {"size_symbols", size_symbols, METH_O,
     "size_symbols($module, text, /)\n--\n\nThe symbols of a size or a condition, in order of appearance. ValueError "
     "says what is no size."},
    {}};

/// tilewright has a family of errors; a module, which needs NumPy alone, has one of its own.
PyObject* device_error_of_tilewright(PyObject* module) {
    Ref name(PyObject_GetAttrString(module, "__name__"));
    if (!name || PyUnicode_CompareWithASCIIString(name.get(), "tilewright._face") != 0) return nullptr;
    Ref errors(PyImport_ImportModule("tilewright.errors"));
    PyObject* found = errors ? PyObject_GetAttrString(errors.get(), "DeviceError") : nullptr;
    PyErr_Clear();
    return found;
}

/// One interpreter and one set of them: instances of a type must not outlive it. False with a Python error.
bool add_errors(PyObject* module) {
    if (!g_device_error) g_device_error = device_error_of_tilewright(module);
    struct Exception {
        const char* name;
        PyObject*& object;
        PyObject* base;
        PyObject* second_base = nullptr;
    };
    const auto add = [&](const Exception& e) {
        const std::string name = std::string("tilewright._face.") + e.name;
        const Ref bases(PyTuple_Pack(e.second_base ? 2 : 1, e.base, e.second_base));
        if (!e.object && bases) e.object = PyErr_NewException(name.c_str(), bases.get(), nullptr);
        return e.object && PyModule_AddObjectRef(module, e.name, e.object) == 0;
    };
    return add({"PlanError", g_plan_error, PyExc_ImportError}) &&
           add({"WrittenError", g_written_error, PyExc_ValueError}) &&
           add({"CheckError", g_check_error, PyExc_ValueError}) &&
           add({"CheckIndexError", g_check_index_error, g_check_error, PyExc_IndexError}) &&
           add({"TooLargeError", g_too_large_error, PyExc_ValueError}) &&
           add({"DeviceError", g_device_error, PyExc_RuntimeError});
}

int execute(PyObject* module) {
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
        PyErr_SetString(PyExc_ImportError,
                        "tilewright's kernels run in the main interpreter only, not in a subinterpreter.");
        return -1;
    }
    if (PyArray_ImportNumPyAPI() < 0) return -1;
    if (!add_errors(module) || !prepare_allocator()) return -1;
    if (!g_missing) g_missing = PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
    if (!g_missing || PyModule_AddObjectRef(module, "MISSING", g_missing) != 0) return -1;
    if (PyModule_AddIntConstant(module, "MOST_STAGE_ARRAYS", runtime::kMaxStageArrays) != 0) return -1;
    const Ref kernel(make_kernel_type());
    const Ref twin_type(make_twin_type()), part_type(make_part_type());
    if (!kernel || !twin_type || !part_type) return -1;
    const std::pair<const char*, PyObject* (*)()> types[] = {{"Dispatcher", make_dispatcher_type},
                                                             {"BoundCall", make_bound_call_type},
                                                             {"threads", make_threads_type},
                                                             {"DeviceArray", make_device_array_type},
                                                             {"device", make_device_type}};
    for (const auto& [name, make] : types) {
        const Ref type(make());
        if (!type || PyModule_AddObjectRef(module, name, type.get()) != 0) return -1;
    }
    return 0;
}

PyModuleDef_Slot kSlots[] = {{Py_mod_exec, reinterpret_cast<void*>(execute)}, {0, nullptr}};

PyModuleDef kModule = {PyModuleDef_HEAD_INIT,
                       "_face",
                       "Runs compiled plans on NumPy arrays.",
                       0,
                       kMethods,
                       kSlots,
                       nullptr,
                       nullptr,
                       nullptr};

} // namespace

} // namespace tilewright::face

PyMODINIT_FUNC PyInit__face() {
    return PyModuleDef_Init(&tilewright::face::kModule);
}
