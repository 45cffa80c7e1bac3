// dsl/runtime/executor_run.cpp: runs the instructions of a version. Nothing is allocated but temporaries, and what no
// iteration of a loop changes is prepared once.
#include <HalideRuntime.h>
#include <alloca.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "dsl/base/error.h"
#include "dsl/runtime/cuda/blas.h"
#include "dsl/runtime/cuda/captures.h"
#include "dsl/runtime/cuda/kernels.h"
#include "dsl/runtime/cuda/strided_copy.h"
#include "dsl/runtime/element_count.h"
#include "dsl/runtime/executor.h"
#include "dsl/runtime/matmul.h"
#include "dsl/runtime/memory.h"
#include "dsl/runtime/out_of_memory.h"
#include "dsl/runtime/strided_copy.h"

namespace tilewright::runtime {
namespace {

/// `fits`: into 32 bits.
std::int64_t read_integer(DType dtype, const std::uint8_t* from, bool& fits) {
    // Little-endian: the low bytes come first.
    std::uint64_t bits = 0;
    std::memcpy(&bits, from, static_cast<std::size_t>(info(dtype).bytes));
    const int unused = 64 - info(dtype).bits();
    const bool is_signed = info(dtype).kind == DTypeKind::signed_integer;
    const auto value = static_cast<std::int64_t>(bits << unused) >> unused;
    fits = is_signed ? value == static_cast<std::int32_t>(value) : bits <= INT32_MAX;
    return is_signed ? value : static_cast<std::int64_t>(bits);
}

} // namespace

/// One call. Kernels may be left by longjmp, so execute() has nothing that needs a destructor.
class Executable::Run {
  public:
    /// `call`: on a device; null on the host.
    Run(const Version& version, const Frame& frame, const Interrupt* interrupt, cuda::Call* call)
        : v_(version), frame_(frame), watch_(interrupt), call_(call) {}

    struct Iterations {
        std::uint64_t left;
        std::int64_t step;
    };

    /// The arrays are of the caller's stack.
    void lay_out(halide_buffer_t* buffers, halide_dimension_t* dimensions, std::int32_t* sizes, void** operands,
                 void** memory, Iterations* iterations) {
        buffers_ = buffers;
        sizes_ = sizes;
        operands_ = operands;
        memory_ = memory;
        iterations_ = iterations;
        const halide_device_interface_t* interface = call_ ? cuda::device_interface() : nullptr;
        const std::uint64_t flags = call_ ? std::uint64_t{halide_buffer_flag_device_dirty} : 0;
        for (std::size_t i = 0; i < v_.buffers.size(); ++i) {
            const Buffer& b = v_.buffers[i];
            halide_buffer_t& h = buffers[i];
            h.device = 0;
            h.device_interface = interface;
            h.host = nullptr;
            h.flags = flags;
            h.type.code = static_cast<halide_type_code_t>(b.halide_code);
            h.type.bits = b.halide_bits;
            h.type.lanes = 1;
            h.dimensions = b.rank;
            h.dim = dimensions;
            h.padding = nullptr;
            dimensions += b.rank;
            if (b.from == Buffer::From::argument) {
                const ArrayView& a = frame_.arguments[b.index].array;
                describe(b, h, a.data, a.shape, a.strides);
            } else if (b.from == Buffer::From::result) {
                describe(b, h, frame_.results[b.index].data, frame_.results[b.index].shape, nullptr);
            }
        }
        for (std::size_t i = 0; i < v_.buffers.size() && v_.has_halves; ++i)
            if (v_.buffers[i].from <= Buffer::From::result) describe_halves(v_.buffers[i], buffers[i]);
        for (std::size_t i = 0; i < v_.operands.size(); ++i) {
            const Operand& o = v_.operands[i];
            operands[i] = o.kind == Operand::Kind::buffer   ? static_cast<void*>(&buffers[o.index])
                          : o.kind == Operand::Kind::scalar ? frame_.arguments[o.index].scalar + o.offset
                                                            : static_cast<void*>(&sizes[o.index]);
        }
        for (const Call& c : v_.calls)
            if (!compute_sizes(c.size, c.moving_size)) {
                // Perhaps of a call that is never made.
                each_size_anew_ = true;
                break;
            }
    }

    /// 0, or the error code of a kernel; status() says what became of it otherwise.
    int execute() { return execute(v_.code.data(), nullptr); }

    /// Arguments that were saved are what they were.
    void restore() {
        for (const Instruction* at = v_.code.data(); at < saved_; ++at)
            if (at->op == Instruction::Op::save) copy(at->b, at->a);
    }

  private:
    /// From one instruction to another, or to the end.
    int execute(const Instruction* at, const Instruction* end) {
        const Instruction* const code = v_.code.data();
        while (at != end) {
            const Instruction& i = *at++;
            switch (i.op) {
            case Instruction::Op::call: {
                const Call& c = v_.calls[static_cast<std::size_t>(i.a)];
                if (!compute_sizes(each_size_anew_ ? c.size : c.moving_size, c.sizes_end))
                    return stop(RunStatus::out_of_range);
                if (int rc = c.kernel(operands_ + c.operand)) return rc;
                break;
            }
            case Instruction::Op::matmul:
                if (int rc = multiply(v_.products[static_cast<std::size_t>(i.a)])) return rc;
                break;
            case Instruction::Op::stage: {
                const StageOutcome outcome = run_stage(v_.host_stages[static_cast<std::size_t>(i.a)]);
                if (outcome == StageOutcome::interrupted) return stop(RunStatus::interrupted);
                if (outcome == StageOutcome::refused) return fail_check(i.target);
                break;
            }
            case Instruction::Op::copy:
            case Instruction::Op::save:
                if (int rc = copy(i.a, i.b); rc || status_ != RunStatus::done) return rc;
                if (i.op == Instruction::Op::save) saved_ = at;
                break;
            case Instruction::Op::swap:
                swap(i.a, i.b);
                break;
            case Instruction::Op::read: {
                bool fits = true;
                std::uint8_t value[8];
                if (int rc = look_at(i.a, value)) return rc;
                frame_.symbols[i.b] = read_integer(buffer(i.a).dtype, value, fits);
                if (!fits) return fail_check(i.target);
                break;
            }
            case Instruction::Op::check: {
                std::int64_t holds = 0;
                if (!evaluate(v_.conditions[static_cast<std::size_t>(i.a)], holds)) return not_evaluated();
                if (!holds) return fail_check(i.target);
                break;
            }
            case Instruction::Op::acquire:
                if (RunStatus got = acquire(i.a); got != RunStatus::done) return stop(got);
                break;
            case Instruction::Op::release: {
                void*& memory = memory_[buffer(i.a).index];
                if (call_)
                    call_->give_back(memory);
                else
                    scratch_release(memory);
                memory = nullptr;
                break;
            }
            case Instruction::Op::first_iteration: {
                bool any = false;
                if (!begin(i.a, any)) return stop(RunStatus::out_of_range);
                if (!any) at = code + i.target;
                break;
            }
            case Instruction::Op::next_iteration: {
                Iterations& iterations = iterations_[i.a];
                if (--iterations.left == 0) break;
                if (call_ && may_replay(v_.ranges[static_cast<std::size_t>(i.a)], iterations)) {
                    if (int rc = replay(v_.ranges[static_cast<std::size_t>(i.a)], code + i.target, at - 1, iterations))
                        return rc;
                    if (status_ != RunStatus::done) return 0;
                    if (iterations.left == 0) break;
                }
                frame_.symbols[v_.ranges[static_cast<std::size_t>(i.a)].symbol] += iterations.step;
                at = code + i.target;
                if (watch_.interrupted()) return stop(RunStatus::interrupted);
                break;
            }
            case Instruction::Op::again:
                at = code + i.target;
                if (watch_.interrupted()) return stop(RunStatus::interrupted);
                break;
            case Instruction::Op::jump:
                at = code + i.target;
                break;
            case Instruction::Op::jump_if:
            case Instruction::Op::jump_unless: {
                std::int64_t holds = 0;
                if (!evaluate(v_.conditions[static_cast<std::size_t>(i.a)], holds)) return not_evaluated();
                if ((holds != 0) == (i.op == Instruction::Op::jump_if)) at = code + i.target;
                break;
            }
            case Instruction::Op::end:
                return 0;
            }
        }
        return 0;
    }

    /// Whether the iterations that are left are worth recording: launching a graph of them takes less time than
    /// launching their kernels, recording it more.
    bool may_replay(const Range& range, const Iterations& iterations) {
        static const bool wanted = [] {
            const char* text = std::getenv("TILEWRIGHT_CUDA_GRAPHS");
            return !text || std::strcmp(text, "0") != 0;
        }();
        constexpr std::uint64_t kLeastLaunches = 200;
        if (range.period == 0 || !wanted || call_->is_recording() || call_->profile() ||
            iterations.left < kLeastLaunches / static_cast<std::uint64_t>(range.launches))
            return false;
        // Within a capture the launches are nodes of the caller's graph.
        return !call_->is_captured();
    }
    /// Records a few iterations, which leave all swaps undone, and launches them as often as they fit into what is
    /// left.
    int replay(const Range& range, const Instruction* begin, const Instruction* end, Iterations& iterations) {
        constexpr int kLaunchesOfAGraph = 32;
        const auto recorded_iterations =
            static_cast<std::uint64_t>(range.period * std::max(1, kLaunchesOfAGraph / (range.period * range.launches)));
        const std::uint64_t kernels = recorded_iterations * static_cast<std::uint64_t>(range.launches);
        if (int rc = call_->attempt([&] { call_->begin_recording(); })) return rc;
        for (std::uint64_t iteration = 0; iteration < recorded_iterations; ++iteration)
            if (int rc = execute(begin, end); rc || status_ != RunStatus::done) return rc;
        cuda::GraphExecutable recorded = nullptr;
        int rc = call_->attempt([&] { recorded = call_->end_recording(); });
        while (!rc && status_ == RunStatus::done && iterations.left >= recorded_iterations) {
            rc = call_->attempt([&] { call_->launch_recorded(recorded, kernels); });
            iterations.left -= recorded_iterations;
            if (watch_.interrupted()) stop(RunStatus::interrupted);
        }
        if (recorded) cuda::Call::forget_recorded(recorded);
        return rc;
    }

  public:
    Watch& watch() { return watch_; }
    RunStatus status() const { return status_; }
    /// Of the version's failures.
    int failure() const { return failure_; }

  private:
    const Buffer& buffer(int index) const { return v_.buffers[static_cast<std::size_t>(index)]; }
    int stop(RunStatus status) {
        status_ = status;
        return 0;
    }
    /// A size out of range, or the device's error.
    int not_evaluated() { return device_error_ ? device_error_ : stop(RunStatus::out_of_range); }
    int fail_check(int failure) {
        failure_ = failure;
        return stop(RunStatus::check_failed);
    }

    /// Dimension 0 is NumPy's last axis. An axis of at most one element may carry any stride in NumPy; the kernel gets
    /// the one of a contiguous array. Without strides, it is one.
    void describe(const Buffer& b, halide_buffer_t& h, void* data, const std::int64_t* shape,
                  const std::int64_t* strides) const {
        set_data(h, data);
        std::int64_t contiguous = 1;
        for (int k = b.rank - 1, d = 0; k >= 0; --k, ++d) {
            auto extent = static_cast<std::int32_t>(shape[k]);
            std::int64_t stride = contiguous;
            if (strides && extent > 1) stride = strides[k] >> b.log_bytes; // whole elements
            h.dim[d].min = 0;
            h.dim[d].extent = extent;
            h.dim[d].stride = static_cast<std::int32_t>(stride);
            h.dim[d].flags = 0;
            contiguous = stride * std::max(extent, 1);
        }
    }
    void set_data(halide_buffer_t& h, void* data) const {
        if (call_)
            h.device = reinterpret_cast<std::uintptr_t>(data);
        else
            h.host = static_cast<std::uint8_t*>(data);
    }
    void* data_of(const halide_buffer_t& h) const {
        return call_ ? reinterpret_cast<void*>(static_cast<std::uintptr_t>(h.device)) : h.host;
    }
    /// Both are of one dtype and rank.
    static bool same_shape(const halide_buffer_t& a, const halide_buffer_t& b) {
        for (int d = 0; d < a.dimensions; ++d)
            if (a.dim[d].extent != b.dim[d].extent) return false;
        return true;
    }
    /// The one element of an array. On a device, that waits for the stream.
    int look_at(int index, std::uint8_t* value) const {
        const auto bytes = static_cast<std::size_t>(info(buffer(index).dtype).bytes);
        const void* from = data_of(buffers_[index]);
        if (call_) return call_->attempt([&] { cuda::copy_to_host(call_->place(), value, from, bytes); });
        std::memcpy(value, from, bytes);
        return 0;
    }
    /// Real and imaginary parts lie in turns.
    void describe_halves(const Buffer& whole, const halide_buffer_t& h) {
        for (int part : {0, 1}) {
            if (whole.halves[part] < 0) continue;
            halide_buffer_t& half = buffers_[whole.halves[part]];
            set_data(half, static_cast<std::uint8_t*>(data_of(h)) + part * (half.type.bits / 8));
            for (int d = 0; d < h.dimensions; ++d) {
                half.dim[d] = h.dim[d];
                half.dim[d].stride *= 2;
            }
        }
    }
    bool compute_sizes(int from, int to) {
        for (int k = from; k < to; ++k) {
            std::int64_t value = 0;
            if (!v_.sizes[static_cast<std::size_t>(k)].evaluate(frame_.symbols, value) ||
                value != static_cast<std::int32_t>(value))
                return false;
            sizes_[k] = static_cast<std::int32_t>(value);
        }
        return true;
    }
    RunStatus acquire(int index) {
        const Buffer& b = buffer(index);
        const auto& expressions = v_.temporaries[static_cast<std::size_t>(b.index)];
        std::int64_t shape[kMaxRank];
        for (std::size_t k = 0; k < expressions.size(); ++k)
            if (!expressions[k].evaluate(frame_.symbols, shape[k])) return RunStatus::out_of_range;
        std::int64_t elements = count_elements(shape, expressions.size(), element_limit(b.dtype));
        if (elements < 0) return RunStatus::out_of_memory;
        const std::int64_t bytes = elements * info(b.dtype).bytes;
        void* memory = b.lender < 0 ? nullptr : lent(b.lender, bytes);
        if (!memory) {
            memory = memory_[b.index] = scratch(static_cast<std::size_t>(bytes));
            if (!memory) return call_ ? RunStatus::device_error : RunStatus::out_of_memory;
        }
        describe(b, buffers_[index], memory, shape, nullptr);
        if (v_.has_halves) describe_halves(b, buffers_[index]);
        return RunStatus::done;
    }
    void* scratch(std::size_t bytes) const {
        if (!call_) return scratch_allocate(bytes);
        void* memory = nullptr;
        call_->attempt([&] {
            memory = cuda::allocate(call_->place(), bytes);
            if (!memory) throw cuda::out_of_device_memory(call_->place(), bytes, "a temporary");
        });
        return memory;
    }
    /// Memory of a result that is written later, where it holds that much.
    void* lent(int result, std::int64_t bytes) const {
        const Buffer& b = buffer(result);
        const CallResult& r = frame_.results[b.index];
        return r.is_pooled && bytes > 0 && bytes <= r.elements * info(b.dtype).bytes ? r.data : nullptr;
    }
    int copy(int from, int to) {
        if (call_ && same_shape(buffers_[from], buffers_[to]))
            return cuda::copy_strided(*call_, buffers_[from], buffers_[to]);
        return !call_ && copy_strided(buffers_[from], buffers_[to]) ? 0 : stop(RunStatus::out_of_range);
    }
    void swap(int a, int b) {
        std::swap(memory_[buffer(a).index], memory_[buffer(b).index]);
        for (int index : {a, b}) {
            set_data(buffers_[index], memory_[buffer(index).index]);
            if (v_.has_halves) describe_halves(buffer(index), buffers_[index]);
        }
    }
    int multiply(const Product& product) {
        const DType dtype = buffer(product.arrays[0]).dtype;
        const std::int64_t bytes = info(dtype).bytes;
        const auto dimension = [&](int k, int d) {
            const int own = product.dimensions[k][d];
            return own < 0 ? halide_dimension_t{0, 1, 1} : buffers_[product.arrays[k]].dim[own];
        };
        const auto matrix = [&](int k) {
            const halide_dimension_t row = dimension(k, 1), column = dimension(k, 0);
            return MatrixView{data_of(buffers_[product.arrays[k]]), row.extent, column.extent, row.stride * bytes,
                              column.stride * bytes};
        };
        MatrixProducts products{matrix(0), matrix(1), matrix(2)};
        for (int d = 2; d < product.ranks[2]; ++d) {
            const std::int64_t extent = dimension(2, d).extent;
            // As NumPy broadcasts: an operand without the axis, or with one element on it, is the same for all.
            const auto stride = [&](int k, std::int64_t& out) {
                const halide_dimension_t own = d < product.ranks[k] ? dimension(k, d) : halide_dimension_t{0, 1, 1};
                out = own.extent == 1 ? 0 : own.stride * bytes;
                return own.extent == 1 || own.extent == extent;
            };
            StackAxis& axis = products.axes[products.axis_count++];
            axis.extent = extent;
            if (!stride(0, axis.a) || !stride(1, axis.b) || !stride(2, axis.c)) return -1;
        }
        return call_ ? cuda::matmul(*call_, dtype, products) : matmul(dtype, products);
    }
    StageOutcome run_stage(const HostStage& stage) const {
        if (!frame_.stages) return StageOutcome::refused;
        StageArray arrays[kMaxStageArrays];
        const std::size_t count = stage.arrays.size();
        for (std::size_t k = 0; k < count; ++k) {
            const Buffer& b = buffer(stage.arrays[k]);
            const halide_buffer_t& h = buffers_[stage.arrays[k]];
            const int rank = stage.ranks[k];
            arrays[k].dtype = b.dtype;
            arrays[k].rank = rank;
            arrays[k].data = h.host;
            for (int d = 0; d < rank; ++d) {
                const int own = stage.dimensions[k][static_cast<std::size_t>(d)];
                arrays[k].shape[rank - 1 - d] = own < 0 ? 1 : h.dim[own].extent;
                arrays[k].strides[rank - 1 - d] = (own < 0 ? 1 : h.dim[own].stride) * std::int64_t{info(b.dtype).bytes};
            }
        }
        return frame_.stages->run(frame_.stages->context, stage.number, arrays, static_cast<int>(count));
    }
    /// As Python's range.
    bool begin(int index, bool& any) {
        const Range& range = v_.ranges[static_cast<std::size_t>(index)];
        std::int64_t from = 0, to = 0;
        Iterations& iterations = iterations_[index];
        if (!range.from.evaluate(frame_.symbols, from) || !range.to.evaluate(frame_.symbols, to) ||
            !range.step.evaluate(frame_.symbols, iterations.step) || iterations.step == 0)
            return false;
        any = iterations.step > 0 ? from < to : from > to;
        if (!any) return true;
        // Differences of int64 in uint64: they cannot overflow.
        auto low = static_cast<std::uint64_t>(from), high = static_cast<std::uint64_t>(to);
        auto step = static_cast<std::uint64_t>(iterations.step);
        iterations.left = iterations.step > 0 ? (high - low - 1) / step + 1 : (low - high - 1) / (0 - step) + 1;
        frame_.symbols[range.symbol] = from;
        return true;
    }
    bool evaluate(const Condition& c, std::int64_t& holds) {
        if (c.kind == Operand::Kind::size) return c.size.evaluate(frame_.symbols, holds);
        if (c.kind == Operand::Kind::scalar) {
            holds = frame_.arguments[c.index].scalar[0];
        } else if (!call_) {
            holds = *buffers_[c.index].host;
        } else {
            std::uint8_t value = 0;
            device_error_ = look_at(c.index, &value);
            holds = value;
        }
        return device_error_ == 0;
    }

    const Version& v_;
    const Frame& frame_;
    Watch watch_;
    cuda::Call* call_;
    halide_buffer_t* buffers_ = nullptr;
    std::int32_t* sizes_ = nullptr;
    void** operands_ = nullptr;
    void** memory_ = nullptr; ///< of temporaries
    Iterations* iterations_ = nullptr;
    const Instruction* saved_ = v_.code.data(); ///< behind the last save that was made
    bool each_size_anew_ = false;
    RunStatus status_ = RunStatus::done;
    int failure_ = 0;
    int device_error_ = 0;
};

RunStatus Executable::run(const Frame& frame, int version, const Interrupt* interrupt, std::string* failed) const {
    const Version& v = versions_[static_cast<std::size_t>(version)];
    // Nothing to compute: kernels need not know about empty results.
    bool any = false;
    for (std::size_t i = 0; i < result_shapes_.size(); ++i)
        any = any || frame.results[i].elements > 0;
    for (int argument : written_) {
        const std::int64_t* shape = frame.arguments[argument].array.shape;
        const int rank = plan_.arguments[static_cast<std::size_t>(argument)].rank;
        any = any || std::find(shape, shape + rank, 0) == shape + rank;
    }
    if (!any && v.failures.empty()) return RunStatus::done;

    if (!frame.place) return run_steps(frame, v, interrupt, failed, nullptr);
    try {
        if (v.capability == 0)
            throw DeviceError("cuda: a version for the host was to run on a device.", "Please report this.");
        cuda::Call call(*frame.place);
        if (v.looks_at_data && call.is_captured()) // before a part of it is captured
            cuda::refuse_in_capture(*frame.place, "a function that decides by the values of its arrays",
                                    "Keep its call out of the capture.");
        return run_steps(frame, v, interrupt, failed, &call);
    } catch (const DeviceError& e) {
        if (failed) *failed = e.what();
        return RunStatus::device_error;
    }
}

RunStatus Executable::run_steps(const Frame& frame, const Version& v, const Interrupt* interrupt, std::string* failed,
                                cuda::Call* call) {
    Run run(v, frame, interrupt, call);
    auto* memory = static_cast<void**>(alloca((v.temporaries.size() + 1) * sizeof(void*)));
    const CallMemory temporaries(memory, v.temporaries.size(), frame.place);
    run.lay_out(static_cast<halide_buffer_t*>(alloca((v.buffers.size() + 1) * sizeof(halide_buffer_t))),
                static_cast<halide_dimension_t*>(alloca((v.dimensions + 1) * sizeof(halide_dimension_t))),
                static_cast<std::int32_t*>(alloca((v.sizes.size() + 1) * sizeof(std::int32_t))),
                static_cast<void**>(alloca((v.operands.size() + 1) * sizeof(void*))), memory,
                static_cast<Run::Iterations*>(alloca((v.ranges.size() + 1) * sizeof(Run::Iterations))));
    Watch* const around = std::exchange(watch_of_thread(), &run.watch());
    int rc = with_memory_exit([&] { return run.execute(); });
    watch_of_thread() = around;
    const bool is_interrupted = rc == kInterrupted || (rc == 0 && run.status() == RunStatus::interrupted);
    if (!is_interrupted && (rc != 0 || run.status() != RunStatus::done)) run.restore();
    if (call && !call->error().empty()) {
        if (failed) *failed = call->error();
        return RunStatus::device_error;
    }
    if (rc == kOutOfMemory) return RunStatus::out_of_memory;
    if (rc == kInterrupted) return RunStatus::interrupted;
    if (rc != 0) return RunStatus::failed;
    if (failed && run.status() == RunStatus::check_failed)
        *failed = v.failures[static_cast<std::size_t>(run.failure())];
    return run.status();
}

} // namespace tilewright::runtime
