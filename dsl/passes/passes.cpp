// dsl/passes/passes.cpp: the passes that every kernel needs, in their order.
#include "dsl/passes/passes.h"

#include "dsl/passes/markers.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {

using Halide::Internal::Stmt;

void add_passes(Halide::Pipeline& pipeline, bool converts_halves) {
    std::set<std::string> outputs;
    for (const Halide::Func& output : pipeline.outputs())
        for (const Halide::OutputImageParam& buffer : output.output_buffers())
            outputs.insert(buffer.name());
    add_statement_pass(pipeline, [converts_halves](const Stmt& statement) {
        const Stmt plain = without_markers(lower_device_extremes(plain_truths(statement), false), kOpaqueMarker,
                                           kInKernelMarker, kApartMarker);
        return branch_scalar_predicates(lower_half_floats(plain, converts_halves));
    });
    add_rare_path_pass(pipeline);
    add_statement_pass(pipeline, [outputs](const Stmt& statement) {
        return hide_zero_divisors(forget_alignment(skip_masked_iterations(exit_early(statement)), outputs));
    });
}

} // namespace tilewright::dsl
