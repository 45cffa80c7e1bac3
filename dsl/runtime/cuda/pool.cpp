// dsl/runtime/cuda/pool.cpp: size classes, lists for each stream, events between streams, and what happens when the
// memory of a device is used up.
#include "dsl/runtime/cuda/pool.h"

#include <algorithm>
#include <cstdlib>

#include "dsl/runtime/cuda/context.h"

namespace tilewright::runtime::cuda {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 44;
// The driver maps memory in pages of this size; larger blocks are whole pages and not rounded to a class.
constexpr std::size_t kPage = std::size_t{2} << 20;
constexpr std::size_t kPagesFrom = 4 * kPage;
/// How many events of other streams are asked about for one block.
constexpr int kMostQueries = 8;
/// Streams come and go: beyond this many, those whose blocks are all free for any stream are forgotten.
constexpr std::size_t kMostStreams = 64;

} // namespace

std::size_t DevicePool::capacity_for(std::size_t bytes) {
    return bytes < kPagesFrom ? Classes::bytes(Classes::of(bytes)) : (bytes + kPage - 1) / kPage * kPage;
}

void DevicePool::set_device(int ordinal, std::size_t memory_bytes) {
    device_ = ordinal;
    memory_bytes_ = memory_bytes;
    lists_.push_back(std::make_unique<Lists>());
}

std::size_t DevicePool::limit() const {
    struct Wanted {
        double megabytes = -1, share = 0.25;
    };
    // 500 is megabytes, 10% a share of the device's memory.
    static const Wanted wanted = [] {
        Wanted w;
        const char* text = std::getenv("TILEWRIGHT_DEVICE_POOL_MB");
        char* end = nullptr;
        const double number = text ? std::max(0.0, std::strtod(text, &end)) : 0;
        if (!text || end == text) return w;
        if (*end == '%' && end[1] == '\0')
            w.share = std::min(number, 100.0) / 100;
        else if (*end == '\0')
            w.megabytes = number;
        return w; // what means nothing counts as not set
    }();
    return static_cast<std::size_t>(wanted.megabytes >= 0 ? wanted.megabytes * (1 << 20)
                                                          : wanted.share * static_cast<double>(memory_bytes_));
}

DevicePool::Lists* DevicePool::lists_of(void* key) {
    for (auto& lists : lists_)
        if (lists->key == key) return lists.get();
    if (lists_.size() > kMostStreams)
        std::erase_if(lists_, [](const auto& lists) { return lists->key && lists->bytes == 0; });
    lists_.push_back(std::make_unique<Lists>());
    lists_.back()->key = key;
    return lists_.back().get();
}

DevicePool::Block* DevicePool::unlink(Lists& lists, Block*& link) {
    Block* block = link;
    link = block->next;
    lists.bytes -= block->capacity;
    kept_bytes_ -= block->capacity;
    return block;
}

DevicePool::Block* DevicePool::take(Lists& lists, int size_class, std::size_t capacity) {
    if (lists.bytes < capacity) return nullptr;
    for (int c = size_class; c <= std::min(size_class + 1, kClasses - 1); ++c)
        for (Block** link = &lists.first[c]; *link; link = &(*link)->next)
            if ((*link)->capacity >= capacity) return unlink(lists, *link);
    return nullptr;
}

DevicePool::Block* DevicePool::take(void* key, int size_class, std::size_t capacity) {
    Block* block = take(*lists_of(key), size_class, capacity);
    return block ? block : take(*lists_[0], size_class, capacity);
}

/// Where all that used it is done.
DevicePool::Block* DevicePool::take_passed(int size_class, std::size_t capacity) {
    int queries = 0;
    for (auto& lists : lists_) {
        if (!lists->key || lists->bytes < capacity) continue;
        for (Block** link = &lists->first[size_class]; *link && queries < kMostQueries; link = &(*link)->next) {
            Block* block = *link;
            if (block->capacity < capacity || !block->has_event) continue;
            ++queries;
            if (ready_driver().event_query(block->event) == kSuccess) return unlink(*lists, *link);
        }
    }
    return nullptr;
}

DevicePool::Capture& DevicePool::capture_of(const Captured& captured) {
    for (auto& capture : captures_)
        if (capture->id == captured.id) return *capture;
    captures_.push_back(std::make_unique<Capture>(Capture{captured.id, watch_end_of(captured), {}}));
    return *captures_.back();
}

DevicePool::Block* DevicePool::take_in_capture(const Captured& captured, void* key, int size_class,
                                               std::size_t capacity) {
    Capture& capture = capture_of(captured);
    for (Block* block : capture.blocks)
        if (block->free_on == key && block->capacity >= capacity && block->size_class <= size_class + 1) {
            block->free_on = nullptr;
            return block;
        }
    // The graph may run on any stream, beside what is on this one by now. What is kept is not given back to the driver
    // for it: that waits for the device, and with it for the capture.
    Block* block = take(*lists_[0], size_class, capacity);
    if (!block) block = take_passed(size_class, capacity);
    if (!block) block = make(capacity);
    if (!block) return nullptr;
    block->capture = &capture;
    capture.blocks.push_back(block);
    return block;
}

void DevicePool::collect() {
    std::erase_if(captures_, [&](const auto& capture) {
        if (!capture->is_over->load(std::memory_order_acquire)) return false;
        for (Block* block : capture->blocks) {
            block->capture = nullptr;
            if (!block->free_on) continue;
            block->free_on = nullptr;
            block->has_event = false;
            block->age = ++releases_;
            put(*lists_[0], block);
        }
        return true;
    });
}

DevicePool::Block* DevicePool::make(std::size_t capacity) {
    Pointer address = 0;
    count(g_calls.allocations);
    Status status = ready_driver().allocate(&address, capacity);
    if (status == kOutOfDeviceMemory) return nullptr;
    if (status != kSuccess)
        throw error_of(status,
                       "allocating " + std::to_string(capacity) + " bytes on device " + std::to_string(device_));
    auto block = std::make_unique<Block>();
    block->address = address;
    block->capacity = capacity;
    block->size_class = Classes::of(capacity);
    Block* made = block.get();
    blocks_[address] = std::move(block);
    return made;
}

void* DevicePool::allocate(const Place& place, std::size_t bytes) {
    if (bytes > kMaxBytes) return nullptr;
    const std::size_t capacity = capacity_for(bytes);
    const int size_class = Classes::of(capacity);
    void* key = stream_key(place.stream);
    auto hand_out = [&](Block* block) {
        live_bytes_ += block->capacity;
        return reinterpret_cast<void*>(static_cast<std::uintptr_t>(block->address));
    };
    std::lock_guard lock(mutex_);
    // The legacy stream cannot be captured: nothing is asked of the driver.
    if (key == stream_key(nullptr)) [[likely]]
        if (Block* block = take(key, size_class, capacity)) return hand_out(block);
    Entered entered(device_);
    if (!captures_.empty()) collect();
    if (Captured captured; find_capture(place, captured)) {
        OutsideOfCaptures outside;
        Block* block = take_in_capture(captured, key, size_class, capacity);
        return block ? hand_out(block) : nullptr;
    }
    Block* block = take(key, size_class, capacity);
    if (block) return hand_out(block);
    OutsideOfCaptures outside;
    block = take_passed(size_class, capacity);
    if (!block) block = make(capacity);
    // What is kept may be what is missing.
    if (!block && kept_bytes_ > 0) {
        give_back_kept();
        block = make(capacity);
    }
    return block ? hand_out(block) : nullptr;
}

void DevicePool::put(Lists& lists, Block* block) {
    block->next = lists.first[block->size_class];
    lists.first[block->size_class] = block;
    lists.bytes += block->capacity;
    kept_bytes_ += block->capacity;
}

void DevicePool::release(const Place& place, void* pointer) noexcept {
    if (!pointer) return;
    std::lock_guard lock(mutex_);
    auto found = blocks_.find(static_cast<Pointer>(reinterpret_cast<std::uintptr_t>(pointer)));
    if (found == blocks_.end()) return;
    Block* block = found->second.get();
    live_bytes_ -= block->capacity;
    if (block->capture) {
        // The graph uses it whenever it is launched.
        block->free_on = stream_key(place.stream);
        return collect();
    }
    Lists& lists = *lists_of(stream_key(place.stream));
    block->age = ++releases_;
    block->has_event = false;
    try {
        if (lists_.size() > 2) mark_release(block, place);
        put(lists, block);
        if (kept_bytes_ > limit()) {
            Entered entered(device_);
            OutsideOfCaptures outside;
            keep_within_limit(block);
        }
    } catch (const std::exception&) {
        // A lost context has lost its memory as well.
    }
}

void DevicePool::mark_release(Block* block, const Place& place) {
    Entered entered(device_);
    // An event of a captured stream is the graph's. (Of the legacy stream the driver says whether another one's capture
    // keeps it from being recorded.) Without one, the block waits for this stream.
    int captured = 0;
    if (ready_driver().stream_capturing(stream_of(place), &captured) != kSuccess || captured) return;
    record_event(block, stream_of(place));
}

void DevicePool::record_event(Block* block, Stream stream) {
    const Driver& d = ready_driver();
    if (!block->event && d.event_create(&block->event, kEventWithoutTiming) != kSuccess) return;
    count(g_calls.events);
    block->has_event = d.event_record(block->event, stream) == kSuccess;
}

void DevicePool::destroy(Block* block) {
    const Driver& d = ready_driver();
    if (block->event) d.event_destroy(block->event);
    count(g_calls.frees);
    count(g_calls.device_synchronizations); // cuMemFree waits for the device
    d.free(block->address);
    blocks_.erase(block->address);
}

/// The oldest go back to the driver.
void DevicePool::keep_within_limit(const Block* newest) {
    while (kept_bytes_ > limit()) {
        Block** oldest = nullptr;
        Lists* of = nullptr;
        for (auto& lists : lists_)
            for (Block*& first : lists->first)
                for (Block** link = &first; *link; link = &(*link)->next)
                    if (*link != newest && (!oldest || (*link)->age < (*oldest)->age)) oldest = link, of = lists.get();
        // A single block beyond the limit stays: the next call wants it again, unless nothing is to be kept at all.
        if (!oldest) {
            if (limit() > 0) return;
            for (auto& lists : lists_)
                for (Block*& first : lists->first)
                    if (first) oldest = &first, of = lists.get();
            if (!oldest) return;
        }
        destroy(unlink(*of, *oldest));
    }
}

void DevicePool::hand_on(Lists& lists, std::size_t releases) {
    if (lists.bytes == 0) return;
    for (Block*& first : lists.first)
        for (Block** link = &first; *link;)
            if ((*link)->age > releases)
                link = &(*link)->next;
            else
                put(*lists_[0], unlink(lists, *link));
}

std::size_t DevicePool::releases() {
    std::lock_guard lock(mutex_);
    return releases_;
}

void DevicePool::stream_is_done(void* stream, std::size_t releases) {
    std::lock_guard lock(mutex_);
    // Alone, a stream finds its blocks in its own list.
    if (lists_.size() > 2) hand_on(*lists_of(stream_key(stream)), releases);
}

void DevicePool::stream_ends(void* stream) {
    std::lock_guard lock(mutex_);
    Lists& lists = *lists_of(stream_key(stream));
    for (Block* first : lists.first)
        for (Block* block = first; block; block = block->next)
            if (!block->has_event) record_event(block, static_cast<Stream>(stream));
    // Another stream may be given the same address: these blocks are nobody's own any more.
    static std::atomic<std::uintptr_t> ended{1};
    lists.key = reinterpret_cast<void*>((ended.fetch_add(1) << 1) | (std::uintptr_t{1} << 63));
}

/// Each block waits for the device (cuMemFree); to wait for the context would break captures of others.
std::size_t DevicePool::give_back_kept() {
    std::size_t bytes = kept_bytes_;
    for (auto& lists : lists_) {
        for (Block*& first : lists->first)
            while (Block* block = first) {
                first = block->next;
                destroy(block);
            }
        lists->bytes = 0;
    }
    kept_bytes_ = 0;
    lists_.resize(1);
    return bytes;
}

std::size_t DevicePool::trim() {
    std::lock_guard lock(mutex_);
    collect();
    if (kept_bytes_ == 0) return 0;
    OutsideOfCaptures outside;
    return give_back_kept();
}

DevicePoolInfo DevicePool::read() {
    std::lock_guard lock(mutex_);
    collect();
    std::size_t graph_bytes = 0;
    for (const auto& capture : captures_)
        for (const Block* block : capture->blocks)
            graph_bytes += block->free_on ? block->capacity : 0;
    return {live_bytes_, kept_bytes_, graph_bytes, limit()};
}

void* allocate(const Place& place, std::size_t bytes) {
    return device_state(place.device).pool.allocate(place, bytes);
}

void release(const Place& place, void* pointer) noexcept {
    // Behind a fork the parent's memory is not there; at the process's end the driver is not.
    if (!pointer || is_forked()) return;
    try {
        device_state(place.device).pool.release(place, pointer);
    } catch (const std::exception&) {
        // A lost context has lost its memory as well.
    }
}

DevicePoolInfo device_pool_info(int device) {
    return device_state(device).pool.read();
}

std::size_t trim_device_pool(int device) {
    Entered entered(device);
    return entered.state().pool.trim();
}

} // namespace tilewright::runtime::cuda
