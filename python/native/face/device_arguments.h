// python/native/face/device_arguments.h: the arguments of a call some of whose arrays may lie on a device.
#pragma once

#include "python/native/face/device_context.h"
#include "python/native/face/plan_call.h"

namespace tilewright::face {

/// Holds an object as long as something is left of the graph that the place's stream is captured into. False with a
/// Python error.
bool keep_for_graph(const runtime::cuda::Place& place, Ref object);

class LoadedPlan::DeviceArguments {
  public:
    /// `objects` stays the caller's; `memory` has DeviceViews::bytes() of the stack.
    DeviceArguments(const LoadedPlan& plan, PyObject** objects, void* memory)
        : plan_(plan), objects_(objects), views_(memory, plan.sources_.size()), count_(plan.sources_.size()) {}

    /// Looks at each array and decides where the call runs. False with a Python error.
    bool read();
    /// After read(): whether an array lies on a device; otherwise the call is one of the host.
    bool on_device() const { return leader_ >= 0; }
    /// The first argument on a device: results are of its library.
    std::size_t leader() const { return static_cast<std::size_t>(leader_); }
    const runtime::cuda::Place& place() const { return place_; }
    /// Whether the place's stream is the one that the leader's library computes on now.
    bool on_library_stream() const { return on_library_stream_; }
    DeviceView& view(std::size_t i) { return views_[i]; }
    const DeviceView& view(std::size_t i) const { return views_[i]; }
    PyObject* object(std::size_t i) const { return objects_[i]; }
    PyObject* const* objects() const { return objects_; }

    /// Whether it is an array of no dimensions on the host, which the call only reads: a number beside arrays on a
    /// device, and copied there for the call.
    bool is_host_number(std::size_t i) const;
    /// Whether an argument's array is on the host, or on another device. What is no array at all is not placed wrongly:
    /// another plan may take it. Lists and tuples are arrays where calls convert them (not `strict`).
    bool is_misplaced(std::size_t i, bool strict) const;
    /// TypeError about an array that is.
    void raise_misplaced(std::size_t i) const;
    /// The place waits for the streams on which the data become ready. False with a Python error.
    bool wait_for_data();
    /// The streams of the arrays' libraries wait for the place, and what has to live until it is done is kept.
    bool finish();
    /// TypeError: the plan has no version for a device.
    void raise_without_device_code() const;

  private:
    /// An array on the host that the caller passes, without dimensions.
    bool has_no_dimensions(std::size_t i) const;
    bool is_array(std::size_t i) const { return plan_.executable_->plan().arguments[i].is_array; }
    const std::string& name(std::size_t i) const { return plan_.executable_->plan().arguments[i].name; }
    /// An array that the caller passes; others come from outside of the call and are copied to the device.
    bool is_passed(std::size_t i) const { return plan_.sources_[i].parameter >= 0; }

    const LoadedPlan& plan_;
    PyObject** objects_;
    DeviceViews views_;
    std::size_t count_;
    int leader_ = -1;
    bool on_library_stream_ = false;
    bool has_to_finish_ = false; ///< some array lies on another stream, or has to be kept
    runtime::cuda::Place place_;
};

} // namespace tilewright::face
