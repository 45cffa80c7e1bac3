// dsl/runtime/cuda/pool.h: a device's memory, kept and reused in the order of streams. Internal to dsl/runtime.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "dsl/runtime/cuda/captures.h"
#include "dsl/runtime/size_classes.h"

namespace tilewright::runtime::cuda {

/// A block that was released on a stream is taken again on that stream at once: what comes later on a stream runs
/// later. Other streams may have it when what was on the stream at its release is known to be done: by an event of
/// the release, which is recorded as soon as more than one stream is seen; by a wait for that stream; or by a trim.
/// The driver is asked, in its context, only where that is needed: not for a block that is taken and given back on the
/// legacy stream while it is the only one.
///
/// What a captured stream takes is the graph's: its launches use the same addresses again, on whatever stream. Such a
/// block comes from where nothing uses it any more, is taken again within the same capture alone, on the same stream,
/// and goes back when nothing is left of the graph.
class DevicePool {
  public:
    void set_device(int ordinal, std::size_t memory_bytes);
    void* allocate(const Place& place, std::size_t bytes);
    void release(const Place& place, void* pointer) noexcept;
    /// How many releases there were.
    std::size_t releases();
    /// What was released before that many is not used any more: the stream was waited for.
    void stream_is_done(void* stream, std::size_t releases);
    /// The stream is about to be destroyed; its blocks are handed on behind an event.
    void stream_ends(void* stream);
    std::size_t trim();
    DevicePoolInfo read();

  private:
    using Classes = SizeClasses<9>; // from 512 bytes on
    static constexpr int kClasses = 4 * 37 + 1;

    struct Capture;
    struct Block {
        Pointer address = 0;
        std::size_t capacity = 0;
        int size_class = 0;
        Block* next = nullptr;
        Event event = nullptr;
        bool has_event = false; ///< recorded behind the last use
        std::size_t age = 0;
        Capture* capture = nullptr; ///< whose graph holds its address
        void* free_on = nullptr;    ///< of a capture's, released: on the stream of this key
    };
    /// What was taken while one capture was under way.
    struct Capture {
        std::uint64_t id;
        IsOver is_over;
        std::vector<Block*> blocks;
    };
    struct Lists {
        void* key = nullptr; ///< null: blocks that any stream may take
        Block* first[kClasses] = {};
        std::size_t bytes = 0;
    };

    static std::size_t capacity_for(std::size_t bytes);

    Lists* lists_of(void* key);
    /// Takes the block at a link out of its list.
    Block* unlink(Lists& lists, Block*& link);
    Block* take(Lists& lists, int size_class, std::size_t capacity);
    /// From the list of a stream, or from what any stream may take.
    Block* take(void* key, int size_class, std::size_t capacity);
    Block* take_passed(int size_class, std::size_t capacity);
    Block* take_in_capture(const Captured& captured, void* key, int size_class, std::size_t capacity);
    Capture& capture_of(const Captured& captured);
    /// Blocks of graphs that are gone are for any stream.
    void collect();
    Block* make(std::size_t capacity);
    void put(Lists& lists, Block* block);
    void mark_release(Block* block, const Place& place);
    static void record_event(Block* block, Stream stream);
    void hand_on(Lists& lists, std::size_t releases);
    void keep_within_limit(const Block* newest);
    void destroy(Block* block);
    std::size_t give_back_kept();
    std::size_t limit() const;

    std::mutex mutex_;
    int device_ = 0;
    std::size_t memory_bytes_ = 0;
    std::vector<std::unique_ptr<Lists>> lists_;                  ///< the one for any stream first
    std::unordered_map<Pointer, std::unique_ptr<Block>> blocks_; ///< all that the driver gave
    std::vector<std::unique_ptr<Capture>> captures_;
    std::size_t kept_bytes_ = 0, live_bytes_ = 0, releases_ = 0;
};

} // namespace tilewright::runtime::cuda
