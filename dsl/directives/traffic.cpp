// dsl/directives/traffic.cpp: directives about what a kernel moves between memory and caches.
#include <string>

#include "dsl/base/error.h"
#include "dsl/directives/directives.h"

namespace tilewright::dsl {
namespace {

constexpr std::int64_t kMostBytesAhead = 1 << 18;

Traffic& traffic_of(ApplyContext& context) {
    return context.algorithm.kernels.at(static_cast<std::size_t>(context.check.stage.kernel)).traffic;
}

// ---- prefetch_lines -------------------------------------------------------------------------------------------------

void check_prefetch_lines(CheckContext& context) {
    if (!context.loop(0)) return;
    const auto bytes = context.factor(1, "the distance in bytes");
    if (bytes && (*bytes % 64 != 0 || *bytes > kMostBytesAhead)) {
        return context.refuse_at(1,
                                 context.where() + ": prefetch_lines " + std::to_string(*bytes) +
                                     " bytes ahead: not a multiple of 64 up to " + std::to_string(kMostBytesAhead) +
                                     ".",
                                 "Write a distance such as 2048.");
    }
    context.touch();
}
void apply_prefetch_lines(ApplyContext& context) {
    const int update = context.check.statement.update;
    traffic_of(context).prefetches.push_back({context.stage.func.name() + ".s" + std::to_string(update + 1) + ".",
                                              context.loop(context.name(0)).name(), context.check.numbers.at(0)});
}

// ---- store_nontemporal ----------------------------------------------------------------------------------------------

void check_store_nontemporal(CheckContext& context) {
    if (!context.whole_stage()) return;
    if (!context.stage.output) {
        return context.refuse(
            context.where() +
                ": store_nontemporal on a stage that the kernel keeps to itself: it is read again at once.",
            "Use it on a stage that is a result.");
    }
    context.factor(0, "the least bytes of the result");
}
void apply_store_nontemporal(ApplyContext& context) {
    traffic_of(context).nontemporal.push_back({context.stage.func.name(), context.check.numbers.at(0)});
}

} // namespace

std::vector<DirectiveRow> traffic_rows() {
    return {
        {"prefetch_lines", "traffic",
         "for i: s(x[i])   ->   for i: prefetch the line of x 2048 bytes ahead; s(x[i])     (prefetch_lines(i, 2048))",
         check_prefetch_lines, apply_prefetch_lines},
        {"store_nontemporal", "traffic",
         "y[i] = s through the caches   ->   past them, where y has 16 MiB or more     (store_nontemporal(16777216))",
         check_store_nontemporal, apply_store_nontemporal},
    };
}

} // namespace tilewright::dsl
