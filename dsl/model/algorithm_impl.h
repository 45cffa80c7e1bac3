// dsl/model/algorithm_impl.h: the Halide side of an Algorithm. For translator, apply and emit alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "Halide.h"
#include "dsl/model/algorithm.h"
#include "dsl/runtime/plan.h"

namespace tilewright::dsl {

/// One stage: its Func and the Vars and RVars behind the loop names of a schedule.
/// Halide renames Funcs that repeat a name, so schedules never go by Func::name().
struct StageImpl {
    Halide::Func func;
    std::map<std::string, Halide::Var> pure_loops;                 ///< "i" -> Var
    std::vector<std::map<std::string, Halide::RVar>> update_loops; ///< per update: "r" -> RVar
};

/// An output that is part of a buffer.
struct PlacedOutput {
    std::string func;
    Halide::Expr offset;               ///< of its first element in the buffer, in elements
    std::vector<Halide::Expr> strides; ///< by Halide's dimension: from one element of the part to the next
    std::string input;      ///< the ImageParam through which the kernel also reads that buffer, "" if it does not
    std::string flat_input; ///< the one through which it reads that buffer as a vector, "" if it does not
};

/// Several kernels, and loops around them, as one function: a call from the plan costs more than a short kernel.
struct KernelGroup {
    std::string name; ///< C symbol
    /// Loops, branches, copies, sizes that are read, and calls of kernels, with PlanStep::in_group.
    std::vector<runtime::PlanStep> steps;
    std::vector<Halide::Argument> arguments; ///< of all kernels, outputs too, but for what loops and reads replace
    std::vector<std::string> argument_names; ///< plan names
};

/// Outputs that are the halves of complex elements, by Halide's names: the second lies one element behind the first.
struct Halves {
    std::string real, imag;
};

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

/// What a schedule says about the memory traffic of a kernel, for the lowering passes.
struct Traffic {
    std::vector<PrefetchLines> prefetches;
    std::vector<NonTemporalStores> nontemporal;
};

/// One compiled pipeline of the plan.
struct KernelImpl {
    std::string name; ///< C symbol, such as get_labels_k0
    std::vector<Halide::Func> outputs;
    std::vector<std::string> output_names;   ///< plan buffers they are written to
    std::vector<Halide::Argument> arguments; ///< sizes and scalars, then inputs, in call order
    std::vector<std::string> argument_names; ///< plan names: "X.0", "a", "X", "t0"
    std::vector<PlacedOutput> placed;        ///< of `outputs`
    std::vector<Halves> halves;              ///< likewise
    Traffic traffic;                         ///< what the schedule says of it; filled by apply()
    int rows_together = 0;                   ///< likewise, of the nest that it ends; 0: nothing
};

struct AlgorithmImpl {
    std::map<std::string, StageImpl> stages;
    std::vector<KernelImpl> kernels;
    /// Kernels that run as part of a group are no separate functions.
    std::vector<KernelGroup> groups;
    /// Program sizes as int32 Params: what extent(...) in a condition becomes.
    std::map<std::string, Halide::Param<int32_t>> sizes;
    /// Array arguments and temporaries that kernels read.
    std::map<std::string, Halide::ImageParam> inputs;
    /// One version, each kernel in an object of its name.
    runtime::Plan plan;
};

} // namespace tilewright::dsl
