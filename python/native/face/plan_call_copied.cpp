// python/native/face/plan_call_copied.cpp: calls of NumPy arrays that run on a device: the arrays are copied there, the
// results back.
#include <alloca.h>

#include <cstring>
#include <exception>
#include <vector>

#include "dsl/runtime/memory_range.h"
#include "python/native/face/call_parts.h"
#include "python/native/face/device_array.h"
#include "python/native/face/device_context.h"
#include "python/native/face/face_errors.h"
#include "python/native/face/plan_call.h"

namespace tilewright::face {
namespace {

namespace cuda = runtime::cuda;
using runtime::Executable;
using runtime::MemoryRange;
using runtime::RunStatus;

/// Blocks of a device's pool for one call.
class Blocks {
  public:
    explicit Blocks(const cuda::Place& place) : place_(place) {}
    ~Blocks() {
        for (void* block : blocks_)
            cuda::release(place_, block);
    }
    Blocks(const Blocks&) = delete;
    Blocks& operator=(const Blocks&) = delete;
    /// Null: out of device memory.
    void* add(std::int64_t bytes) {
        void* block = cuda::allocate(place_, static_cast<std::size_t>(bytes > 0 ? bytes : 1));
        if (block) blocks_.push_back(block);
        return block;
    }

  private:
    const cuda::Place& place_;
    std::vector<void*> blocks_;
};

struct Copy {
    void* to;
    const void* from;
    std::size_t bytes;
};

bool is_dense(PyArrayObject* array) {
    return PyArray_IS_C_CONTIGUOUS(array) || PyArray_IS_F_CONTIGUOUS(array);
}

} // namespace

LoadedPlan::Attempt LoadedPlan::call_with_copies(PyObject* const* values, PyObject* out, Freedom freedom,
                                                 Problem* problem, PyObject** result) const {
    const runtime::Plan& plan = executable_->plan();
    const cuda::Place place = default_place();
    if (!check_device(place.device)) return Attempt::error;
    const std::size_t count = sources_.size(), results = plan.results.size();
    Executable::Frame frame = executable_->lay_out(alloca(executable_->frame_bytes()));
    frame.place = &place;
    RefArray given_arrays(alloca((count + 1) * sizeof(PyObject*)), count); // as the caller has them, made arrays
    RefArray dense(alloca((count + 1) * sizeof(PyObject*)), count);        // what is copied
    std::vector<MemoryRange> ranges(count);
    for (std::size_t i = 0; i < count; ++i) {
        const runtime::PlanArgument& a = plan.arguments[i];
        PyObject* owned = nullptr;
        PyObject* object = object_of(i, values, owned);
        Ref owner(owned);
        if (!object) return no_match(problem, Problem::Kind::array, i, Py_None);
        if (!a.is_array) {
            if (!read_number(i, object, freedom.strict, frame))
                return no_match(problem, Problem::Kind::scalar, i, object);
            continue;
        }
        Ref array = Ref::borrowed(object);
        Mismatch mismatch = check_array(object, a.dtype, a.rank);
        if (mismatch == Mismatch::kind && (freedom.strict ? is_memmap(object) : !a.written || PyArray_Check(object))) {
            array = as_array(object, function_, a.name);
            if (!array) return Attempt::error;
            mismatch = check_array(array.get(), a.dtype, a.rank);
        }
        if (mismatch != Mismatch::none && mismatch != Mismatch::needs_copy)
            return no_match(problem, Problem::Kind::array, i, array.get());
        given_arrays[i] = array.release();
        view_of(numpy_array(given_arrays[i]), frame.arguments[i].array);
        ranges[i] = memory_of(numpy_array(given_arrays[i]));
        const bool as_it_lies = mismatch == Mismatch::none && is_dense(numpy_array(given_arrays[i]));
        dense[i] = as_it_lies ? Py_NewRef(given_arrays[i]) : PyArray_NewCopy(numpy_array(given_arrays[i]), NPY_CORDER);
        if (!dense[i]) return Attempt::error;
    }
    if (!may_write(frame, given_arrays.items(), out, ranges.data(), problem)) return Attempt::no_match;
    Blocks blocks(place);
    std::vector<Copy> there, back;
    int version = -1;
    try {
        for (bool in_c_order : {false, true}) {
            for (std::size_t i = 0; i < count; ++i)
                if (plan.arguments[i].is_array) {
                    if (in_c_order && !PyArray_IS_C_CONTIGUOUS(numpy_array(dense[i]))) {
                        PyObject* copy = PyArray_NewCopy(numpy_array(dense[i]), NPY_CORDER);
                        if (!copy) return Attempt::error;
                        Py_DECREF(dense[i]);
                        dense[i] = copy;
                    }
                    view_of(numpy_array(dense[i]), frame.arguments[i].array);
                }
            if (!has_sizes(frame, given_arrays.items(), problem)) return Attempt::no_match;
            version = executable_->select(frame);
            if (version >= 0 || (freedom.strict && !freedom.copies)) break;
        }
        if (const Attempt attempt = served(frame, version, problem); attempt != Attempt::done) return attempt;
        HostResults memory(alloca(HostResults::bytes(results)), results);
        RefArray &made = memory.made, &given = memory.given;
        if (out && !take_out(frame, out, given.items())) return Attempt::error;
        auto out_of_memory = [&] {
            return error(PyExc_MemoryError, device_name(place.device) +
                                                " has no memory left for the copies of this call's arrays. Free "
                                                "arrays, or call it with fewer elements.");
        };
        for (std::size_t i = 0; i < count; ++i) {
            if (!plan.arguments[i].is_array) continue;
            const auto bytes = static_cast<std::int64_t>(PyArray_NBYTES(numpy_array(dense[i])));
            frame.arguments[i].array.data = blocks.add(bytes);
            if (!frame.arguments[i].array.data) return out_of_memory();
            if (bytes == 0) continue;
            there.push_back(
                {frame.arguments[i].array.data, PyArray_DATA(numpy_array(dense[i])), static_cast<std::size_t>(bytes)});
            if (plan.arguments[i].written)
                back.push_back({PyArray_DATA(numpy_array(dense[i])), frame.arguments[i].array.data,
                                static_cast<std::size_t>(bytes)});
        }
        for (std::size_t i = 0; i < results; ++i) {
            const runtime::PlanBuffer& b = plan.results[i];
            runtime::CallResult& r = frame.results[i];
            const std::int64_t bytes = r.elements * info(b.dtype).bytes;
            r.data = blocks.add(bytes);
            if (!r.data) return out_of_memory();
            void* to = memory.scalar(i);
            if (given[i] && PyArray_IS_C_CONTIGUOUS(numpy_array(given[i])) &&
                PyArray_ISBEHAVED(numpy_array(given[i]))) {
                to = PyArray_DATA(numpy_array(given[i]));
            } else if (given[i] || !b.shape.empty()) {
                bool is_pooled = false;
                made[i] = reinterpret_cast<PyObject*>(
                    new_result(b.dtype, static_cast<int>(b.shape.size()), r.shape, r.elements, &is_pooled));
                if (!made[i]) return Attempt::error;
                to = PyArray_DATA(numpy_array(made[i]));
            }
            if (bytes > 0) back.push_back({to, r.data, static_cast<std::size_t>(bytes)});
        }
        RunningThread thread;
        const runtime::Interrupt interrupt = thread.interrupt();
        std::string failed;
        RunStatus status = RunStatus::done;
        std::exception_ptr thrown;
        thread.release_gil();
        try {
            for (const Copy& c : there)
                cuda::copy_to_device(place, c.to, c.from, c.bytes);
            status = executable_->run(frame, version, &interrupt, &failed);
            for (const Copy& c : back)
                if (status == RunStatus::done) cuda::copy_to_host(place, c.to, c.from, c.bytes);
        } catch (...) {
            thrown = std::current_exception();
        }
        thread.take_gil();
        if (thrown) std::rethrow_exception(thrown);
        if (status != RunStatus::done) return failure(status, version, failed, problem);
        for (std::size_t i = 0; i < count; ++i)
            if (plan.arguments[i].is_array && plan.arguments[i].written && dense[i] != given_arrays[i] &&
                PyArray_CopyInto(numpy_array(given_arrays[i]), numpy_array(dense[i])) != 0)
                return Attempt::error;
        return give_back({frame, version, values, given_arrays.items(), out, problem}, memory, result);
    } catch (...) {
        raise_current_exception();
        name_memory_error(function_);
        return Attempt::error;
    }
}

} // namespace tilewright::face
