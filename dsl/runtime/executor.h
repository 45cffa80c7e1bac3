// dsl/runtime/executor.h: a plan with its objects, ready to be called. All decisions that can be made at load are.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/runtime/object_loader.h"
#include "dsl/runtime/plan.h"

namespace tilewright::runtime {

/// An array of a call. Shape and strides belong to the caller; strides are in bytes.
struct ArrayView {
    void* data = nullptr;
    const std::int64_t* shape = nullptr;
    const std::int64_t* strides = nullptr;
};

/// An argument of a call, in the plan's order; a scalar lies in its own C type at the front of `scalar`.
struct CallArgument {
    ArrayView array;
    alignas(16) unsigned char scalar[16] = {};
};

/// A C-contiguous result: size_results() fills the shape, the caller the data.
struct CallResult {
    void* data;
    std::int64_t shape[kMaxRank];
    std::int64_t elements;
};

enum class RunStatus { done, out_of_memory, failed };

/// Immutable after load; run() may be called from any number of threads.
class Executable {
  public:
    /// One call's working memory, laid out in frame_bytes() of the caller's stack.
    struct Frame {
        CallArgument* arguments;
        CallResult* results;
        std::int64_t* symbols;
    };

    /// Loads the versions that this machine can run (there may be none: usable() is then false). Throws ExportError for
    /// a damaged plan, an object that is missing or damaged, or a symbol that is not in it.
    static std::shared_ptr<const Executable> load(std::string_view plan_text,
                                                  const std::map<std::string, std::string_view>& objects);

    const Plan& plan() const { return plan_; }
    bool usable() const { return !versions_.empty(); }

    std::size_t frame_bytes() const { return frame_bytes_; }
    Frame lay_out(void* memory) const;

    /// Reads the extents and integer scalars. False: an array has 2^31 elements or more, or strides beyond what kernels
    /// can index; `argument` says which.
    bool read_sizes(const Frame& frame, int& argument) const;
    /// Index of the first guard that fails, or -1.
    int failed_guard(const Frame& frame) const;
    /// The first version whose requirements hold, or -1.
    int select(const Frame& frame) const;
    /// Shapes of the results. False when one is negative or has 2^31 elements or more.
    bool size_results(const Frame& frame) const;
    /// Runs the steps of a version. Results must have their memory.
    RunStatus run(const Frame& frame, int version) const;

    const std::string& version_label(int version) const { return plan_.versions[versions_[version].index].label; }
    /// Why a guard fails, with the values of its sizes and what to do: "a must equal b, but they are 3 and 2. Do this."
    std::string guard_message(int guard, const Frame& frame) const;
    /// The call's arguments: "X float64[3, 2] and n 5".
    std::string sizes_text(const Frame& frame) const;
    /// Requirements of every version that this machine can run.
    std::string requirements_text() const;

  private:
    struct Requirement {
        PlanRequirement::Kind kind;
        int argument;
        CompiledSize condition;
    };
    struct Buffer {
        enum class From { argument, result, temporary };
        From from;
        int index;
        int rank;
        DType dtype;
    };
    struct CallOperand {
        enum class Kind { size, scalar, buffer };
        Kind kind;
        int index; ///< scalar: argument; buffer: in buffers
        CompiledSize size;
    };
    struct Step {
        int (*kernel)(void**) = nullptr; ///< null: matmul
        DType dtype = DType::float64;
        std::vector<CallOperand> operands;
        std::vector<int> acquire, release; ///< temporaries that begin or end to live here
        std::string name;
    };
    struct Version {
        std::size_t index; ///< in plan_.versions
        std::vector<Requirement> requirements;
        std::vector<Buffer> buffers;
        std::vector<std::vector<CompiledSize>> temporaries;
        std::vector<DType> temporary_types;
        std::vector<Step> steps;
        std::size_t dimensions = 0;   ///< of all buffers together
        std::size_t max_operands = 0; ///< of a step
    };
    struct ArraySlot {
        int argument;
        int rank;
        int bytes;
        int first_symbol;
    };
    struct ScalarSlot {
        int argument;
        int symbol;
    };

    Executable() = default;
    void compile(const std::map<std::string, std::string_view>& objects);
    void compile_version(std::size_t index, const std::map<std::string, std::string_view>& objects);
    int slot(const std::string& symbol) const;

    Plan plan_;
    std::map<std::string, int> slots_;
    std::vector<ArraySlot> arrays_;
    std::vector<ScalarSlot> integers_;
    std::vector<CompiledSize> guards_;
    std::vector<std::vector<CompiledSize>> result_shapes_;
    std::vector<Version> versions_;
    std::map<std::string, std::shared_ptr<const LoadedObject>> objects_;
    std::size_t frame_bytes_ = 0, results_at_ = 0, symbols_at_ = 0;
};

} // namespace tilewright::runtime
