// python/native/face/plan_call_copied.cpp: calls of NumPy arrays that run on a device: the arrays are copied there, the
// results back.
#include <alloca.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <vector>

#include "python/native/face/call_parts.h"
#include "python/native/face/device_array.h"
#include "python/native/face/face_errors.h"
#include "python/native/face/plan_call.h"

namespace tilewright::face {
namespace {

namespace cuda = runtime::cuda;
using runtime::RunStatus;

struct Copied {
    void *host, *device;
    std::size_t bytes;
    bool goes_there, comes_back;
};

} // namespace

LoadedPlan::Attempt LoadedPlan::call_with_copies(HostCall call, bool copies, PyObject** result) const {
    const runtime::Plan& plan = executable_->plan();
    const cuda::Place& place = *call.frame.place;
    const std::size_t count = sources_.size(), results = plan.results.size();
    RefArray dense(alloca((count + 1) * sizeof(PyObject*)), count); // what is copied
    const auto release = [&](void* block) { cuda::release(place, block); };
    std::vector<std::unique_ptr<void, decltype(release)>> blocks;
    std::vector<Copied> moved;
    // False: out of device memory.
    const auto move = [&](void*& data, std::int64_t bytes, bool goes_there, bool comes_back) {
        void* const block = cuda::allocate(place, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)));
        if (!block) return false;
        blocks.emplace_back(block, release);
        if (bytes > 0) moved.push_back({data, block, static_cast<std::size_t>(bytes), goes_there, comes_back});
        data = block;
        return true;
    };
    try {
        for (const bool in_c_order : {false, true}) {
            for (std::size_t i = 0; i < count; ++i) {
                if (!plan.arguments[i].is_array) continue;
                auto* array = numpy_array(call.arrays[i]);
                const bool as_it_lies =
                    PyArray_IS_C_CONTIGUOUS(array) || (PyArray_IS_F_CONTIGUOUS(array) && !in_c_order);
                Py_XDECREF(dense[i]);
                dense[i] = as_it_lies ? Py_NewRef(call.arrays[i]) : PyArray_NewCopy(array, NPY_CORDER);
                if (!dense[i]) return Attempt::error;
                view_of(numpy_array(dense[i]), call.frame.arguments[i].array);
            }
            if (!has_sizes(call.frame, call.arrays, call.problem)) return Attempt::no_match;
            call.version = executable_->select(call.frame);
            if (call.version >= 0 || !copies) break;
        }
        const Attempt attempt = served(call.frame, call.version, call.problem);
        if (attempt != Attempt::done) return attempt;
        HostResults memory(alloca(HostResults::bytes(results)), results);
        if (make_room(call, memory) < 0) return Attempt::error;
        bool has_memory = true;
        for (std::size_t i = 0; i < count && has_memory; ++i)
            if (plan.arguments[i].is_array)
                has_memory = move(call.frame.arguments[i].array.data, PyArray_NBYTES(numpy_array(dense[i])), true,
                                  plan.arguments[i].written);
        for (std::size_t i = 0; i < results && has_memory; ++i) {
            runtime::CallResult& r = call.frame.results[i];
            r.is_pooled = false;
            has_memory = move(r.data, r.elements * info(plan.results[i].dtype).bytes, false, true);
        }
        if (!has_memory)
            return error(PyExc_MemoryError, device_name(place.device) +
                                                " has no memory left for the copies of this call's arrays. Free "
                                                "arrays, or call it with fewer elements.");
        RunningThread thread;
        const runtime::Interrupt interrupt = thread.interrupt();
        std::string failed;
        RunStatus status = RunStatus::done;
        std::exception_ptr thrown;
        thread.release_gil();
        try {
            for (const Copied& c : moved)
                if (c.goes_there) cuda::copy_to_device(place, c.device, c.host, c.bytes);
            status = executable_->run(call.frame, call.version, &interrupt, &failed);
            for (const Copied& c : moved)
                if (c.comes_back && status == RunStatus::done) cuda::copy_to_host(place, c.host, c.device, c.bytes);
        } catch (...) {
            thrown = std::current_exception();
        }
        thread.take_gil();
        if (thrown) std::rethrow_exception(thrown);
        if (status != RunStatus::done) return failure(status, call.version, failed, call.problem);
        for (std::size_t i = 0; i < count; ++i)
            if (plan.arguments[i].written && dense[i] != call.arrays[i] &&
                PyArray_CopyInto(numpy_array(call.arrays[i]), numpy_array(dense[i])) != 0)
                return Attempt::error;
        return give_back(call, memory, nullptr, result);
    } catch (...) {
        raise_current_exception();
        name_memory_error(function_);
        return Attempt::error;
    }
}

} // namespace tilewright::face
