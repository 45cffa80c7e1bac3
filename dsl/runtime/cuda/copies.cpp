// dsl/runtime/cuda/copies.cpp: copies between host and device. Pageable memory goes through pinned slots, copied by
// several threads while the device copies another slot.
#include <algorithm>
#include <cstring>
#include <vector>

#include "dsl/runtime/cuda/captures.h"
#include "dsl/runtime/cuda/context.h"
#include "dsl/runtime/parallel.h"

namespace tilewright::runtime::cuda {
namespace {

/// Up to here the driver stages by itself as fast.
constexpr std::size_t kDirect = 64u << 10;
/// What one thread copies at a time.
constexpr std::size_t kPiece = 256u << 10;

Pointer address_of(const void* pointer) {
    return static_cast<Pointer>(reinterpret_cast<std::uintptr_t>(pointer));
}

void copy_by_threads(unsigned char* to, const unsigned char* from, std::size_t bytes) {
    parallel_pieces(bytes, kPiece,
                    [&](std::size_t begin, std::size_t count) { std::memcpy(to + begin, from + begin, count); });
}

/// Pinned, by torch's pin_memory() or so.
bool is_pinned(const void* pointer) {
    unsigned type = 0;
    return ready_driver().pointer_attribute(&type, kPointerMemoryType, address_of(pointer)) == kSuccess &&
           type == kHostMemory;
}

void wait_for_stream(const Place& place) {
    count(g_calls.stream_synchronizations);
    require(ready_driver().stream_synchronize(stream_of(place)), "waiting for a copy");
}

std::string bytes_text(const char* what, std::size_t bytes) {
    return std::string(what) + " of " + std::to_string(bytes) + " bytes";
}

void require_copy(Status status, const char* what, std::size_t bytes) {
    if (status != kSuccess) throw error_of(status, bytes_text(what, bytes));
}

/// A few pinned bytes for each thread: conditions of loops are read through them. They are kept for the life of the
/// process; a later thread takes the slots of ended ones.
class SmallSlot {
  public:
    static constexpr std::size_t kBytes = 256;
    ~SmallSlot() {
        if (!memory_) return;
        std::lock_guard lock(free().mutex);
        free().slots.push_back(memory_);
    }
    void* memory() {
        if (memory_) return memory_;
        std::lock_guard lock(free().mutex);
        if (!free().slots.empty()) {
            memory_ = free().slots.back();
            free().slots.pop_back();
            return memory_;
        }
        OutsideOfCaptures outside;
        count(g_calls.host_allocations);
        require(ready_driver().host_allocate(&memory_, kBytes, kPortableHostMemory), "pinned memory of 256 bytes");
        return memory_;
    }

  private:
    struct Free {
        std::mutex mutex;
        std::vector<void*> slots;
    };
    static Free& free() {
        static Free& all = *new Free;
        return all;
    }

    void* memory_ = nullptr;
};
thread_local SmallSlot t_small;

} // namespace

void Staging::prepare() {
    if (memory_) return;
    const Driver& d = ready_driver();
    for (Event& event : events_)
        if (!event) require(d.event_create(&event, kEventWithoutTiming), "cuEventCreate");
    void* memory = nullptr;
    OutsideOfCaptures outside;
    count(g_calls.host_allocations);
    require_copy(d.host_allocate(&memory, kSlots * kSlotBytes, kPortableHostMemory), "pinned memory",
                 kSlots * kSlotBytes);
    memory_ = static_cast<unsigned char*>(memory);
}

void Staging::mark(std::size_t chunk, Stream stream) {
    count(g_calls.events);
    require(ready_driver().event_record(events_[chunk % kSlots], stream), "cuEventRecord");
    marked_[chunk % kSlots] = true;
}

void Staging::wait(std::size_t chunk) {
    if (!marked_[chunk % kSlots]) return;
    count(g_calls.event_synchronizations);
    require(ready_driver().event_synchronize(events_[chunk % kSlots]), "waiting for a copy");
    marked_[chunk % kSlots] = false;
}

void copy_to_device(const Place& place, void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    Entered entered(place.device);
    const char* what = "a copy to the device";
    refuse_in_capture(place, what, "Copy before the capture begins: the graph reads what is there when it runs.");
    OutsideOfCaptures outside;
    const Driver& d = ready_driver();
    count(g_calls.copies_to_device);
    const bool pinned = is_pinned(from);
    if (pinned || bytes <= kDirect) {
        require_copy(d.copy_to_device(address_of(to), from, bytes, stream_of(place)), what, bytes);
        if (pinned) wait_for_stream(place); // the driver has read pageable memory when it returns
        return;
    }
    Staging& staging = entered.state().to_device;
    std::lock_guard lock(staging.mutex);
    staging.prepare();
    std::size_t chunk = 0;
    for (std::size_t at = 0; at < bytes; at += Staging::kSlotBytes, ++chunk) {
        const std::size_t part = std::min(Staging::kSlotBytes, bytes - at);
        staging.wait(chunk);
        copy_by_threads(staging.slot(chunk), static_cast<const unsigned char*>(from) + at, part);
        if (chunk > 0) count(g_calls.copies_to_device);
        require_copy(d.copy_to_device(address_of(to) + at, staging.slot(chunk), part, stream_of(place)), what, bytes);
        staging.mark(chunk, stream_of(place));
    }
}

void copy_to_host(const Place& place, void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    Entered entered(place.device);
    const char* what = "a copy to the host";
    refuse_in_capture(place, what,
                      "Copy behind the graph's launch. A function that decides by the values of its arrays, or gives a "
                      "Python number, cannot be captured.");
    OutsideOfCaptures outside;
    const Driver& d = ready_driver();
    count(g_calls.copies_to_host);
    if (bytes <= SmallSlot::kBytes) {
        void* slot = t_small.memory();
        require_copy(d.copy_to_host(slot, address_of(from), bytes, stream_of(place)), what, bytes);
        wait_for_stream(place);
        std::memcpy(to, slot, bytes);
        return;
    }
    if (bytes <= kDirect || is_pinned(to)) {
        require_copy(d.copy_to_host(to, address_of(from), bytes, stream_of(place)), what, bytes);
        return wait_for_stream(place);
    }
    Staging& staging = entered.state().to_host;
    std::lock_guard lock(staging.mutex);
    staging.prepare();
    const std::size_t chunks = (bytes + Staging::kSlotBytes - 1) / Staging::kSlotBytes;
    auto part_of = [&](std::size_t chunk) {
        return std::min(Staging::kSlotBytes, bytes - chunk * Staging::kSlotBytes);
    };
    auto ask = [&](std::size_t chunk) {
        staging.wait(chunk); // a copy that failed half way may have left it in use
        if (chunk > 0) count(g_calls.copies_to_host);
        require_copy(d.copy_to_host(staging.slot(chunk), address_of(from) + chunk * Staging::kSlotBytes, part_of(chunk),
                                    stream_of(place)),
                     what, bytes);
        staging.mark(chunk, stream_of(place));
    };
    for (std::size_t chunk = 0; chunk < std::min<std::size_t>(chunks, Staging::kSlots); ++chunk)
        ask(chunk);
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
        staging.wait(chunk);
        copy_by_threads(static_cast<unsigned char*>(to) + chunk * Staging::kSlotBytes, staging.slot(chunk),
                        part_of(chunk));
        if (chunk + Staging::kSlots < chunks) ask(chunk + Staging::kSlots);
    }
}

void copy_on_device(const Place& place, void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    Entered entered(place.device);
    count(g_calls.copies_on_device);
    require_copy(ready_driver().copy_on_device(address_of(to), address_of(from), bytes, stream_of(place)),
                 "a copy on the device", bytes);
}

void fill(const Place& place, void* to, unsigned char byte, std::size_t bytes) {
    if (bytes == 0) return;
    Entered entered(place.device);
    count(g_calls.fills);
    require_copy(ready_driver().fill(address_of(to), byte, bytes, stream_of(place)), "a fill", bytes);
}

} // namespace tilewright::runtime::cuda
