// python/native/face/device_arguments.cpp: where the arrays of a call lie, and on which streams they become ready.
#include "python/native/face/device_arguments.h"

#include <deque>
#include <new>

#include "dsl/runtime/cuda/marks.h"
#include "python/native/face/device_array.h"
#include "python/native/face/face_errors.h"

namespace tilewright::face {
namespace {

namespace cuda = runtime::cuda;
using Access = ArrayClass::Access;

/// Arrays whose library may use their memory again as soon as we let go of them, with the mark behind which we may.
/// The GIL guards it.
class Kept {
  public:
    void add(cuda::Mark* mark, Ref object, bool is_graphs) {
        (is_graphs ? of_graphs_ : list_).push_back({mark, std::move(object)});
    }
    void drop_finished() {
        while (!list_.empty() && cuda::reached(*list_.front().mark)) {
            Entry gone = std::move(list_.front());
            list_.pop_front();
            cuda::forget(gone.mark);
        }
        // Graphs end in any order.
        std::deque<Entry> gone;
        for (auto entry = of_graphs_.begin(); entry != of_graphs_.end();) {
            const bool is_gone = cuda::reached(*entry->mark);
            if (is_gone) {
                cuda::forget(entry->mark);
                gone.push_back(std::move(*entry));
            }
            entry = is_gone ? of_graphs_.erase(entry) : entry + 1;
        }
    }

  private:
    struct Entry {
        cuda::Mark* mark;
        Ref object;
    };
    std::deque<Entry> list_, of_graphs_;
};

Kept& kept() {
    static Kept& all = *new Kept; // never destroyed: at exit there may be no interpreter to give references back to
    return all;
}

} // namespace

bool keep_for_graph(const cuda::Place& place, Ref object) {
    return or_python_error([&] {
        kept().drop_finished();
        kept().add(cuda::mark(place), std::move(object), true);
        return true;
    });
}

bool LoadedPlan::DeviceArguments::read() {
    bool asks_for_stream = false;
    auto look = [&](std::size_t i, const ArrayClass& its_class) {
        if (read_device_array(objects_[i], its_class, place_.stream, views_[i])) return true;
        const bool is_type_error = PyErr_ExceptionMatches(PyExc_TypeError);
        if (is_type_error || PyErr_ExceptionMatches(g_device_error)) {
            PyObject* const type = is_type_error ? PyExc_TypeError : g_device_error;
            const Ref said = taken_error();
            PyErr_Format(type, "%s: %s is %S", plan_.function_.c_str(), name(i).c_str(), said ? said.get() : type);
        }
        return false;
    };
    for (std::size_t i = 0; i < count_; ++i) {
        const ArrayClass* its_class = is_array(i) ? array_class_of(objects_[i]) : nullptr;
        if (!its_class) continue;
        if (its_class->access == Access::dlpack)
            asks_for_stream = true;
        else if (!look(i, *its_class))
            return false;
        if (views_[i].device != DeviceView::kHost && leader_ < 0) leader_ = static_cast<int>(i);
    }
    const DeviceContext* context = device_context();
    if (context) place_ = context->place;
    if (leader_ >= 0) {
        const DeviceView& first = views_[leader()];
        const bool is_there = context && context->place.device == first.device;
        const bool is_given = is_there && context->has_stream;
        if (!is_there) place_ = {first.device, nullptr};
        bool failed = false;
        void* stream = nullptr;
        on_library_stream_ = !is_given && library_stream(first, stream, failed);
        if (on_library_stream_) place_.stream = stream;
        if (failed) return false;
    }
    if (!asks_for_stream) return true;
    for (std::size_t i = 0; i < count_; ++i) {
        const ArrayClass* its_class = is_array(i) ? array_class_of(objects_[i]) : nullptr;
        if (!its_class || its_class->access != Access::dlpack) continue;
        if (!look(i, *its_class)) return false;
        if (views_[i].device == DeviceView::kHost) continue;
        if (leader_ < 0) place_.device = views_[i].device;
        if (leader_ < 0 || leader_ > static_cast<int>(i)) leader_ = static_cast<int>(i);
    }
    return true;
}

bool LoadedPlan::DeviceArguments::is_host_number(std::size_t i) const {
    const runtime::PlanArgument& a = plan_.executable_->plan().arguments[i];
    return a.is_array && a.rank == 0 && !a.written && has_no_dimensions(i);
}

bool LoadedPlan::DeviceArguments::has_no_dimensions(std::size_t i) const {
    if (!is_passed(i) || views_[i].device != DeviceView::kHost) return false;
    if (PyArray_CheckExact(objects_[i])) return PyArray_NDIM(numpy_array(objects_[i])) == 0;
    return views_[i].of && views_[i].rank == 0 && views_[i].array.data && views_[i].has_dtype;
}

bool LoadedPlan::DeviceArguments::is_misplaced(std::size_t i, bool strict) const {
    if (!is_array(i) || views_[i].device == place_.device) return false;
    if (views_[i].device != DeviceView::kHost) return true;
    if (!is_passed(i)) return false;
    // A number on the host that this plan does not take, or cannot write into.
    if (has_no_dimensions(i)) return plan_.executable_->plan().arguments[i].written;
    PyObject* object = objects_[i];
    // Of what says no more than that it is on the host, the function that is wrapped makes a NumPy array first.
    return PyArray_Check(object) || (views_[i].of && !(strict && !views_[i].array.data)) ||
           (!strict && (PyList_Check(object) || PyTuple_Check(object)));
}

void LoadedPlan::DeviceArguments::raise_misplaced(std::size_t i) const {
    std::string here = describe_placed(objects_[leader()]), there = describe_placed(objects_[i]);
    const char* advice = views_[i].device == DeviceView::kHost ? "Move it: to_device(), or its library's own way"
                                                               : "Copy one of them to the other's device";
    PyErr_Format(PyExc_TypeError, "%s: %s is %s, but %s is %s. The arrays of a call lie on one device. %s.",
                 plan_.function_.c_str(), name(leader()).c_str(), here.c_str(), name(i).c_str(), there.c_str(), advice);
}

bool LoadedPlan::DeviceArguments::wait_for_data() {
    return or_python_error([&] {
        for (std::size_t i = 0; i < count_; ++i) {
            DeviceView& view = views_[i];
            if (!view.of || view.device != place_.device) continue;
            if (DeviceMemory* memory = memory_of_device_array(objects_[i])) {
                memory->use_on(place_.stream);
                continue;
            }
            // A library that was asked already says the same again.
            if (on_library_stream_ && view.of->api && view.of->api == views_[leader()].of->api) continue;
            bool failed = false;
            if (!view.has_stream) view.has_stream = library_stream(view, view.stream, failed);
            if (failed) return false;
            if (view.has_stream && view.stream != place_.stream) {
                cuda::wait_for(place_, {place_.device, view.stream});
                has_to_finish_ = true;
            }
            has_to_finish_ = has_to_finish_ || view.of->access == Access::dlpack;
        }
        return true;
    });
}

bool LoadedPlan::DeviceArguments::finish() {
    if (!has_to_finish_) return true;
    return or_python_error([&] {
        // What is captured is not run: a stream that is in no graph cannot wait for it, and its launches come later.
        const bool is_captured = cuda::is_captured(place_);
        for (std::size_t i = 0; i < count_; ++i) {
            DeviceView& view = views_[i];
            if (!view.of || view.device != place_.device || view.of->library == ArrayClass::Library::ours) continue;
            if (view.has_stream && view.stream != place_.stream &&
                (!is_captured || cuda::is_captured({place_.device, view.stream})))
                cuda::wait_for({place_.device, view.stream}, place_);
            if (view.of->access != Access::dlpack) continue;
            kept().drop_finished();
            kept().add(cuda::mark(place_), std::move(view.keep), is_captured);
        }
        return true;
    });
}

void LoadedPlan::DeviceArguments::raise_without_device_code() const {
    PyErr_Format(PyExc_TypeError,
                 "%s: %s is %s, but this module has no code for CUDA devices. Export it with --target host,cuda, or "
                 "pass a NumPy array.",
                 plan_.function_.c_str(), name(leader()).c_str(), describe_placed(objects_[leader()]).c_str());
}

} // namespace tilewright::face
