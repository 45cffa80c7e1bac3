// dsl/runtime/memory.cpp: thread-cached scratch blocks; results and arrays from the pool.
#include "dsl/runtime/memory.h"

#include <cstdlib>

#include "dsl/runtime/block_pool.h"
#include "dsl/runtime/size_classes.h"

namespace tilewright::runtime {
namespace {

/// The last result of this thread that came straight from the system and no kernel has asked about.
thread_local const void* t_fresh_result = nullptr;

BlockPool& pool() {
    return BlockPool::instance();
}

// From 256 bytes to 1 MiB.
using Classes = SizeClasses<8>;
constexpr int kSizeClasses = 4 * 12 + 1;
constexpr std::size_t kMaxScratch = 1u << 20;
constexpr std::size_t kMaxCachedBytes = 4u << 20;

struct ThreadCache {
    BlockHeader* lists[kSizeClasses] = {};
    std::size_t bytes = 0;
    ~ThreadCache() {
        for (BlockHeader*& list : lists)
            while (list) {
                BlockHeader* next = list->next;
                std::free(list);
                list = next;
            }
        // Blocks released after this (by later destructors of the thread) are not cached.
        bytes = kMaxCachedBytes;
    }
};
thread_local ThreadCache t_cache;

/// glibc keeps freed blocks of the sizes that it has seen freed, up to 32 MiB, and gives others back at once. It sees
/// large arrays no longer, but goes on serving libraries that have large memory of their own (Fourier transforms): so
/// it is shown one.
void show_malloc_a_large_block() {
    void* volatile block = std::malloc((32u << 20) - (64u << 10));
    std::free(block);
}

} // namespace

void* scratch_allocate(std::size_t bytes) {
    if (bytes > kMaxScratch) return pool().allocate(bytes, BlockPool::Use::scratch);
    int index = Classes::of(bytes);
    ThreadCache& cache = t_cache;
    if (BlockHeader* header = cache.lists[index]) {
        cache.lists[index] = header->next;
        cache.bytes -= header->capacity;
        return data_of(header);
    }
    std::size_t capacity = Classes::bytes(index);
    void* memory = std::aligned_alloc(64, (sizeof(BlockHeader) + capacity + kSlack + 63) / 64 * 64);
    if (!memory) return nullptr;
    auto* header = static_cast<BlockHeader*>(memory);
    header->capacity = capacity;
    header->size_class = index;
    return data_of(header);
}

void scratch_release(void* pointer) {
    if (!pointer) return;
    BlockHeader* header = header_of(pointer);
    if (header->size_class < 0) return pool().release(header);
    ThreadCache& cache = t_cache;
    if (cache.bytes + header->capacity > kMaxCachedBytes) return std::free(header);
    header->next = cache.lists[header->size_class];
    cache.lists[header->size_class] = header;
    cache.bytes += header->capacity;
}

void* result_allocate(std::size_t bytes) {
    void* pointer = pool().allocate(bytes, BlockPool::Use::result);
    t_fresh_result = pointer && header_of(pointer)->fresh ? pointer : nullptr;
    return pointer;
}

bool take_fresh_result(const void* pointer) {
    if (!pointer || pointer != t_fresh_result) return false;
    t_fresh_result = nullptr;
    return true;
}

void* result_allocate_zeroed(std::size_t bytes) {
    return pool().allocate_zeroed(bytes, BlockPool::Use::result);
}

void* result_resize(void* pointer, std::size_t bytes) {
    return pointer ? pool().resize(header_of(pointer), bytes, BlockPool::Use::result) : result_allocate(bytes);
}

void result_release(void* pointer) {
    if (pointer) pool().release(header_of(pointer));
}

void* array_allocate(std::size_t bytes) {
    return pool().allocate(bytes, BlockPool::Use::array);
}

void* array_allocate_zeroed(std::size_t bytes) {
    return pool().allocate_zeroed(bytes, BlockPool::Use::array);
}

void* array_resize(void* pointer, std::size_t bytes) {
    return pool().resize(header_of(pointer), bytes, BlockPool::Use::array);
}

void array_release(void* pointer) {
    pool().release(header_of(pointer));
}

bool has_seal(const void* pointer) {
    return BlockPool::has_seal(pointer);
}

void keep_arrays(bool kept) {
    if (kept) show_malloc_a_large_block();
    pool().keep_arrays(kept);
}

void give_back_idle(unsigned seconds) {
    pool().give_back_idle(seconds);
}

PoolInfo pool_info() {
    return pool().info();
}
std::size_t trim_pool() {
    return pool().trim();
}

} // namespace tilewright::runtime
