// dsl/runtime/cuda/marks.cpp: marks are events; of a captured stream, the end of its graph.
#include "dsl/runtime/cuda/marks.h"

#include "dsl/runtime/cuda/captures.h"
#include "dsl/runtime/cuda/context.h"

namespace tilewright::runtime::cuda {

struct Mark {
    Event event = nullptr;
    IsOver is_over; ///< in place of the event: launches of the graph come again
};

Mark* mark(const Place& place) {
    Entered entered(place.device);
    const Driver& d = driver();
    auto made = std::make_unique<Mark>();
    if (Captured captured; find_capture(place, captured)) {
        made->is_over = watch_end_of(captured);
        return made.release();
    }
    require(d.event_create(&made->event, kEventWithoutTiming), "cuEventCreate");
    count(g_calls.events);
    const Status status = d.event_record(made->event, stream_of(place));
    if (status != kSuccess) d.event_destroy(made->event);
    require(status, "cuEventRecord");
    return made.release();
}

bool reached(const Mark& mark) noexcept {
    if (is_forked()) return true;
    if (mark.is_over) return mark.is_over->load(std::memory_order_acquire);
    OutsideOfCaptures outside;
    return ready_driver().event_query(mark.event) != kNotReady;
}

void forget(Mark* mark) noexcept {
    if (mark->event && !is_forked()) ready_driver().event_destroy(mark->event);
    delete mark;
}

} // namespace tilewright::runtime::cuda
