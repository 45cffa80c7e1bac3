// dsl/runtime/openmp_backend.cpp: parallel loops through GNU OpenMP, found with dlopen so that nothing depends on it.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "dsl/runtime/backends.h"
#include "dsl/runtime/found_once.h"
#include "dsl/runtime/thread_budget.h"

namespace tilewright::runtime {
namespace {

struct Gomp {
    void (*parallel)(void (*function)(void*), void* data, unsigned threads, unsigned flags) = nullptr;
    int (*thread_num)() = nullptr;
    int (*threads)() = nullptr;
    int (*max_threads)() = nullptr;
};

bool resolve(void* library, Gomp& gomp) {
    gomp.parallel = reinterpret_cast<decltype(gomp.parallel)>(dlsym(library, "GOMP_parallel"));
    gomp.thread_num = reinterpret_cast<decltype(gomp.thread_num)>(dlsym(library, "omp_get_thread_num"));
    gomp.threads = reinterpret_cast<decltype(gomp.threads)>(dlsym(library, "omp_get_num_threads"));
    gomp.max_threads = reinterpret_cast<decltype(gomp.max_threads)>(dlsym(library, "omp_get_max_threads"));
    return gomp.parallel && gomp.thread_num && gomp.threads && gomp.max_threads;
}

const Gomp& gomp() {
    static constinit FoundOnce<Gomp> found;
    return found.get([] {
        Gomp g;
        const char* wish = std::getenv("TILEWRIGHT_POOL");
        bool own_only = wish && std::strcmp(wish, "own") == 0;
        void* library = dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD);
        if (!library && !own_only) library = dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!library || !resolve(library, g)) return Gomp{};
        return g;
    });
}

} // namespace

bool OpenMpBackend::available() {
    return gomp().parallel != nullptr;
}

void OpenMpBackend::run(LoopState& loop) {
    gomp().parallel(
        [](void* data) {
            // A thread of OpenMP may run other regions later: the mark is taken back.
            bool before = inside_loop();
            inside_loop() = true;
            auto& mine = *static_cast<LoopState*>(data);
            const int self = gomp().thread_num();
            mine.participate(self);
            inside_loop() = before;
            if (!mine.is_watched()) return; // the end of the region waits as well, but hears of no interrupt
            if (self == 0)
                mine.wait_for(static_cast<std::uint32_t>(gomp().threads() - 1));
            else
                mine.finish();
        },
        &loop, static_cast<unsigned>(loop.participants()), 0);
}

int openmp_thread_limit() {
    // With the own pool too: threadpoolctl and omp_set_num_threads() speak to libgomp, and are heard through it.
    const Gomp& library = gomp();
    return library.max_threads ? library.max_threads() : kMaxThreads;
}

} // namespace tilewright::runtime
