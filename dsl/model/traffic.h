// dsl/model/traffic.h: what a schedule says about the memory traffic of one kernel, for the lowering passes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::dsl {

/// prefetch_lines(loop, bytes): cache lines are fetched this far ahead of every dense load of an argument inside a
/// loop.
struct PrefetchLines {
    std::string stage_prefix; ///< of the lowered loop's name: "argmin.s0."
    std::string loop;         ///< its last component: "iv"
    std::int64_t bytes_ahead;
};

/// store_nontemporal(bytes): stores to an output of at least so many bytes go past the caches.
struct NonTemporalStores {
    std::string func;
    std::int64_t min_bytes;
};

struct Traffic {
    std::vector<PrefetchLines> prefetches;
    std::vector<NonTemporalStores> nontemporal;
};

} // namespace tilewright::dsl
