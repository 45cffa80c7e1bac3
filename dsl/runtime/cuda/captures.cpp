// dsl/runtime/cuda/captures.cpp: which capture a stream belongs to, and when its graphs are gone.
#include "dsl/runtime/cuda/captures.h"

#include "dsl/runtime/cuda/context.h"

namespace tilewright::runtime::cuda {
namespace {

bool is_legacy(const Place& place) {
    return stream_key(place.stream) == stream_key(nullptr);
}

enum CaptureStatus : int { kNotCaptured = 0, kCaptureActive = 1 };

} // namespace

bool is_captured(const Place& place) {
    // The legacy stream cannot be captured.
    if (is_legacy(place)) return false;
    Entered entered(place.device);
    int status = kNotCaptured;
    require(ready_driver().stream_capturing(stream_of(place), &status), "cuStreamIsCapturing");
    return status != kNotCaptured;
}

bool is_seen_captured(const Place& place) noexcept {
    int status = kNotCaptured;
    return !is_legacy(place) && ready_driver().stream_capturing(stream_of(place), &status) == kSuccess &&
           status != kNotCaptured;
}

bool find_capture(const Place& place, Captured& found) {
    if (!is_captured(place)) return false;
    Entered entered(place.device);
    int status = kNotCaptured;
    require(ready_driver().capture_info(stream_of(place), &status, &found.id, &found.graph, nullptr, nullptr),
            "cuStreamGetCaptureInfo");
    if (status != kCaptureActive) throw error_of(kCaptureInvalidated, "a call on a captured stream");
    return true;
}

IsOver watch_end_of(const Captured& capture) {
    using Flag = std::shared_ptr<std::atomic<bool>>;
    auto flag = std::make_shared<std::atomic<bool>>(false);
    auto kept = std::make_unique<Flag>(flag);
    const Driver& d = ready_driver();
    UserObject object = nullptr;
    // Called by a thread of the driver's, which may call nothing of it and wait for nobody.
    const auto end = [](void* data) {
        auto* own = static_cast<Flag*>(data);
        (*own)->store(true, std::memory_order_release);
        delete own;
    };
    require(d.user_object_create(&object, kept.get(), end, 1, kNoDestructorSync), "cuUserObjectCreate");
    kept.release();
    // The reference goes over to the graph; what is made of the graph holds further references.
    const Status status = d.graph_retain(capture.graph, object, 1, kMoveReference);
    if (status != kSuccess) d.user_object_release(object, 1);
    require(status, "cuGraphRetainUserObject");
    return flag;
}

void refuse_in_capture(const Place& place, const char* what, const char* hint) {
    Entered entered(place.device);
    if (is_seen_captured(place))
        throw DeviceError(std::string("cuda: ") + what +
                              ": the stream is being captured into a graph, and a graph cannot do this.",
                          hint);
}

} // namespace tilewright::runtime::cuda
