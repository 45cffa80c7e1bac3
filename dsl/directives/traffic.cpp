// dsl/directives/traffic.cpp: directives about what a kernel moves between memory and caches.
#include <string>

#include "dsl/base/error.h"
#include "dsl/directives/directives.h"
#include "dsl/language/schedule_text.h"

namespace tilewright::dsl {
namespace {

constexpr std::int64_t kMostBytesAhead = 1 << 18;

Traffic& traffic_of(ApplyContext& context) {
    return context.algorithm.kernels.at(static_cast<std::size_t>(context.check.stage.kernel)).traffic;
}

// ---- prefetch_lines -------------------------------------------------------------------------------------------------

void check_prefetch_lines(CheckContext& context) {
    refuse_on_device(context, "Take it away: other warps run while one waits for memory.");
    // Lowering knows loops by their names, which the copies of a definition share.
    if (context.in_block) {
        context.refuse("prefetch_lines inside specialize: it reaches the loops of that name in every copy.",
                       "Write " + context.where() + "." + print_directive(context.directive) + " on a separate line.");
    }
    context.loop(0);
    const std::int64_t bytes = context.number(1, "the distance in bytes");
    if (bytes <= 0 || bytes % 64 != 0 || bytes > kMostBytesAhead) {
        context.refuse_at(1,
                          "prefetch_lines " + std::to_string(bytes) +
                              " bytes ahead: not a positive multiple of 64 up to " + std::to_string(kMostBytesAhead) +
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

/// Who reads the stage in its own kernel, or "".
std::string reader_of(const CheckContext& context) {
    if (!context.stage.pure()) return "its own update";
    for (const auto& [name, stage] : context.model.stages) {
        if (stage.kernel != context.stage.kernel) continue;
        for (const DefinitionModel& definition : stage.definitions)
            for (const CallInfo& call : definition.calls)
                if (call.stage == context.stage.name) return name;
    }
    return "";
}

void check_store_nontemporal(CheckContext& context) {
    refuse_on_device(context, "Take it away.");
    context.need_whole_stage();
    if (!context.stage.output) {
        context.refuse("store_nontemporal on a stage that the kernel keeps to itself: it is read again at once.",
                       "Use it on a stage that is a result.");
    }
    // Besides being slow, stores through the second base address and loads of the array are nothing that the optimizer
    // would keep in order.
    if (const std::string reader = reader_of(context); !reader.empty()) {
        context.refuse("store_nontemporal on a result that " + reader + " reads again: it would come back from memory.",
                       "Take it away.");
    }
    context.factor(0, "the least bytes of the result");
}
void apply_store_nontemporal(ApplyContext& context) {
    traffic_of(context).nontemporal.push_back({context.stage.func.name(), context.check.numbers.at(0)});
}

} // namespace

std::vector<DirectiveRow> traffic_rows() {
    return {
        {"prefetch_lines",
         "for i: s(x[i])   ->   for i: prefetch the line of x 2048 bytes ahead; s(x[i])     (prefetch_lines(i, 2048))",
         check_prefetch_lines, apply_prefetch_lines},
        {"store_nontemporal",
         "y[i] = s through the caches   ->   past them, where y has 16 MiB or more     (store_nontemporal(16777216))",
         check_store_nontemporal, apply_store_nontemporal},
    };
}

} // namespace tilewright::dsl
