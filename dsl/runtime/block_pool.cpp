// dsl/runtime/block_pool.cpp: mapped blocks with huge pages, in lists by size and in the order in which they were
// freed.
#include "dsl/runtime/block_pool.h"

#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <new>

#include "dsl/runtime/found_once.h"
#include "dsl/runtime/machine_memory.h"

namespace tilewright::runtime {
namespace {

constexpr std::size_t kHugePage = 2u << 20;
// Below this a mapping has no room for huge pages.
constexpr std::size_t kHugeFrom = kHugePage;
constexpr std::size_t kMostUnused = kHugePage / 8;
constexpr std::size_t kPoolSpare = 64u << 20;
constexpr std::size_t kMaxBytes = std::size_t{1} << 46;
// Linux allows a process 65,530 mappings, and needs one more where a block between others is unmapped.
constexpr std::size_t kMaxKept = 4096, kMaxLiveArrays = 16384;
constexpr std::size_t kMostArraysKept = std::size_t{1} << 30;
// A forked child keeps so little of what its parent may.
constexpr std::size_t kShareOfChild = 8;
constexpr std::uint32_t kIdleSeconds = 3;
// What one call gives back of what is idle: none shall take long.
constexpr int kMostIdleAtOnce = 16;
// Blocks of a size that are looked at for one that fits: those freed last are the warm ones.
constexpr int kMostLooks = 16;
// From here on the system's pages, zeroed where they are touched, cost no more than zeroing all of a kept block.
constexpr std::size_t kMostZeroed = 32u << 20;

std::uint32_t seconds_now() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return static_cast<std::uint32_t>(now.tv_sec);
}

/// Its address, and a number that no program knows in advance.
std::uint64_t seal_of(const void* header) {
    static const std::uint64_t secret = [] {
        std::uint64_t bytes = 0x9e3779b97f4a7c15;
        if (const auto* random = reinterpret_cast<const void*>(getauxval(AT_RANDOM)))
            std::memcpy(&bytes, random, sizeof bytes);
        return bytes;
    }();
    return secret ^ reinterpret_cast<std::uintptr_t>(header);
}

std::size_t round_up(std::size_t bytes, std::size_t step) {
    return (bytes + step - 1) / step * step;
}

/// What a block of these bytes is to touch: its pages, and a last huge page unless that is hardly used, which would be
/// memory that nobody asked for.
std::size_t touched_size(std::size_t bytes) {
    const std::size_t whole = bytes + sizeof(BlockHeader) + kSlack;
    const std::size_t pages = round_up(whole, kPage), huge = round_up(whole, kHugePage);
    return whole >= kHugeFrom && huge - pages <= kMostUnused ? huge : pages;
}

/// Eight sizes for each power of two, so that blocks serve arrays whose size changes a little each time. Pages at the
/// end that nobody touches are no memory.
std::size_t mapping_size(std::size_t bytes) {
    const std::size_t touched = touched_size(bytes);
    return round_up(touched, std::max(kPage, std::bit_floor(touched) / 8));
}

void set_up(BlockHeader* header, std::size_t mapped) {
    header->capacity = mapped - sizeof(BlockHeader) - kSlack;
    header->size_class = -1;
    header->fresh = true;
    header->next = nullptr;
    header->seal = seal_of(header);
}

/// `at_once`: small pages are there before they are touched, at half of what that costs one by one.
BlockHeader* map(std::size_t bytes, bool at_once) {
    const std::size_t mapped = mapping_size(bytes), touched = touched_size(bytes);
    bool huge = touched >= kHugeFrom;
    // Huge pages need their alignment; what sticks out goes back at once.
    std::size_t asked = huge ? mapped + kHugePage : mapped;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (at_once && !huge ? MAP_POPULATE : 0);
    void* raw = mmap(nullptr, asked, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (raw == MAP_FAILED) return nullptr;
    auto at = reinterpret_cast<std::uintptr_t>(raw);
    if (huge) {
        std::uintptr_t aligned = (at + kHugePage - 1) / kHugePage * kHugePage;
        if (aligned > at) munmap(raw, aligned - at);
        std::size_t tail = at + asked - (aligned + mapped);
        if (tail) munmap(reinterpret_cast<void*>(aligned + mapped), tail);
        at = aligned;
        madvise(reinterpret_cast<void*>(at), touched / kHugePage * kHugePage, MADV_HUGEPAGE);
    }
    auto* header = reinterpret_cast<BlockHeader*>(at);
    set_up(header, mapped);
    return header;
}

void unmap_all(BlockHeader* list) {
    while (list) {
        BlockHeader* next = list->next;
        munmap(list, list->mapped());
        list = next;
    }
}

/// TILEWRIGHT_POOL_MB in bytes; -1 where it is not set.
long long asked_limit() {
    static constinit FoundOnce<long long> bytes;
    return bytes.get([] {
        const char* text = std::getenv("TILEWRIGHT_POOL_MB");
        return text && *text ? static_cast<long long>(std::max(0L, std::strtol(text, nullptr, 10))) << 20 : -1LL;
    });
}

} // namespace

BlockPool& BlockPool::instance() {
    static constinit FoundOnce<BlockPool*> all;
    return *all.get([] {
        auto* made = new BlockPool;
        pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                       [] {
                           // As a rule it is one of several that work at the same time, and may wait for work.
                           instance().limit_of_arrays_ /= kShareOfChild;
                           instance().mutex_.unlock();
                       });
        return made;
    });
}

// For AddressSanitizer what stands in front of a block of malloc's is not to be read.
[[gnu::no_sanitize_address]] bool BlockPool::has_seal(const void* pointer) {
    // A header begins a page, so what stands in front of any such address is memory of the same page.
    const auto* header = static_cast<const BlockHeader*>(pointer) - 1;
    return header->seal == seal_of(header);
}

void* BlockPool::allocate(std::size_t bytes, Use use) {
    BlockHeader* block = take_or_map(bytes, use, true);
    return block ? data_of(block) : nullptr;
}

void* BlockPool::allocate_zeroed(std::size_t bytes, Use use) {
    BlockHeader* block = take_or_map(bytes, use, bytes <= kMostZeroed);
    if (!block) return nullptr;
    if (!block->fresh) std::memset(data_of(block), 0, bytes);
    return data_of(block);
}

BlockHeader* BlockPool::take_or_map(std::size_t bytes, Use use, bool may_take) {
    if (bytes > kMaxBytes) return nullptr;
    const auto count = [&](BlockHeader* block) {
        block->is_array = use == Use::array;
        live_arrays_ += block->is_array;
        live_ += block->mapped();
        most_live_ = std::max(most_live_, live_);
    };
    BlockHeader *block = nullptr, *unneeded = nullptr;
    bool at_once;
    {
        std::lock_guard lock(mutex_);
        if (use == Use::result) largest_result_ = std::max(largest_result_, bytes);
        if (use == Use::array && live_arrays_ >= kMaxLiveArrays) return nullptr;
        if (may_take && (block = take(mapping_size(bytes)))) count(block);
        // Memory that nobody ever touches may be as much as that.
        at_once = use == Use::array && live_ < limit_of_arrays_ / 4;
    }
    if (block) return block;
    block = map(bytes, at_once);
    if (!block) {
        // What is kept may be what is missing.
        trim();
        block = map(bytes, at_once);
        if (!block) return nullptr;
    }
    {
        std::lock_guard lock(mutex_);
        count(block);
        unneeded = surplus(kIdleSeconds);
    }
    unmap_all(unneeded);
    return block;
}

void BlockPool::release(BlockHeader* block) {
    BlockHeader* unneeded = nullptr;
    {
        std::lock_guard lock(mutex_);
        live_ -= block->mapped();
        live_arrays_ -= block->is_array;
        if (block->mapped() > limit()) {
            block->next = nullptr;
            unneeded = block;
        } else {
            keep(block);
            unneeded = surplus(kIdleSeconds);
        }
    }
    unmap_all(unneeded);
}

void* BlockPool::resize(BlockHeader* block, std::size_t bytes, Use use) {
    if (bytes <= block->capacity && bytes >= block->capacity / 2) return data_of(block);
    if (bytes > block->capacity && bytes <= kMaxBytes) {
        // Pages are moved, not copied. The system refuses where one part of the block has huge pages alone.
        const std::size_t before = block->mapped(), mapped = mapping_size(bytes);
        void* moved = mremap(block, before, mapped, MREMAP_MAYMOVE);
        if (moved != MAP_FAILED) {
            block = static_cast<BlockHeader*>(moved);
            set_up(block, mapped);
            block->fresh = false;
            std::lock_guard lock(mutex_);
            live_ += mapped - before;
            most_live_ = std::max(most_live_, live_);
            return data_of(block);
        }
    }
    void* moved = allocate(bytes, use);
    if (!moved) return nullptr;
    std::memcpy(moved, data_of(block), std::min(bytes, block->capacity));
    release(block);
    return moved;
}

/// A block that is large enough and wastes at most a quarter, of those that are kept.
BlockHeader* BlockPool::take(std::size_t mapped) {
    const int first = Sizes::of(mapped);
    for (int bin = first; bin <= first + 2 && bin < kBins; ++bin) {
        BlockHeader* best = nullptr;
        int looks = 0;
        for (BlockHeader* block = bins_[bin]; block && looks < kMostLooks; block = block->next, ++looks) {
            const std::size_t has = block->mapped();
            if (has < mapped || has - mapped > mapped / 4 || (best && has >= best->mapped())) continue;
            best = block;
            if (has == mapped) break;
        }
        if (best) return unlink(best), best;
    }
    return nullptr;
}

void BlockPool::keep(BlockHeader* block) {
    block->fresh = false;
    block->freed_s = seconds_now();
    BlockHeader*& bin = bins_[Sizes::of(block->mapped())];
    block->before = nullptr;
    block->next = bin;
    if (bin) bin->before = block;
    bin = block;
    block->newer = nullptr;
    block->older = newest_;
    (newest_ ? newest_->newer : oldest_) = block;
    newest_ = block;
    kept_bytes_ += block->mapped();
    ++kept_count_;
}

void BlockPool::unlink(BlockHeader* block) {
    (block->before ? block->before->next : bins_[Sizes::of(block->mapped())]) = block->next;
    if (block->next) block->next->before = block->before;
    (block->newer ? block->newer->older : newest_) = block->older;
    (block->older ? block->older->newer : oldest_) = block->newer;
    kept_bytes_ -= block->mapped();
    --kept_count_;
}

/// What is beyond the limits, and some of what nobody took for so long where arrays are kept: a list of blocks that
/// are kept no longer.
BlockHeader* BlockPool::surplus(std::uint32_t idle_s) {
    if (!oldest_) return nullptr;
    const std::size_t limit_now = limit(), results = largest_result_ ? limit_of_results() : 0;
    const std::uint32_t now = limit_of_arrays_ ? seconds_now() : 0;
    BlockHeader* list = nullptr;
    for (int idle = 0; BlockHeader* block = oldest_;) {
        if (kept_bytes_ <= limit_now && kept_count_ <= kMaxKept) {
            const bool is_idle = limit_of_arrays_ && kept_bytes_ > results && now - block->freed_s >= idle_s;
            if (!is_idle || idle++ == kMostIdleAtOnce) break;
        }
        unlink(block);
        block->next = list;
        list = block;
    }
    return list;
}

std::size_t BlockPool::limit_of_results() const {
    // The mapping of the largest result is a little larger than the result.
    return largest_result_ ? mapping_size(largest_result_) + kPoolSpare : kPoolSpare;
}

std::size_t BlockPool::limit() const {
    if (asked_limit() >= 0) return static_cast<std::size_t>(asked_limit());
    // What was there at once before may be there again, and a quarter more where sizes change.
    const std::size_t again = most_live_ + most_live_ / 4 + kPoolSpare - live_;
    return std::max(limit_of_results(), std::min(limit_of_arrays_, again));
}

PoolInfo BlockPool::info() {
    std::lock_guard lock(mutex_);
    return {kept_bytes_, kept_count_, live_, limit()};
}

std::size_t BlockPool::trim() {
    BlockHeader* all;
    std::size_t bytes;
    {
        std::lock_guard lock(mutex_);
        all = newest_;
        for (BlockHeader* block = all; block; block = block->older)
            block->next = block->older;
        bytes = kept_bytes_;
        std::fill(std::begin(bins_), std::end(bins_), nullptr);
        newest_ = oldest_ = nullptr;
        kept_bytes_ = kept_count_ = 0;
    }
    unmap_all(all);
    return bytes;
}

void BlockPool::keep_arrays(bool kept) {
    const std::size_t most = kept ? std::min(kMostArraysKept, machine_memory() / 8) : 0;
    BlockHeader* unneeded;
    {
        std::lock_guard lock(mutex_);
        limit_of_arrays_ = most;
        unneeded = surplus(kIdleSeconds);
    }
    unmap_all(unneeded);
}

void BlockPool::give_back_idle(std::uint32_t seconds) {
    BlockHeader* unneeded;
    {
        std::lock_guard lock(mutex_);
        unneeded = surplus(seconds);
    }
    unmap_all(unneeded);
}

} // namespace tilewright::runtime
