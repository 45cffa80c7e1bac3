// python/native/face/plan_call_device.cpp: calls whose arrays lie on a device: no copy, no waiting, results on the
// device.
#include <alloca.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "dsl/runtime/memory_range.h"
#include "python/native/face/call_parts.h"
#include "python/native/face/device_arguments.h"
#include "python/native/face/device_results.h"
#include "python/native/face/face_errors.h"

namespace tilewright::face {
namespace {

namespace cuda = runtime::cuda;
using runtime::Executable;
using runtime::MemoryRange;
using runtime::RunStatus;

bool has_whole_strides(const DeviceView& view, int bytes) {
    std::int64_t bits = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(view.array.data));
    if (bytes == 16) bits &= ~std::int64_t{8}; // a complex number is as aligned as its parts
    bool is_whole = true;
    for (int k = 0; k < view.rank; ++k)
        is_whole = is_whole && (view.array.shape[k] < 2 || (view.array.strides[k] & (bytes - 1)) == 0);
    return is_whole && (bits & (bytes - 1)) == 0;
}

/// On the device, of an array that the call reads and the caller does not pass as one of the device. Null with a Python
/// error. `stays`: for later calls too, whatever their streams.
PyObject* copy_for_call(PyArrayObject* numpy, DType dtype, const cuda::Place& place, bool stays) {
    bool is_captured = false;
    if (!or_python_error([&] { return is_captured = cuda::is_captured(place), true; })) return nullptr;
    // Copied by the graph it would be read from the host at each launch.
    const cuda::Place at = is_captured ? cuda::side_place(place.device) : place;
    Ref copy(device_copy_of(numpy, dtype, at));
    const auto wait = [&] { return cuda::synchronize(at), true; };
    if (!copy || ((is_captured || stays) && !or_python_error(wait))) return nullptr;
    if (is_captured && !stays && !keep_for_graph(place, copy)) return nullptr;
    return copy.release();
}

} // namespace

PyObject* LoadedPlan::number_on_device(PyObject* object, const DeviceView& view, const runtime::PlanArgument& argument,
                                       const cuda::Place& place) const {
    Ref array = Ref::borrowed(object);
    if (!PyArray_Check(object)) { // a tensor of PyTorch's, say
        if (view.dtype != argument.dtype) return nullptr;
        array = Ref(PyArray_SimpleNew(0, nullptr, numpy_type(view.dtype)));
        if (!array) return nullptr;
        auto* made = static_cast<char*>(PyArray_DATA(numpy_array(array.get())));
        std::memcpy(made, view.array.data, static_cast<std::size_t>(info(view.dtype).bytes));
    } else if (check_array(object, argument.dtype, 0) != Mismatch::none) {
        return nullptr;
    }
    return copy_for_call(numpy_array(array.get()), argument.dtype, place, false);
}

PyObject* LoadedPlan::constant_on_device(std::size_t argument, PyObject* object, const cuda::Place& place) const {
    const Source& source = sources_[argument];
    const auto device = static_cast<std::size_t>(place.device);
    if (source.constant && device < source.on_device.size() && source.on_device[device])
        return Py_NewRef(source.on_device[device].get());
    Ref array = as_array(object, function_, executable_->plan().arguments[argument].name);
    if (!array) return nullptr;
    auto* numpy = numpy_array(array.get());
    if (!PyArray_IS_C_CONTIGUOUS(numpy) && !PyArray_IS_F_CONTIGUOUS(numpy)) {
        array = Ref(PyArray_NewCopy(numpy, NPY_CORDER));
        if (!array) return nullptr;
        numpy = numpy_array(array.get());
    }
    PyObject* copy =
        copy_for_call(numpy, executable_->plan().arguments[argument].dtype, place, static_cast<bool>(source.constant));
    // A fixed array is read-only and stays on the device; one that is looked up may have changed by the next call.
    if (copy && source.constant) {
        if (source.on_device.size() <= device) source.on_device.resize(device + 1);
        source.on_device[device] = Ref::borrowed(copy);
    }
    return copy;
}

LoadedPlan::Attempt LoadedPlan::call_on_device(DeviceArguments& arguments, PyObject* const* values, PyObject* out,
                                               Freedom freedom, Problem* problem, PyObject** result) const {
    const runtime::Plan& plan = executable_->plan();
    const cuda::Place place = arguments.place();
    const std::size_t count = sources_.size();
    Executable::Frame frame = executable_->lay_out(alloca(executable_->frame_bytes()));
    frame.place = &place;
    RefArray copies(alloca((count + 1) * sizeof(PyObject*)), count); // of arrays from outside of the call
    auto* ranges = static_cast<MemoryRange*>(alloca((writes_arguments_ ? count + 1 : 1) * sizeof(MemoryRange)));
    int misplaced = -1; // an error only of a call that is this plan's but for that
    for (std::size_t i = 0; i < count; ++i) {
        const runtime::PlanArgument& a = plan.arguments[i];
        PyObject* object = arguments.object(i);
        if (writes_arguments_) ranges[i] = {};
        if (!a.is_array) {
            if (!read_number(i, object, static_cast<bool>(sources_[i].exact_type), frame))
                return no_match(problem, Problem::Kind::scalar, i, object);
            continue;
        }
        DeviceView& view = arguments.view(i);
        if (arguments.is_misplaced(i, freedom.strict)) {
            if (misplaced < 0) misplaced = static_cast<int>(i);
            continue;
        }
        const bool is_number = arguments.is_host_number(i);
        if (is_number || view.device == DeviceView::kHost) {
            const bool may_be_copied =
                is_number || (sources_[i].parameter < 0 && check_array(object, a.dtype, a.rank) == Mismatch::none);
            if (may_be_copied)
                copies[i] = is_number ? number_on_device(object, view, a, place) : constant_on_device(i, object, place);
            if (!copies[i] && !PyErr_Occurred()) return no_match(problem, Problem::Kind::array, i, object);
            if (!copies[i]) return name_memory_error(function_), Attempt::error;
            view_device_array(copies[i], view);
        }
        if (!view.has_dtype || view.dtype != a.dtype || view.rank != a.rank)
            return no_match(problem, Problem::Kind::array, i, object);
        if (!has_whole_strides(view, info(a.dtype).bytes))
            return error(PyExc_TypeError, a.name + " is not aligned to its elements on the device. Pass a copy.");
        frame.arguments[i].array = view.array;
        if (writes_arguments_) ranges[i] = runtime::memory_of(view.array, view.rank, info(a.dtype).bytes);
    }
    if (misplaced >= 0) {
        arguments.raise_misplaced(static_cast<std::size_t>(misplaced));
        return Attempt::error;
    }
    for (std::size_t i = 0; i < count && writes_arguments_; ++i) {
        if (!plan.arguments[i].written) continue;
        std::string why = why_not_written(i, frame, !arguments.view(i).read_only, ranges);
        if (!why.empty()) return no_match(problem, Problem::Kind::written, i, nullptr, std::move(why));
    }
    int version = executable_->recall(frame, last_on_device_);
    if (version < 0) {
        if (!has_sizes(frame, arguments.objects(), problem)) return Attempt::no_match;
        version = executable_->select(frame);
        if (const Attempt attempt = served(frame, version, problem); attempt != Attempt::done) return attempt;
        executable_->remember(frame, version, last_on_device_);
    }
    if (!arguments.wait_for_data()) return Attempt::error;
    const Attempt attempt = run_on_device({frame, version, arguments, values, out, problem}, result);
    if (!arguments.finish() && attempt == Attempt::done) {
        Py_CLEAR(*result);
        return Attempt::error;
    }
    return attempt;
}

bool LoadedPlan::take_device_out(const DeviceCall& call, PyObject** given, DeviceViews& views) const {
    const runtime::Plan& plan = executable_->plan();
    if (!items_fit(call.out)) return false;
    MemoryRange taken[32];
    std::size_t ranges = 0;
    for (std::size_t r = 0; r < returns_.size(); ++r) {
        PyObject* item = item_at(call.out, r);
        const auto index = static_cast<std::size_t>(returns_[r].index);
        if (item == Py_None || given[index]) continue;
        const runtime::PlanBuffer& b = plan.results[index];
        const ArrayClass* its_class = array_class_of(item);
        DeviceView& view = views[index];
        if (its_class && !read_device_array(item, *its_class, call.arguments.place().stream, view)) return false;
        const int rank = static_cast<int>(b.shape.size());
        const bool same_type = view.has_dtype && view.dtype == b.dtype;
        const std::int64_t* const shape = call.frame.results[index].shape;
        const bool fits = its_class && view.device == call.arguments.place().device && same_type && view.rank == rank &&
                          std::equal(shape, shape + rank, view.array.shape);
        const std::int64_t bytes = info(b.dtype).bytes;
        const char* why_not = !fits                                               ? nullptr
                              : view.read_only                                    ? "read-only"
                              : !is_contiguous(view.array, rank, bytes, true)     ? "not C-contiguous"
                              : !has_whole_strides(view, static_cast<int>(bytes)) ? "not aligned to its elements"
                                                                                  : "";
        MemoryRange range;
        if (why_not && !*why_not) {
            // What shares memory cannot be computed aside and copied as on the host: the caller would not hear of it.
            range = runtime::memory_of(view.array, rank, bytes);
            for (std::size_t i = 0; i < sources_.size(); ++i) {
                if (!plan.arguments[i].is_array) continue;
                const runtime::ArrayView& other = call.frame.arguments[i].array;
                const int itsize = info(plan.arguments[i].dtype).bytes;
                if (range.meets(runtime::memory_of(other, plan.arguments[i].rank, itsize)))
                    why_not = "in the memory of an argument";
            }
            for (std::size_t i = 0; i < ranges; ++i)
                if (range.meets(taken[i])) why_not = "in the memory of another out";
        }
        if (!fits || *why_not) {
            error(same_type || !its_class ? PyExc_ValueError : PyExc_TypeError,
                  "out is " + describe_placed(item) + (why_not ? std::string(", ") + why_not : "") +
                      ", but the result is a C-contiguous " + std::string(info(b.dtype).name) +
                      extents_text(shape, rank) + " on " + device_name(call.arguments.place().device) +
                      " of its own memory.");
            return false;
        }
        if (ranges < 32) taken[ranges++] = range;
        DeviceMemory* memory = memory_of_device_array(item);
        if (memory && !or_python_error([&] { return memory->use_on(call.arguments.place().stream), true; }))
            return false;
        given[index] = Py_NewRef(item);
    }
    return true;
}

LoadedPlan::Attempt LoadedPlan::run_on_device(const DeviceCall& call, PyObject** result) const {
    const runtime::Plan& plan = executable_->plan();
    const cuda::Place& place = call.arguments.place();
    const ArrayClass& like = *call.arguments.view(call.arguments.leader()).of;
    const std::size_t results = plan.results.size();
    RefArray made(alloca((results + 1) * sizeof(PyObject*)), results);
    RefArray given(alloca((results + 1) * sizeof(PyObject*)), results);
    const std::size_t outs = call.out ? results : 0;
    DeviceViews views(alloca(DeviceViews::bytes(outs)), outs);
    if (call.out && !take_device_out(call, given.items(), views)) return Attempt::error;
    for (std::size_t i = 0; i < results; ++i) {
        const runtime::PlanBuffer& b = plan.results[i];
        runtime::CallResult& r = call.frame.results[i];
        if (given[i]) {
            r.data = views[i].array.data;
            continue;
        }
        DeviceResult fresh;
        if (!new_result_like({like, place, call.arguments.on_library_stream()}, b.dtype,
                             static_cast<int>(b.shape.size()), r.shape, r.elements, fresh)) {
            return name_memory_error(function_), Attempt::error;
        }
        made[i] = fresh.object.release();
        r.data = fresh.data;
    }
    RunningThread thread;
    const runtime::Interrupt interrupt = thread.interrupt();
    std::string failed;
    // Kernels are queued in less time than the GIL takes to change hands; loading their code and looking at data is
    // not.
    if (device_waits_ || !has_run_on_device_) thread.release_gil();
    RunStatus status = executable_->run(call.frame, call.version, &interrupt, &failed);
    thread.take_gil();
    if (status != RunStatus::done) return failure(status, call.version, failed, call.problem);
    has_run_on_device_ = true;

    Ref all = put_together(plan.returns_tuple, returns_.size(), [&](std::size_t r) {
        const auto& [is_result, index, number] = returns_[r];
        const auto i = static_cast<std::size_t>(index);
        const runtime::CallArgument* argument = is_result ? nullptr : &call.frame.arguments[i];
        if (!number.empty()) {
            if (argument && !plan.arguments[i].is_array) return python_number(number, argument->scalar);
            unsigned char value[16];
            const void* from = argument ? argument->array.data : call.frame.results[i].data;
            const int bytes = info(argument ? plan.arguments[i].dtype : plan.results[i].dtype).bytes;
            // The one place where such a call waits.
            const bool is_read = or_python_error(
                [&] { return cuda::copy_to_host(place, value, from, static_cast<std::size_t>(bytes)), true; });
            return is_read ? python_number(number, value) : Ref();
        }
        if (argument) { // the caller's very object
            PyObject* own = sources_[i].parameter >= 0 ? call.values[sources_[i].parameter] : call.arguments.object(i);
            return plan.arguments[i].is_array ? Ref::borrowed(own) : numpy_number(own);
        }
        return given[i] ? Ref::borrowed(given[i]) : hand_over(like, Ref::borrowed(made[i]));
    });
    *result = all.release();
    return *result ? Attempt::done : Attempt::error;
}

} // namespace tilewright::face
