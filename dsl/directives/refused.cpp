// dsl/directives/refused.cpp: directives of Halide that are known and not possible here, each with the reason.
#include "dsl/directives/directives.h"

namespace tilewright::dsl {
namespace {

void no_cache(CheckContext& context) {
    context.refuse("memoize needs a cache in the runtime, and kernels have none.",
                   "Use compute_root(), so that it is computed once a call.");
}
void no_async(CheckContext& context) {
    context.refuse(context.directive.verb +
                       " needs semaphores and asynchronous tasks in the runtime, and kernels have none.",
                   "Use parallel on an outer loop.");
}
void no_fail(CheckContext& context) {
    context.refuse("specialize_fail would stop a kernel at run time, and kernels do not fail.",
                   "Leave the general version as it is.");
}

} // namespace

std::vector<DirectiveRow> refused_rows() {
    return {
        {"memoize", "kept results between calls; kernels have no cache", no_cache, nullptr},
        {"async", "a stage that a separate task computes; kernels have no such tasks", no_async, nullptr},
        {"ring_buffer", "several copies of a stage's storage, for async", no_async, nullptr},
        {"specialize_fail", "an error where no specialization holds", no_fail, nullptr},
    };
}

} // namespace tilewright::dsl
