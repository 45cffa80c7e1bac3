// translator/pipeline.cpp: the list of rewrites.
#include "translator/pipeline.h"

#include "translator/complex.h"
#include "translator/loops/branches.h"
#include "translator/loops/linear_bits.h"
#include "translator/loops/sums_of_trips.h"
#include "translator/loops/trips_as_axes.h"
#include "translator/loops/turned.h"
#include "translator/loops/uniform_axes.h"

namespace tilewright::translator {
namespace {

template <Program (*run)(const Program&)> Program plain(const Program& program, const TranslateOptions&) {
    return run(program);
}

} // namespace

const std::vector<Rewrite>& rewrites() {
    static const std::vector<Rewrite> list = {
        {"split_complex", plain<split_complex>, ""},
        {"trips_as_sums", plain<trips_as_sums>, "reduction: sums of integers over the trips, in any order"},
        {"branches_as_values", plain<branches_as_values>, ""},
        {"linear_bits", plain<linear_bits>, ""},
        {"without_uniform_axes", plain<without_uniform_axes>, ""},
        {"turned", plain<turned>, ""},
        {"trips_as_axes", trips_as_axes, "axis: its trips are independent, and an axis of the kernels"},
    };
    return list;
}

Program rewritten(const Program& program, const TranslateOptions& options) {
    Program current = program;
    for (const Rewrite& rewrite : rewrites())
        current = rewrite.run(current, options);
    return current;
}

} // namespace tilewright::translator
