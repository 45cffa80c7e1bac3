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

PyArrayObject* numpy(PyObject* object) {
    return reinterpret_cast<PyArrayObject*>(object);
}

} // namespace

LoadedPlan::Attempt LoadedPlan::call_with_copies(PyObject* const* values, PyObject* out, Freedom freedom,
                                                 Problem* problem, PyObject** result) const {
    const runtime::Plan& plan = executable_->plan();
    const cuda::Place place = default_place();
    if (!check_device(place.device)) return Attempt::error;
    const std::size_t count = sources_.size(), results = plan.results.size(), returns = returns_.size();
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
            auto* exact_type = reinterpret_cast<PyTypeObject*>(sources_[i].exact_type.get());
            if (!read_scalar(object, a.dtype, exact_type, freedom.strict, frame.arguments[i].scalar))
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
        view_of(numpy(given_arrays[i]), frame.arguments[i].array);
        ranges[i] = memory_of(numpy(given_arrays[i]));
        const bool as_it_lies = mismatch == Mismatch::none && is_dense(numpy(given_arrays[i]));
        dense[i] = as_it_lies ? Py_NewRef(given_arrays[i]) : PyArray_NewCopy(numpy(given_arrays[i]), NPY_CORDER);
        if (!dense[i]) return Attempt::error;
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (!plan.arguments[i].written) continue;
        const bool is_writeable = PyArray_ISWRITEABLE(numpy(given_arrays[i]));
        std::string why = why_not_written(i, frame.arguments[i].array, is_writeable, ranges.data());
        if (why.empty() && out) why = why_out_is_shared(i, out, ranges[i]);
        if (!why.empty()) return no_match(problem, Problem::Kind::written, i, nullptr, std::move(why));
    }
    Blocks blocks(place);
    std::vector<Copy> there, back;
    int version = -1;
    try {
        for (bool in_c_order : {false, true}) {
            for (std::size_t i = 0; i < count; ++i)
                if (plan.arguments[i].is_array) {
                    if (in_c_order && !PyArray_IS_C_CONTIGUOUS(numpy(dense[i]))) {
                        PyObject* copy = PyArray_NewCopy(numpy(dense[i]), NPY_CORDER);
                        if (!copy) return Attempt::error;
                        Py_DECREF(dense[i]);
                        dense[i] = copy;
                    }
                    view_of(numpy(dense[i]), frame.arguments[i].array);
                }
            if (!has_sizes(frame, given_arrays.items(), problem)) return Attempt::no_match;
            version = executable_->select(frame);
            if (version >= 0 || (freedom.strict && !freedom.copies)) break;
        }
        if (const Attempt attempt = served(frame, version, problem); attempt != Attempt::done) return attempt;
        RefArray given(alloca((results + 1) * sizeof(PyObject*)), results);
        if (out && !take_out(frame, out, given.items())) return Attempt::error;
        auto out_of_memory = [&] {
            PyErr_Format(PyExc_MemoryError,
                         "%s: cuda:%d has no memory left for the copies of this call's arrays. Free arrays, or call it "
                         "with fewer elements.",
                         function_.c_str(), place.device);
            return Attempt::error;
        };
        for (std::size_t i = 0; i < count; ++i) {
            if (!plan.arguments[i].is_array) continue;
            const auto bytes = static_cast<std::int64_t>(PyArray_NBYTES(numpy(dense[i])));
            frame.arguments[i].array.data = blocks.add(bytes);
            if (!frame.arguments[i].array.data) return out_of_memory();
            if (bytes == 0) continue;
            there.push_back(
                {frame.arguments[i].array.data, PyArray_DATA(numpy(dense[i])), static_cast<std::size_t>(bytes)});
            if (plan.arguments[i].written)
                back.push_back(
                    {PyArray_DATA(numpy(dense[i])), frame.arguments[i].array.data, static_cast<std::size_t>(bytes)});
        }
        RefArray made(alloca((results + 1) * sizeof(PyObject*)), results);
        auto* scalars = static_cast<unsigned char*>(alloca(16 * results + 16));
        scalars += -reinterpret_cast<std::uintptr_t>(scalars) & 15;
        for (std::size_t i = 0; i < results; ++i) {
            const runtime::PlanBuffer& b = plan.results[i];
            runtime::CallResult& r = frame.results[i];
            const std::int64_t bytes = r.elements * info(b.dtype).bytes;
            r.data = blocks.add(bytes);
            if (!r.data) return out_of_memory();
            void* to = scalars + 16 * i;
            if (given[i] && PyArray_IS_C_CONTIGUOUS(numpy(given[i])) && PyArray_ISBEHAVED(numpy(given[i]))) {
                to = PyArray_DATA(numpy(given[i]));
            } else if (given[i] || !b.shape.empty()) {
                bool is_pooled = false;
                made[i] = reinterpret_cast<PyObject*>(
                    new_result(b.dtype, static_cast<int>(b.shape.size()), r.shape, r.elements, &is_pooled));
                if (!made[i]) return Attempt::error;
                to = PyArray_DATA(numpy(made[i]));
            }
            if (bytes > 0) back.push_back({to, r.data, static_cast<std::size_t>(bytes)});
        }
        RunningThread thread;
        const runtime::Interrupt interrupt{
            [](void* context) { return static_cast<RunningThread*>(context)->interrupted(); }, &thread};
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
        if (status == RunStatus::check_failed)
            return no_match(problem, Problem::Kind::check, 0, nullptr, failed), Attempt::unchecked;
        if (status != RunStatus::done) return failure(status, version, failed);
        for (std::size_t i = 0; i < count; ++i)
            if (plan.arguments[i].is_array && plan.arguments[i].written && dense[i] != given_arrays[i] &&
                PyArray_CopyInto(numpy(given_arrays[i]), numpy(dense[i])) != 0)
                return Attempt::error;

        Returned all(plan.returns_tuple, returns);
        if (!all.is_made()) return Attempt::error;
        for (std::size_t r = 0; r < returns; ++r) {
            const auto i = static_cast<std::size_t>(returns_[r].index);
            const std::string& number = returns_[r].number;
            Ref item;
            if (!returns_[r].is_result && number.empty()) {
                item = Ref::borrowed(sources_[i].parameter >= 0 ? values[sources_[i].parameter] : given_arrays[i]);
            } else if (!returns_[r].is_result) {
                item = python_number(number, plan.arguments[i].is_array
                                                 ? PyArray_DATA(numpy(given_arrays[i]))
                                                 : static_cast<const void*>(frame.arguments[i].scalar));
            } else if (given[i]) {
                if (made[i] && PyArray_CopyInto(numpy(given[i]), numpy(made[i])) != 0) return Attempt::error;
                item = Ref::borrowed(given[i]);
            } else if (made[i]) {
                item = Ref::borrowed(made[i]);
            } else {
                item = number.empty()
                           ? Ref(PyArray_Scalar(scalars + 16 * i,
                                                reinterpret_cast<PyArray_Descr*>(result_descrs_[i].get()), nullptr))
                           : python_number(number, scalars + 16 * i);
            }
            if (!item) return Attempt::error;
            all.put(r, std::move(item));
        }
        *result = returns == 0 ? Py_NewRef(Py_None) : all.release();
        return Attempt::done;
    } catch (...) {
        raise_current_exception();
        name_memory_error(function_);
        return Attempt::error;
    }
}

} // namespace tilewright::face
