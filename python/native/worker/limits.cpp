// python/native/worker/limits.cpp: prctl, signals and rlimits of a worker.
#include "python/native/worker/limits.h"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dsl/runtime/cuda/device.h"

namespace tilewright::native {
namespace {

/// A field of a file like /proc/meminfo, in bytes; 0 where it is missing.
std::int64_t kib_field(const char* path, const std::string& name) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
        if (line.rfind(name + ":", 0) == 0) return std::atoll(line.c_str() + name.size() + 1) * 1024;
    return 0;
}

} // namespace

void tie_to_parent(pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The parent may have ended before that call.
    if (parent > 0 && getppid() != parent) _exit(1);
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_DFL);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    std::ofstream("/proc/self/oom_score_adj") << "1000";
}

void end_with_lost_device(const std::string& text) {
    const std::string why = runtime::cuda::lost_why();
    if (why.empty()) return;
    std::fprintf(stderr, "%s\n", text.empty() ? why.c_str() : text.c_str());
    std::fflush(nullptr);
    _exit(3);
}

void limit_memory(const autotune::Job& job) {
    std::int64_t limit = job.memory_limit_bytes;
    if (limit <= 0) {
        // Data, results, references of some variants, stages that are computed whole; and a compiler.
        const double wanted = 24 * (job.argument_bytes() + job.result_bytes()) + 8 * job.stage_bytes() + 4e9;
        const std::int64_t available = kib_field("/proc/meminfo", "MemAvailable");
        limit =
            static_cast<std::int64_t>(available > 0 ? std::min(wanted, 0.8 * static_cast<double>(available)) : wanted);
    }
    const std::int64_t used = kib_field("/proc/self/status", "VmSize");
    const auto bytes = static_cast<rlim_t>(used + limit);
    rlimit present{};
    if (getrlimit(RLIMIT_AS, &present) == 0 && present.rlim_cur != RLIM_INFINITY && present.rlim_cur < bytes) return;
    const rlimit wanted{bytes, present.rlim_max};
    setrlimit(RLIMIT_AS, &wanted);
}

} // namespace tilewright::native
