// dsl/runtime/memory.h: memory for kernels, for a plan's temporaries and for results.
#pragma once

#include <cstddef>

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
