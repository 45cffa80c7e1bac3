// dsl/runtime/cuda/marks.cpp: marks are events.
#include "dsl/runtime/cuda/marks.h"

#include "dsl/runtime/cuda/context.h"
#include "dsl/runtime/cuda/driver.h"

namespace tilewright::runtime::cuda {

void* mark(const Place& place) {
    Entered entered(place.device);
    Event event = nullptr;
    require(driver().event_create(&event, kEventWithoutTiming), "cuEventCreate");
    count(g_calls.events);
    const Status status = driver().event_record(event, stream_of(place));
    if (status != kSuccess) driver().event_destroy(event);
    require(status, "cuEventRecord");
    return event;
}

bool reached(void* mark) noexcept {
    return is_forked() || ready_driver().event_query(static_cast<Event>(mark)) != kNotReady;
}

void forget(void* mark) noexcept {
    if (!is_forked()) ready_driver().event_destroy(static_cast<Event>(mark));
}

} // namespace tilewright::runtime::cuda
