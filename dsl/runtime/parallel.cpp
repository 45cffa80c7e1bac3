// dsl/runtime/parallel.cpp: decides how many threads a loop gets and which backend provides them.
#include "dsl/runtime/parallel.h"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "dsl/runtime/backends.h"
#include "dsl/runtime/out_of_memory.h"
#include "dsl/runtime/thread_budget.h"
#include "dsl/runtime/watch.h"

namespace tilewright::runtime {
namespace {

enum class Backend : int { undecided, own, openmp };
std::atomic<Backend> g_backend{Backend::undecided};
thread_local bool t_inside_loop = false;

void after_fork_in_child() {
    // libgomp hangs in a forked child after a parallel region in its parent, so the child never uses it.
    OwnPool::forget();
    forget_helpers();
    t_inside_loop = false;
    g_backend.store(Backend::own, std::memory_order_relaxed);
}

const bool g_forks_are_heard = pthread_atfork(nullptr, nullptr, after_fork_in_child) == 0;

Backend decide() {
    const char* wish = std::getenv("TILEWRIGHT_POOL");
    bool openmp = g_forks_are_heard && wish && std::strcmp(wish, "openmp") == 0 && OpenMpBackend::available();
    Backend choice = openmp ? Backend::openmp : Backend::own;
    Backend undecided = Backend::undecided;
    return g_backend.compare_exchange_strong(undecided, choice) ? choice : undecided;
}

int run_inline(void* context, LoopBody body, int first, int count, std::uint8_t* closure) {
    for (int i = 0; i < count; ++i)
        if (int rc = body(context, first + i, closure)) return rc;
    return 0;
}

} // namespace

bool& inside_loop() {
    return t_inside_loop;
}

int parallel_loop(void* context, LoopBody body, int first, int count, std::uint8_t* closure, Watch* watch) {
    if (count <= 1 || t_inside_loop) return run_inline(context, body, first, count, closure);
    int wanted = std::min({count, LoopState::kMaxParticipants, openmp_thread_limit()}) - 1;
    int helpers = take_helpers(wanted);
    struct GiveBack {
        int helpers;
        ~GiveBack() {
            give_back_helpers(helpers);
            t_inside_loop = false;
        }
    } give_back{helpers};
    t_inside_loop = true;
    if (helpers == 0) return run_inline(context, body, first, count, closure);
    Backend backend = g_backend.load(std::memory_order_relaxed);
    if (backend == Backend::undecided) backend = decide();
    LoopState loop(context, body, first, count, closure, helpers + 1, watch);
    if (backend == Backend::openmp)
        OpenMpBackend::run(loop);
    else
        OwnPool::run(loop);
    return loop.error();
}

const char* parallel_backend() {
    static constexpr const char* kNames[] = {"none yet", "own", "openmp"};
    return kNames[static_cast<int>(g_backend.load(std::memory_order_relaxed))];
}

bool choose_parallel_backend(const char* name) {
    decide();
    const bool openmp = std::strcmp(name, "openmp") == 0;
    if (openmp ? !OpenMpBackend::available() : std::strcmp(name, "own") != 0) return false;
    g_backend = openmp ? Backend::openmp : Backend::own;
    return true;
}

int kernel_parallel_loop(void* context, LoopBody body, int first, int count, std::uint8_t* closure) {
    struct Kernel {
        void* context;
        LoopBody body;
        std::uint8_t* closure;
    } kernel{context, body, closure};
    int error = parallel_loop(
        &kernel,
        [](void* data, int index, std::uint8_t*) {
            auto* k = static_cast<Kernel*>(data);
            return with_memory_exit([&] { return k->body(k->context, index, k->closure); });
        },
        first, count, nullptr, watch_of_thread());
    if (error != 0) leave_kernel(error);
    return error;
}

} // namespace tilewright::runtime
