// dsl/runtime/thread_budget.h: how many threads parallel loops may use, in all and in this call.
#pragma once

namespace tilewright::runtime {

/// Upper end of what anyone may ask for.
inline constexpr int kMaxThreads = 1024;

/// What this machine gives the process: CPU affinity, cut by the cgroup's quota (rounded up). At least 1.
int available_cores();

/// The process's budget: set_num_threads(), else TILEWRIGHT_NUM_THREADS, else OMP_NUM_THREADS, each cut to
/// available_cores().
int num_threads();
/// Sets the budget; n <= 0 returns to the default.
void set_num_threads(int n);

/// The calling thread's own limit, 0 for none. Returns the one before.
int set_thread_limit(int n);
int thread_limit();

/// Takes up to `wanted` helpers from what concurrent loops have left of the budget (the caller itself is not counted
/// as a helper). Give the number back when the loop ends.
int take_helpers(int wanted);
void give_back_helpers(int taken);

/// For the child of a fork: loops of other threads do not exist there.
void forget_helpers();

} // namespace tilewright::runtime
