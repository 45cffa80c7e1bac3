// dsl/runtime/executor.h: a plan with its objects, ready to be called. All decisions that can be made at load are.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/runtime/compiled_size.h"
#include "dsl/runtime/cuda/device.h"
#include "dsl/runtime/object_loader.h"
#include "dsl/runtime/plan.h"
#include "dsl/runtime/watch.h"

namespace tilewright::runtime {

namespace cuda {
class Call;
}

/// An array of a call; on a device, `data` is its address there. Shape and strides belong to the caller; strides are in
/// bytes.
struct ArrayView {
    void* data = nullptr;
    const std::int64_t* shape = nullptr;
    const std::int64_t* strides = nullptr;
};

struct MemoryRange;

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
    bool is_pooled =
        false; ///< from result_allocate() or cuda::allocate(): temporaries may lie there until it is written
};

/// Blocks where the arrays of a call lie, given back however the call ends.
class CallMemory {
  public:
    /// `blocks` are of the caller's stack, and null until they are allocated. `place`: null on the host, where they are
    /// scratch memory.
    CallMemory(void** blocks, std::size_t count, const cuda::Place* place);
    ~CallMemory();
    CallMemory(const CallMemory&) = delete;
    CallMemory& operator=(const CallMemory&) = delete;

  private:
    void** blocks_;
    std::size_t count_;
    const cuda::Place* place_;
};

/// out_of_range: a size that the steps compute or read, or the bounds or the step of a loop, are none that kernels can
/// have. interrupted: the caller's Interrupt said so. check_failed: a check of the plan, or a size that it reads and
/// that does not fit; arguments are as they were. device_error: what a device refused
/// or reported, perhaps of an earlier call.
enum class RunStatus { done, out_of_memory, failed, out_of_range, interrupted, check_failed, device_error };

/// An array that a stage of Python's is given, or the one that it fills: shape in NumPy's order, strides in bytes.
struct StageArray {
    DType dtype;
    int rank;
    void* data;
    std::int64_t shape[kMaxRank], strides[kMaxRank];
};

/// What became of it. refused: it raised, or gave another dtype or shape: NumPy has to run the call.
enum class StageOutcome { done, refused, interrupted };

/// Runs the stages of a call, by their number in Executable::stages(). The last array is the result.
struct StageRunner {
    StageOutcome (*run)(void* context, int stage, const StageArray* arrays, int count);
    void* context;
};

/// Immutable after load; run() may be called from any number of threads.
class Executable {
  public:
    /// One call's working memory, laid out in frame_bytes() of the caller's stack.
    struct Frame {
        CallArgument* arguments;
        CallResult* results;
        std::int64_t* symbols;
        /// Where all arrays of the call lie; null: on the host. What is on the stream goes before the call, and the
        /// call does not wait for its end.
        const cuda::Place* place = nullptr;
        const StageRunner* stages = nullptr; ///< null: a plan that has stages does not run
    };

    /// Loads the versions that this machine can run (there may be none: usable() is then false), and all for devices.
    /// Throws ExportError for a damaged plan, an object that is missing or damaged, or a symbol that is not in it.
    static std::shared_ptr<const Executable> load(std::string_view plan_text,
                                                  const std::map<std::string, std::string_view>& objects);

    const Plan& plan() const { return plan_; }
    /// The expressions of the plan's stages, each once.
    const std::vector<std::string>& stages() const { return stages_; }
    bool usable() const { return !versions_.empty(); }
    /// Whether some version is for arrays of the host; for arrays of a device.
    bool serves_host() const;
    bool serves_devices() const;

    /// A size of the arguments, for the symbols of a frame. Throws std::invalid_argument for a symbol that is none.
    CompiledSize compile_size(const SizeExpression& size) const {
        return CompiledSize::compile(size, [this](const std::string& name) { return slot(name); });
    }

    std::size_t frame_bytes() const { return frame_bytes_; }
    Frame lay_out(void* memory) const;

    /// Reads the extents and integer scalars. False: an array has more elements than element_limit(), or strides beyond
    /// what kernels can index; `argument` says which.
    bool read_sizes(const Frame& frame, int& argument) const;
    /// Index of the first guard that fails, or -1.
    int failed_guard(const Frame& frame) const;
    /// Likewise where read_sizes() refused an array: by the extents that the arrays have all the same.
    int failed_guard_of_large(const Frame& frame) const;
    /// The first version for where the arrays lie whose requirements hold, or -1.
    int select(const Frame& frame) const;
    /// Shapes of the results. False when one is negative or has more elements than element_limit().
    bool size_results(const Frame& frame) const;
    /// Which one, in words, where size_results() is false.
    std::string why_not_sized(const Frame& frame) const;
    /// What read_sizes(), failed_guard(), select() and size_results() said of a call of whose arrays the shapes,
    /// strides and place were these, and the integers: all that they look at.
    class Decision {
      private:
        friend class Executable;
        int version = -1; ///< none yet
        int device = -1;
        /// Extents and strides, then integers; of each result its elements and its shape.
        std::vector<std::int64_t> looked_at, symbols, results;
    };
    /// Fills sizes and results as for the call of the decision, and gives its version; -1 where this is another one.
    int recall(const Frame& frame, const Decision& decision) const;
    /// After size_results().
    void remember(const Frame& frame, int version, Decision& decision) const;

    /// Runs the steps of a version that select() gave. Results must have their memory. `failed`: gets the text of the
    /// check that failed, or of the error of the device.
    RunStatus run(const Frame& frame, int version, const Interrupt* interrupt = nullptr,
                  std::string* failed = nullptr) const;

    const std::string& version_label(int version) const { return plan_.versions[versions_[version].index].label; }
    /// Why a guard fails, with the values of its sizes and what to do: "a must equal b, but they are 3 and 2. Do this."
    std::string guard_message(int guard, const Frame& frame) const;
    /// Why the call must not write into an argument whose array may be written otherwise; empty where it may. `ranges`:
    /// what the arrays of the arguments reach, empty for what is no array.
    std::string why_not_written(std::size_t argument, const Frame& frame, const MemoryRange* ranges) const;
    /// The call's arguments: "X float64[3, 2] and n 5".
    std::string sizes_text(const Frame& frame) const;
    /// Why no version runs on this device at all: a fork, or code for later devices; "" where some version does.
    std::string device_problem(const cuda::Place& place) const;
    /// Requirements of every version that this machine can run.
    std::string requirements_text() const;

  private:
    struct Requirement {
        PlanRequirement::Kind kind;
        int argument;
        CompiledSize condition;
    };
    struct Buffer {
        enum class From { argument, result, temporary, half };
        From from;
        int index; ///< in its list; of a half, the buffer that it is a half of
        int rank;
        DType dtype;
        std::uint8_t halide_code, halide_bits, log_bytes; ///< of the dtype
        int halves[2] = {-1, -1}; ///< buffers over the real and the imaginary parts, where steps use them
        int lender = -1;          ///< of a temporary: the result in whose memory it may lie
    };
    struct Operand {
        enum class Kind { size, scalar, buffer };
        Kind kind;
        int index;      ///< size: in sizes; scalar: argument; buffer: in buffers
        int offset = 0; ///< scalar: bytes to the half that is meant
    };
    struct Call {
        int (*kernel)(void**);
        int operand;                      ///< the first
        int size, moving_size, sizes_end; ///< those that no step changes come first and are computed once for a run
    };
    struct Range {
        CompiledSize from, to, step;
        int symbol;
        /// On a device: after so many iterations all swaps are undone, and each iteration does the same. 0: not all
        /// iterations do.
        int period = 0;
        int launches = 0; ///< of an iteration
    };
    struct Condition {
        Operand::Kind kind;
        int index;
        CompiledSize size;
    };
    struct Instruction {
        enum class Op : std::uint8_t {
            call,    ///< calls[a]
            matmul,  ///< products[a]
            stage,   ///< host_stages[a]; else failures[target]
            copy,    ///< buffer a to buffer b
            save,    ///< buffer a, an argument, to buffer b, and back where the call fails later
            swap,    ///< buffers a and b
            read,    ///< buffer a to symbol b; else failures[target]
            check,   ///< conditions[a]; else failures[target]
            acquire, ///< buffer a, a temporary
            release,
            first_iteration, ///< ranges[a]; without one, to target
            next_iteration,  ///< ranges[a]: back to target, or on
            again,           ///< back to target
            jump,            ///< to target
            jump_if,         ///< conditions[a]
            jump_unless,     ///< conditions[a]
            end
        };
        Op op;
        int a = 0, b = 0;
        int target = 0;
    };
    struct Product {
        int arrays[3];
        int ranks[3];                        ///< as the product sees them
        std::int8_t dimensions[3][kMaxRank]; ///< of the array's buffer, for each of those; -1: one element
    };
    struct HostStage {
        int number; ///< in stages_
        std::vector<int> arrays;
        std::vector<int> ranks;                                    ///< as the stage sees them
        std::vector<std::array<std::int8_t, kMaxRank>> dimensions; ///< as those of a product, from the last axis
    };
    struct Version {
        std::size_t index;  ///< in plan_.versions
        int capability = 0; ///< for devices that have at least this: 80 for 8.0; 0: for the host
        std::vector<Requirement> requirements;
        std::vector<Buffer> buffers;
        std::vector<std::vector<CompiledSize>> temporaries; ///< their shapes
        std::vector<Operand> operands;                      ///< of all calls, one behind the other
        std::vector<CompiledSize> sizes;
        std::vector<Call> calls;
        std::vector<Product> products;
        std::vector<HostStage> host_stages;
        std::vector<Range> ranges;
        std::vector<Condition> conditions;
        std::vector<std::string> failures; ///< what is said of each check and each size that is read
        std::vector<Instruction> code;
        std::size_t dimensions = 0; ///< of all buffers together
        bool has_halves = false;    ///< of complex arrays
        bool looks_at_data = false; ///< reads elements to decide what runs: on a device, that waits
    };
    class VersionCompiler; // executor_compile.cpp
    class Run;             // executor_run.cpp
    struct ArraySlot {
        int argument;
        int rank;
        int bytes;
        int first_symbol;
        std::int64_t limit; ///< of elements
    };
    struct ScalarSlot {
        int argument;
        int symbol;
    };

    Executable() = default;
    void compile(const std::map<std::string, std::string_view>& objects);
    static RunStatus run_steps(const Frame& frame, const Version& version, const Interrupt* interrupt,
                               std::string* failed, cuda::Call* call);
    /// How many symbols its steps define.
    int compile_version(std::size_t index, const std::map<std::string, std::string_view>& objects);
    void read_integers(const Frame& frame) const;
    int slot(const std::string& symbol) const;

    Plan plan_;
    std::vector<std::string> stages_;
    std::map<std::string, int> slots_;
    std::vector<ArraySlot> arrays_;
    std::vector<ScalarSlot> integers_;
    std::vector<int> written_; ///< arguments
    std::vector<CompiledSize> guards_;
    std::vector<std::vector<CompiledSize>> result_shapes_;
    std::vector<Version> versions_;
    std::map<std::string, std::shared_ptr<const LoadedObject>> objects_;
    int symbols_ = 0; ///< of arguments; those that steps define come behind them
    std::size_t frame_bytes_ = 0, results_at_ = 0, symbols_at_ = 0;
};

} // namespace tilewright::runtime
