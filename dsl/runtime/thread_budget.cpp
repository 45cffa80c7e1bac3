// dsl/runtime/thread_budget.cpp: affinity, cgroup quota and environment, read once.
#include "dsl/runtime/thread_budget.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "dsl/runtime/cgroup.h"
#include "dsl/runtime/found_once.h"

namespace tilewright::runtime {
namespace {

std::atomic<int> g_budget{0}; // 0: not read yet
std::atomic<int> g_busy{0};   // callers inside a loop and their helpers
thread_local int t_limit = 0;

int affinity_cores() {
    // Machines with more than 1024 CPUs need a larger mask than cpu_set_t.
    for (int cpus = 1024; cpus <= 1 << 16; cpus *= 4) {
        cpu_set_t* set = CPU_ALLOC(cpus);
        if (!set) return 1;
        std::size_t bytes = CPU_ALLOC_SIZE(cpus);
        int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (count > 0) return count;
    }
    return 1;
}

/// Cores that a quota and a period in microseconds allow; kMaxThreads where that is no limit.
int quota_cores(double quota, double period) {
    if (!(quota > 0) || !(period > 0)) return kMaxThreads;
    return std::max(1, static_cast<int>(std::min<double>(kMaxThreads, (quota + period - 1) / period)));
}

/// The tightest quota of the process's groups.
int cgroup_cores() {
    int result = kMaxThreads;
    visit_cgroups("cpu", [&](const std::string& folder, bool is_v2) {
        char text[128], other[128];
        double quota = 0, period = 0;
        if (is_v2) {
            if (read_line(folder + "/cpu.max", text, sizeof text) && std::sscanf(text, "%lf %lf", &quota, &period) == 2)
                result = std::min(result, quota_cores(quota, period));
        } else if (read_line(folder + "/cpu.cfs_quota_us", text, sizeof text) &&
                   read_line(folder + "/cpu.cfs_period_us", other, sizeof other)) {
            result = std::min(result, quota_cores(std::atof(text), std::atof(other)));
        }
    });
    return result;
}

/// The first positive number of an environment variable; OMP_NUM_THREADS may be a list ("4,2").
int environment_threads(const char* name) {
    const char* text = std::getenv(name);
    if (!text) return 0;
    long n = std::strtol(text, nullptr, 10);
    return n > 0 ? static_cast<int>(std::min<long>(n, kMaxThreads)) : 0;
}

int default_threads() {
    int cores = available_cores();
    if (int n = environment_threads("TILEWRIGHT_NUM_THREADS")) return std::min(n, cores);
    if (int n = environment_threads("OMP_NUM_THREADS")) return std::min(n, cores);
    return cores;
}

} // namespace

int available_cores() {
    static constinit FoundOnce<int> cores;
    return cores.get([] { return std::min(cgroup_cores(), affinity_cores()); });
}

int num_threads() {
    int n = g_budget.load(std::memory_order_relaxed);
    if (n == 0) {
        n = default_threads();
        int unset = 0;
        if (!g_budget.compare_exchange_strong(unset, n)) n = unset;
    }
    return n;
}

void set_num_threads(int n) {
    g_budget.store(n <= 0 ? default_threads() : std::min(n, available_cores()), std::memory_order_relaxed);
}

int set_thread_limit(int n) {
    int before = t_limit;
    t_limit = std::clamp(n, 0, kMaxThreads);
    return before;
}

int thread_limit() {
    return t_limit;
}

int take_helpers(int wanted) {
    int budget = num_threads();
    if (t_limit > 0) wanted = std::min(wanted, t_limit - 1);
    // The caller is busy whatever the answer is, so that concurrent callers count against each other.
    int busy = g_busy.load(std::memory_order_relaxed);
    for (;;) {
        int helpers = std::clamp(budget - busy - 1, 0, std::max(wanted, 0));
        if (g_busy.compare_exchange_weak(busy, busy + 1 + helpers, std::memory_order_relaxed)) return helpers;
    }
}

void give_back_helpers(int taken) {
    g_busy.fetch_sub(1 + taken, std::memory_order_relaxed);
}

void forget_helpers() {
    g_busy.store(0, std::memory_order_relaxed);
}

} // namespace tilewright::runtime
