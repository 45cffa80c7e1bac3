// dsl/runtime/backends.h: who runs a loop's helpers. Internal to parallel.cpp.
#pragma once

#include "dsl/runtime/loop_state.h"

namespace tilewright::runtime {

/// Threads of our own.
class OwnPool {
  public:
    /// Runs the loop on this thread and up to participants() - 1 workers; returns when all are done.
    static void run(LoopState& loop);
    /// In the child of a fork the parent's workers do not exist; a later loop starts a new pool.
    static void forget();
};

/// libgomp, found at run time: the one already loaded in this process, else the system's.
class OpenMpBackend {
  public:
    static bool available();
    static void run(LoopState& loop);
};

/// What OpenMP's own limit says for this thread (threadpoolctl sets it); kMaxThreads where no libgomp is loaded.
int openmp_thread_limit();

/// True on any thread that is inside a loop of ours: nested loops run inline.
bool& inside_loop();

} // namespace tilewright::runtime
