// dsl/code/emit.h: Algorithm + Schedule -> object code and the conditions under which it may run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/language/schedule.h"
#include "dsl/model/algorithm.h"
#include "dsl/runtime/plan.h"

namespace tilewright::dsl {

struct EmitOptions {
    std::string isa = "host";       ///< x86-64, x86-64-v3, x86-64-v4, host, cuda, cuda-sm_80, ...
    bool guard_tails = false;       ///< every tail GuardWithIf: code that needs no precondition
    bool assembly = false;          ///< also fill assembly and lowered
    int threads = 1;                ///< that compile; the objects are the same with each number
    std::string contract = "numpy"; ///< all but "fast": strict floating point, no contraction, no reassociation
};

struct EmittedKernel {
    std::string name;   ///< C symbol; its object defines NAME and NAME_argv
    std::string object; ///< ELF x86-64 relocatable, no Halide runtime inside; "" where that of another one has it
    std::vector<std::string> requires_; ///< conditions of plan_text.md: "X.0 >= 65536"
    int nontemporal_stores = 0;         ///< vector stores past the caches, where store_nontemporal asks for them
    int prefetches = 0;                 ///< instructions that prefetch_lines asks for
    int device_kernels = 0;             ///< entries of device_code
    std::int64_t shared_bytes = 0;      ///< the most that the threads of one block share; -1 where sizes decide
    std::string device_code;            ///< the PTX inside the object, of a CUDA target
    std::string assembly;               ///< for a CUDA target the same as device_code
    std::string lowered;                ///< Halide's final statement, as text
};

struct Emitted {
    std::vector<EmittedKernel> kernels;
    runtime::Plan plan; ///< from the Algorithm, see AlgorithmImpl
};

/// Applies `schedule` directive by directive. Throws ScheduleError naming stage, directive and reason.
void apply(Algorithm& algorithm, const Schedule& schedule, bool guard_tails = false);

/// Compiles an algorithm whose schedule was applied. Throws ScheduleError for what only lowering finds.
/// Deterministic: the same input gives the same bytes.
Emitted emit(Algorithm algorithm, const Schedule& schedule, const EmitOptions& options);

/// What one of Halide's autoschedulers would do, in our language. `name`: Adams2019, Mullapudi2016,
/// Li2018. Needs extent_here of every size. Throws ScheduleError where it has no answer.
Schedule autoschedule(Algorithm algorithm, const std::string& name, const std::string& isa, int cores);

/// x86-64-v4 for this machine where it has AVX-512, and so on down.
std::string host_isa();

} // namespace tilewright::dsl
