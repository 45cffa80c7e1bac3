// dsl/runtime/memory.cpp: thread-cached scratch blocks, and a pool of mapped blocks with huge pages.
#include "dsl/runtime/memory.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "dsl/runtime/size_classes.h"

namespace tilewright::runtime {
namespace {

constexpr std::size_t kSlack = 64;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = 2u << 20;
// Below this a mapping has no room for huge pages.
constexpr std::size_t kHugeFrom = 4u << 20;
constexpr std::size_t kMostUnused = kHugePage / 8;
constexpr std::size_t kPoolSpare = 64u << 20;
constexpr std::size_t kMaxBytes = std::size_t{1} << 46;

/// Stands in front of every block; its size keeps the data aligned to 64 bytes.
struct alignas(64) Header {
    std::size_t capacity; ///< bytes after the header, slack not counted
    int size_class;       ///< of a scratch block; -1 for a mapped one
    bool fresh;           ///< mapped and never handed out before: all zero
    Header* next;
    std::size_t mapped; ///< whole mapping of a mapped block
};
static_assert(sizeof(Header) == 64);

Header* header_of(void* pointer) {
    return static_cast<Header*>(pointer) - 1;
}
void* data_of(Header* header) {
    return header + 1;
}

/// The last result of this thread that came straight from the system and no kernel has asked about.
thread_local const void* t_fresh_result = nullptr;

// ---- mapped blocks ----

class Pool {
  public:
    void* allocate(std::size_t bytes, bool is_result) {
        if (bytes > kMaxBytes) return nullptr;
        std::size_t mapped = mapping_size(bytes);
        {
            std::lock_guard lock(mutex_);
            if (is_result) largest_ = std::max(largest_, bytes);
            if (Header* found = take(mapped)) {
                live_ += found->mapped;
                return data_of(found);
            }
        }
        Header* fresh = map(mapped);
        if (!fresh) {
            // What is kept may be what is missing.
            trim();
            fresh = map(mapped);
            if (!fresh) return nullptr;
        }
        std::lock_guard lock(mutex_);
        live_ += fresh->mapped;
        return data_of(fresh);
    }

    void release(Header* header) {
        Header* surplus = nullptr;
        {
            std::lock_guard lock(mutex_);
            live_ -= header->mapped;
            header->fresh = false;
            header->next = kept_;
            kept_ = header;
            kept_bytes_ += header->mapped;
            ++kept_count_;
            // The newest stay: they are the warm ones.
            std::size_t limit_now = limit(), sum = 0;
            for (Header** link = &kept_; *link;) {
                Header* block = *link;
                if (sum + block->mapped > limit_now || (kept_count_ > kMaxKept && !block->next)) {
                    unlink(*link);
                    block->next = surplus;
                    surplus = block;
                    continue;
                }
                sum += block->mapped;
                link = &block->next;
            }
        }
        unmap_all(surplus);
    }

    std::size_t trim() {
        Header* all;
        std::size_t bytes;
        {
            std::lock_guard lock(mutex_);
            all = kept_;
            bytes = kept_bytes_;
            kept_ = nullptr;
            kept_bytes_ = kept_count_ = 0;
        }
        unmap_all(all);
        return bytes;
    }

    PoolInfo read() {
        std::lock_guard lock(mutex_);
        return {kept_bytes_, kept_count_, live_, limit()};
    }
    std::mutex& mutex() { return mutex_; }

  private:
    static constexpr std::size_t kMaxKept = 256;

    static std::size_t mapping_size(std::size_t bytes) {
        std::size_t whole = bytes + sizeof(Header) + kSlack;
        const std::size_t pages = (whole + kPage - 1) / kPage * kPage;
        const std::size_t huge = (whole + kHugePage - 1) / kHugePage * kHugePage;
        // A last huge page that is hardly used would be memory that nobody asked for: small pages stand there.
        return whole >= kHugeFrom && huge - pages <= kMostUnused ? huge : pages;
    }
    std::size_t limit() const {
        static const long megabytes = [] {
            const char* text = std::getenv("TILEWRIGHT_POOL_MB");
            return text && *text ? std::max(0L, std::strtol(text, nullptr, 10)) : -1L;
        }();
        if (megabytes >= 0) return static_cast<std::size_t>(megabytes) << 20;
        // The mapping of the largest result is a little larger than the result.
        return largest_ ? mapping_size(largest_) + kPoolSpare : kPoolSpare;
    }
    /// The best fit that wastes at most a quarter.
    Header* take(std::size_t mapped) {
        Header** best = nullptr;
        for (Header** link = &kept_; *link; link = &(*link)->next)
            if ((*link)->mapped >= mapped && (*link)->mapped - mapped <= mapped / 4 &&
                (!best || (*link)->mapped < (*best)->mapped))
                best = link;
        return best ? unlink(*best) : nullptr;
    }
    /// Takes the block at a link out of the list.
    Header* unlink(Header*& link) {
        Header* block = link;
        link = block->next;
        kept_bytes_ -= block->mapped;
        --kept_count_;
        return block;
    }
    static Header* map(std::size_t mapped) {
        bool huge = mapped >= kHugeFrom;
        // Huge pages need their alignment; what sticks out goes back at once.
        std::size_t asked = huge ? mapped + kHugePage : mapped;
        void* raw = mmap(nullptr, asked, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (raw == MAP_FAILED) return nullptr;
        auto at = reinterpret_cast<std::uintptr_t>(raw);
        if (huge) {
            std::uintptr_t aligned = (at + kHugePage - 1) / kHugePage * kHugePage;
            if (aligned > at) munmap(raw, aligned - at);
            std::size_t tail = at + asked - (aligned + mapped);
            if (tail) munmap(reinterpret_cast<void*>(aligned + mapped), tail);
            at = aligned;
            madvise(reinterpret_cast<void*>(at), mapped / kHugePage * kHugePage, MADV_HUGEPAGE);
        }
        auto* header = reinterpret_cast<Header*>(at);
        header->capacity = mapped - sizeof(Header) - kSlack;
        header->size_class = -1;
        header->fresh = true;
        header->next = nullptr;
        header->mapped = mapped;
        return header;
    }
    static void unmap_all(Header* list) {
        while (list) {
            Header* next = list->next;
            munmap(list, list->mapped);
            list = next;
        }
    }

    std::mutex mutex_;
    Header* kept_ = nullptr;
    std::size_t kept_bytes_ = 0, kept_count_ = 0, live_ = 0, largest_ = 0;
};

Pool& pool() {
    // Never destroyed: arrays may be freed after the static objects are gone.
    static Pool* instance = [] {
        auto* made = new Pool;
        pthread_atfork([] { pool().mutex().lock(); }, [] { pool().mutex().unlock(); }, [] { pool().mutex().unlock(); });
        return made;
    }();
    return *instance;
}

// ---- scratch blocks ----

// From 256 bytes to 1 MiB.
using Classes = SizeClasses<8>;
constexpr int kSizeClasses = 4 * 12 + 1;
constexpr std::size_t kMaxScratch = 1u << 20;
constexpr std::size_t kMaxCachedBytes = 4u << 20;

struct ThreadCache {
    Header* lists[kSizeClasses] = {};
    std::size_t bytes = 0;
    ~ThreadCache() {
        for (Header*& list : lists)
            while (list) {
                Header* next = list->next;
                std::free(list);
                list = next;
            }
        // Blocks released after this (by later destructors of the thread) are not cached.
        bytes = kMaxCachedBytes;
    }
};
thread_local ThreadCache t_cache;

} // namespace

void* scratch_allocate(std::size_t bytes) {
    if (bytes > kMaxScratch) return pool().allocate(bytes, false);
    int index = Classes::of(bytes);
    ThreadCache& cache = t_cache;
    if (Header* header = cache.lists[index]) {
        cache.lists[index] = header->next;
        cache.bytes -= header->capacity;
        return data_of(header);
    }
    std::size_t capacity = Classes::bytes(index);
    auto* header = static_cast<Header*>(std::aligned_alloc(64, (sizeof(Header) + capacity + kSlack + 63) / 64 * 64));
    if (!header) return nullptr;
    header->capacity = capacity;
    header->size_class = index;
    return data_of(header);
}

void scratch_release(void* pointer) {
    if (!pointer) return;
    Header* header = header_of(pointer);
    if (header->size_class < 0) return pool().release(header);
    ThreadCache& cache = t_cache;
    if (cache.bytes + header->capacity > kMaxCachedBytes) return std::free(header);
    header->next = cache.lists[header->size_class];
    cache.lists[header->size_class] = header;
    cache.bytes += header->capacity;
}

void* result_allocate(std::size_t bytes) {
    void* pointer = pool().allocate(bytes, true);
    t_fresh_result = pointer && header_of(pointer)->fresh ? pointer : nullptr;
    return pointer;
}

bool take_fresh_result(const void* pointer) {
    if (!pointer || pointer != t_fresh_result) return false;
    t_fresh_result = nullptr;
    return true;
}

void* result_allocate_zeroed(std::size_t bytes) {
    void* pointer = pool().allocate(bytes, true);
    if (pointer && !header_of(pointer)->fresh) std::memset(pointer, 0, bytes);
    return pointer;
}

void* result_resize(void* pointer, std::size_t bytes) {
    if (!pointer) return result_allocate(bytes);
    Header* header = header_of(pointer);
    if (bytes <= header->capacity && bytes >= header->capacity / 2) return pointer;
    void* moved = result_allocate(bytes);
    if (!moved) return nullptr;
    std::memcpy(moved, pointer, std::min(bytes, header->capacity));
    pool().release(header);
    return moved;
}

void result_release(void* pointer) {
    if (pointer) pool().release(header_of(pointer));
}

PoolInfo pool_info() {
    return pool().read();
}
std::size_t trim_pool() {
    return pool().trim();
}

} // namespace tilewright::runtime
