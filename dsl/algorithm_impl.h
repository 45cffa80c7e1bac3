// dsl/algorithm_impl.h: the Halide side of an Algorithm. For translator, apply and emit alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "Halide.h"
#include "dsl/algorithm.h"
#include "dsl/traffic.h"

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
    std::string input; ///< the ImageParam through which the kernel also reads that buffer, "" if it does not
};

/// A loop of the program around kernels.
struct KernelLoop {
    std::string variable; ///< the Param that it replaces
    Halide::Expr first, trips, step;
    bool parallel = false;
    std::int64_t trips_per_task = 1; ///< of a parallel loop, at least
    /// Elements of the output's other axes do not need each other: around one kernel it may run inside the outermost
    /// loops of that.
    bool may_go_inside = false;
    /// Buffers of no dimensions that each trip has for itself, by their names in the plan.
    std::vector<std::pair<std::string, Halide::Type>> own;
    /// Not 0: a loop over rows around loops over columns, of which so many rows are under way together, each at least
    /// `skew` columns behind the one before it (passes/wavefront). A schedule may name another number.
    int rows_together = 0;
    int skew = 0;
    int first_column = 0; ///< of a loop over columns: that of its first trip
};

/// What a kernel of several pipelines does, in order.
struct KernelStep {
    enum class Kind {
        kernel, ///< one of AlgorithmImpl::kernels
        loop,   ///< body, once for each trip
        read,   ///< `variable` is from here on what the integer buffer `from` holds
        branch, ///< body if the truth `from`, or `condition` where there is one, holds, else `other`
        copy    ///< all of `from` to `to`, both of them C-contiguous
    };
    Kind kind = Kind::kernel;
    int kernel = 0;
    KernelLoop loop;
    std::string variable;   ///< of a read: the Param that it replaces
    std::string symbol;     ///< of a loop or a read: its name in the plan
    std::string from, to;   ///< names in the plan
    Halide::Type type;      ///< of `from`
    Halide::Expr elements;  ///< of a copy
    Halide::Expr condition; ///< of a branch, over sizes: the first way is the short one
    std::vector<KernelStep> body, other;
};

/// Several kernels, and loops around them, as one function: a call from the plan costs more than a short kernel.
struct KernelGroup {
    std::string name; ///< C symbol
    std::vector<KernelStep> steps;
    std::vector<Halide::Argument> arguments; ///< of all kernels, outputs too, but for what loops and reads replace
    std::vector<std::string> argument_names; ///< plan names
};

/// Outputs that are the halves of complex elements, by Halide's names: the second lies one element behind the first.
struct Halves {
    std::string real, imag;
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
    /// Kernels that run as part of a group are no functions of their own.
    std::vector<KernelGroup> groups;
    /// Program sizes as int32 Params: what extent(...) in a condition becomes.
    std::map<std::string, Halide::Param<int32_t>> sizes;
    /// Array arguments and temporaries that kernels read.
    std::map<std::string, Halide::ImageParam> inputs;
    /// The plan's text (plan_text.md) in two parts that runtime::compose_plan puts together: the lines before the first
    /// `version` line, and the temp, call and library lines of one version, each `call K in "K" (...)`.
    std::string plan_header;
    std::string plan_body;
};

} // namespace tilewright::dsl
