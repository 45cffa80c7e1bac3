// dsl/runtime/out_of_memory.h: a way out of a kernel whose allocation failed. Kernels are built without asserts, so
// they do not look at what halide_malloc returns.
#pragma once

#include <csetjmp>

namespace tilewright::runtime {

inline constexpr int kOutOfMemory = -11; // halide_error_code_out_of_memory

/// The innermost exit of this thread, or null. Only compiled kernels, which have no destructors, lie between it and
/// the allocation.
inline std::jmp_buf*& memory_exit() {
    static thread_local std::jmp_buf* exit = nullptr;
    return exit;
}

/// Runs `kernel`, which returns an error code; kOutOfMemory when an allocation inside failed.
template <class Kernel> __attribute__((noinline)) int with_memory_exit(Kernel&& kernel) {
    std::jmp_buf here;
    std::jmp_buf* volatile before = memory_exit();
    if (_setjmp(here) != 0) {
        memory_exit() = before;
        return kOutOfMemory;
    }
    memory_exit() = &here;
    int rc = kernel();
    memory_exit() = before;
    return rc;
}

} // namespace tilewright::runtime
