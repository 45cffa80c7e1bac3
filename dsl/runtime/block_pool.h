// dsl/runtime/block_pool.h: mapped blocks that are kept when they are freed, for later ones of about their size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "dsl/runtime/memory.h"
#include "dsl/runtime/size_classes.h"

namespace tilewright::runtime {

/// Readable bytes behind each block.
inline constexpr std::size_t kSlack = 64;

/// Stands in front of every block; its size keeps the data aligned to 64 bytes.
struct alignas(64) BlockHeader {
    std::size_t capacity;       ///< bytes after the header, slack not counted
    int size_class;             ///< of a scratch block; -1 for a mapped one
    bool fresh : 1;             ///< mapped and never handed out before: all zero
    bool is_array : 1;          ///< counts among the arrays that are not results
    BlockHeader *next, *before; ///< blocks of about this size that are kept, or the next of any list
    BlockHeader *newer, *older; ///< all that are kept, by when they were freed
    std::uint64_t seal;         ///< of a mapped block: tells it from memory of others
    std::uint32_t freed_s;      ///< when it was freed

    std::size_t mapped() const { return capacity + sizeof(BlockHeader) + kSlack; }
};
static_assert(sizeof(BlockHeader) == kBlockAt);

inline BlockHeader* header_of(void* data) {
    return static_cast<BlockHeader*>(data) - 1;
}
inline void* data_of(BlockHeader* header) {
    return header + 1;
}

/// Any thread may call it, and free what another one has taken.
class BlockPool {
  public:
    enum class Use { scratch, result, array };

    /// The process's own, which is never destroyed: arrays may be freed after the static objects are gone.
    static BlockPool& instance();

    /// Null where there is no memory, and for an array where so many blocks are out that the system might refuse to
    /// unmap some.
    void* allocate(std::size_t bytes, Use use);
    void* allocate_zeroed(std::size_t bytes, Use use);
    /// A block with the same contents, up to the smaller of the sizes; null, and the block as it was, where there is
    /// no memory.
    void* resize(BlockHeader* block, std::size_t bytes, Use use);
    void release(BlockHeader* block);
    /// Whether memory at a place where blocks may begin, which some allocator gave, is the data of a block.
    static bool has_seal(const void* pointer);

    PoolInfo info();
    std::size_t trim();
    void keep_arrays(bool kept);
    void give_back_idle(std::uint32_t seconds);

  private:
    using Sizes = SizeClasses<12>;
    static constexpr int kBins = 4 * 36 + 1;

    BlockHeader* take_or_map(std::size_t bytes, Use use, bool may_take);
    BlockHeader* take(std::size_t mapped);
    void keep(BlockHeader* block);
    void unlink(BlockHeader* block);
    BlockHeader* surplus(std::uint32_t idle_s);
    std::size_t limit() const;
    std::size_t limit_of_results() const;

    std::mutex mutex_;
    BlockHeader* bins_[kBins] = {};
    BlockHeader *newest_ = nullptr, *oldest_ = nullptr;
    std::size_t kept_bytes_ = 0, kept_count_ = 0, live_ = 0, most_live_ = 0, live_arrays_ = 0, largest_result_ = 0;
    std::size_t limit_of_arrays_ = 0; ///< 0: none are kept
};

} // namespace tilewright::runtime
