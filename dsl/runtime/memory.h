// dsl/runtime/memory.h: memory for kernels, for a plan's temporaries, for results and for arrays of others.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewright::runtime {

/// Small scratch memory from lists that each thread keeps, large memory from the pool. 64-byte aligned, with at least
/// 64 readable bytes before and after, as Halide's vector loads need. Null when there is none.
void* scratch_allocate(std::size_t bytes);
void scratch_release(void* pointer);

/// Memory of results, from the pool. Freed blocks are kept and reused: page faults cost more than most kernels.
void* result_allocate(std::size_t bytes);
/// Whether a block comes straight from the system: its pages are not there yet. True once for each block.
bool take_fresh_result(const void* pointer);
/// Zeroed.
void* result_allocate_zeroed(std::size_t bytes);
void* result_resize(void* pointer, std::size_t bytes);
void result_release(void* pointer);

/// Memory of arrays that are no results, from the same pool. Null where there is none, or too many blocks are out:
/// the caller's own allocator is asked then.
void* array_allocate(std::size_t bytes);
void* array_allocate_zeroed(std::size_t bytes);
/// Null, and the block as it was, where there is no memory. Both take blocks of the pool alone.
void* array_resize(void* pointer, std::size_t bytes);
void array_release(void* pointer);
/// Where blocks of the pool begin in their page, behind their header.
inline constexpr std::size_t kPage = 4096, kBlockAt = 64;
bool has_seal(const void* pointer);
/// Whether memory that some allocator gave is a block of this pool. Most other memory is told by its place alone.
inline bool is_pooled(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % kPage == kBlockAt && has_seal(pointer);
}
/// Whether the pool keeps freed arrays: an eighth of the memory that this process may use, at most 1 GiB, and none for
/// longer than a few seconds. TILEWRIGHT_POOL_MB goes before that.
void keep_arrays(bool kept);
/// Gives back some of what nobody took for so long, while arrays are kept, but for what results are kept anyway. Each
/// call of the pool does it with a few seconds.
void give_back_idle(unsigned seconds);

struct PoolInfo {
    std::size_t pooled_bytes = 0; ///< freed and kept
    std::size_t pooled_blocks = 0;
    std::size_t live_bytes = 0;  ///< handed out
    std::size_t limit_bytes = 0; ///< what pooled_bytes may reach
};
PoolInfo pool_info();
/// Gives all kept blocks back to the system; returns how many bytes that were.
std::size_t trim_pool();

} // namespace tilewright::runtime
