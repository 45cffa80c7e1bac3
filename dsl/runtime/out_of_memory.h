// dsl/runtime/out_of_memory.h: a way out of a kernel whose allocation or parallel loop failed, or that is interrupted.
// Kernels are built without asserts, so they look neither at what halide_malloc returns nor at the error of a loop.
#pragma once

#include <csetjmp>

namespace tilewright::runtime {

inline constexpr int kOutOfMemory = -11;   // halide_error_code_out_of_memory
inline constexpr int kInterrupted = -1000; // none of Halide's

/// The innermost exit of this thread, or null. Only compiled kernels, which have no destructors, lie between it and
/// the allocation.
inline std::jmp_buf*& memory_exit() {
    static thread_local std::jmp_buf* exit = nullptr;
    return exit;
}

/// Leaves the kernel that runs on this thread, with an error code that is not 0. Returns where there is no exit.
inline void leave_kernel(int error) {
    if (memory_exit()) std::longjmp(*memory_exit(), error);
}

/// Runs `kernel`, which returns an error code; the one of leave_kernel() when that was called inside.
template <class Kernel> __attribute__((noinline)) int with_memory_exit(Kernel&& kernel) {
    std::jmp_buf here;
    std::jmp_buf* volatile before = memory_exit();
    if (int error = _setjmp(here)) {
        memory_exit() = before;
        return error;
    }
    memory_exit() = &here;
    int rc = kernel();
    memory_exit() = before;
    return rc;
}

} // namespace tilewright::runtime
