// dsl/runtime/machine_memory.cpp: pages of the machine, control groups, limits of the process.
#include "dsl/runtime/machine_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "dsl/runtime/cgroup.h"
#include "dsl/runtime/found_once.h"

namespace tilewright::runtime {
namespace {

std::size_t read_machine_memory() {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    std::size_t bytes =
        pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) : std::size_t{1} << 30;
    visit_cgroups("memory", [&](const std::string& folder, bool is_v2) {
        char line[128];
        if (!read_line(folder + (is_v2 ? "/memory.max" : "/memory.limit_in_bytes"), line, sizeof line)) return;
        // "max", which is no number, is no limit.
        if (const unsigned long long most = std::strtoull(line, nullptr, 10))
            bytes = std::min<std::size_t>(bytes, most);
    });
    for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
        rlimit limits{};
        if (getrlimit(resource, &limits) == 0 && limits.rlim_cur != RLIM_INFINITY)
            bytes = std::min<std::size_t>(bytes, limits.rlim_cur);
    }
    return bytes;
}

} // namespace

std::size_t machine_memory() {
    static constinit FoundOnce<std::size_t> bytes;
    return bytes.get(read_machine_memory);
}

} // namespace tilewright::runtime
