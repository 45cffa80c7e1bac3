// dsl/runtime/parallel.h: the one entry of parallel loops.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <type_traits>

namespace tilewright::runtime {

class Watch;

/// One iteration; not 0 is an error, which ends the loop.
using LoopBody = int (*)(void* context, int index, std::uint8_t* closure);

/// Runs body(context, i, closure) for first <= i < first + count, in any order, on this thread and on helpers as
/// the thread budget allows; returns the first error seen, or 0. Inside another loop, or for one iteration,
/// it runs on this thread alone and starts nothing. `watch`: of this thread, where an interrupt is an error; or null.
int parallel_loop(void* context, LoopBody body, int first, int count, std::uint8_t* closure, Watch* watch = nullptr);

/// The same for a callable; an exception of an iteration ends the loop and is rethrown here.
template <class F> void parallel_for(int count, F&& function) {
    using Function = std::remove_reference_t<F>;
    struct Closure {
        Function* function;
        std::exception_ptr error;
        bool failed = false;
    } closure{&function, nullptr, false};
    parallel_loop(
        nullptr,
        [](void*, int index, std::uint8_t* data) -> int {
            auto* c = reinterpret_cast<Closure*>(data);
            try {
                (*c->function)(index);
                return 0;
            } catch (...) {
                if (!__atomic_test_and_set(&c->failed, __ATOMIC_ACQ_REL)) c->error = std::current_exception();
                return -1;
            }
        },
        0, count, reinterpret_cast<std::uint8_t*>(&closure));
    if (closure.error) std::rethrow_exception(closure.error);
}

/// Calls body(begin, count of this piece) for pieces of so many bytes, elements or rows.
template <class Size, class Body> void parallel_pieces(Size count, std::type_identity_t<Size> piece, const Body& body) {
    parallel_for(static_cast<int>((count + piece - 1) / piece), [&](int i) {
        const Size begin = static_cast<Size>(i) * piece;
        body(begin, std::min(piece, count - begin));
    });
}

/// "own", "openmp", or "none yet" before the first loop that needed threads.
const char* parallel_backend();
/// Chooses by name ("own", "openmp"); false when it is not to be had. For tests and measurements; TILEWRIGHT_POOL does
/// the same for users.
bool choose_parallel_backend(const char* name);

/// Halide kernels call this as halide_do_par_for. An out-of-memory exit of an iteration is an error of the loop.
int kernel_parallel_loop(void* context, LoopBody body, int first, int count, std::uint8_t* closure);

} // namespace tilewright::runtime
