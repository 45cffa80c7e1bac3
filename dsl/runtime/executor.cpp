// dsl/runtime/executor.cpp: resolves a plan at load, and runs it without allocating or comparing strings.
#include "dsl/runtime/executor.h"

#include <HalideRuntime.h>
#include <alloca.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "dsl/base/error.h"
#include "dsl/runtime/isa.h"
#include "dsl/runtime/matmul.h"
#include "dsl/runtime/memory.h"
#include "dsl/runtime/out_of_memory.h"

namespace tilewright::runtime {
namespace {

constexpr std::int64_t kMaxElements = (std::int64_t{1} << 31) - 1;

/// Product of extents; -1 when one is negative or the product reaches 2^31.
std::int64_t count_elements(const std::int64_t* shape, std::size_t rank) {
    std::int64_t elements = 1;
    for (std::size_t k = 0; k < rank; ++k) {
        if (shape[k] < 0 || shape[k] > kMaxElements) return -1;
        // Extents after an empty axis still have to fit, so the zero is kept apart.
        std::int64_t product = std::max<std::int64_t>(elements, 1) * std::max<std::int64_t>(shape[k], 1);
        if (product > kMaxElements) return -1;
        elements *= shape[k];
    }
    return elements;
}

bool is_contiguous(const ArrayView& a, int rank, std::int64_t bytes, bool c_order) {
    std::int64_t expected = bytes;
    bool follows = true;
    for (int n = 0; n < rank; ++n) {
        int k = c_order ? rank - 1 - n : n;
        // An empty array is contiguous whatever its strides are.
        if (a.shape[k] == 0) return true;
        follows = follows && (a.shape[k] == 1 || a.strides[k] == expected);
        expected *= a.shape[k];
    }
    return follows;
}

/// Temporaries of a call, released however the call ends.
class Temporaries {
  public:
    Temporaries(void** slots, std::size_t count) : slots_(slots), count_(count) { std::fill_n(slots, count, nullptr); }
    ~Temporaries() {
        for (std::size_t i = 0; i < count_; ++i)
            scratch_release(slots_[i]);
    }
    void release(int index) {
        scratch_release(slots_[index]);
        slots_[index] = nullptr;
    }

  private:
    void** slots_;
    std::size_t count_;
};

} // namespace

std::shared_ptr<const Executable> Executable::load(std::string_view plan_text,
                                                   const std::map<std::string, std::string_view>& objects) {
    std::shared_ptr<Executable> result(new Executable);
    result->plan_ = parse_plan(plan_text);
    try {
        result->compile(objects);
    } catch (const std::invalid_argument& e) {
        throw ExportError("plan of " + result->plan_.function + ": " + e.what() + ".",
                          "Export or tune the function again.");
    }
    return result;
}

int Executable::slot(const std::string& symbol) const {
    auto found = slots_.find(symbol);
    if (found == slots_.end()) throw std::invalid_argument("'" + symbol + "' is no size of an argument");
    return found->second;
}

void Executable::compile(const std::map<std::string, std::string_view>& objects) {
    int symbols = 0;
    for (std::size_t i = 0; i < plan_.arguments.size(); ++i) {
        const PlanArgument& a = plan_.arguments[i];
        if (a.is_array) {
            arrays_.push_back({static_cast<int>(i), a.rank, info(a.dtype).bytes, symbols});
            for (int k = 0; k < a.rank; ++k)
                slots_[a.name + "." + std::to_string(k)] = symbols++;
        } else if (a.dtype == DType::int64) {
            integers_.push_back({static_cast<int>(i), symbols});
            slots_[a.name] = symbols++;
        }
    }
    auto to_slot = [this](const std::string& name) { return slot(name); };
    auto compile_shape = [&](const PlanBuffer& b) {
        std::vector<CompiledSize> shape;
        for (const SizeExpression& e : b.shape)
            shape.push_back(CompiledSize::compile(e, to_slot));
        return shape;
    };
    for (const PlanGuard& g : plan_.guards)
        guards_.push_back(CompiledSize::compile(g.condition, to_slot));
    for (const PlanBuffer& b : plan_.results)
        result_shapes_.push_back(compile_shape(b));
    results_at_ = plan_.arguments.size() * sizeof(CallArgument);
    symbols_at_ = results_at_ + plan_.results.size() * sizeof(CallResult);
    frame_bytes_ = symbols_at_ + static_cast<std::size_t>(symbols) * sizeof(std::int64_t) + 16;
    for (std::size_t i = 0; i < plan_.versions.size(); ++i)
        compile_version(i, objects);
}

void Executable::compile_version(std::size_t index, const std::map<std::string, std::string_view>& objects) {
    const PlanVersionBody& body = plan_.versions[index];
    Version v;
    v.index = index;
    auto to_slot = [this](const std::string& name) { return slot(name); };
    auto argument_named = [&](const std::string& name) {
        for (std::size_t i = 0; i < plan_.arguments.size(); ++i)
            if (plan_.arguments[i].name == name) return static_cast<int>(i);
        return -1;
    };
    for (const PlanRequirement& r : body.requirements) {
        if (r.kind == PlanRequirement::Kind::isa) {
            if (isa_level(r.name) > machine_isa_level()) return;
            continue;
        }
        bool layout = r.kind != PlanRequirement::Kind::condition;
        v.requirements.push_back({r.kind, layout ? argument_named(r.name) : -1,
                                  layout ? CompiledSize() : CompiledSize::compile(r.condition, to_slot)});
    }
    // Buffers: array arguments, results, temporaries.
    std::map<std::string, int> buffer_of;
    auto add_buffer = [&](const std::string& name, Buffer::From from, std::size_t i, std::size_t rank, DType dtype) {
        buffer_of[name] = static_cast<int>(v.buffers.size());
        v.buffers.push_back({from, static_cast<int>(i), static_cast<int>(rank), dtype});
        v.dimensions += rank;
    };
    for (std::size_t i = 0; i < plan_.arguments.size(); ++i)
        if (plan_.arguments[i].is_array)
            add_buffer(plan_.arguments[i].name, Buffer::From::argument, i,
                       static_cast<std::size_t>(plan_.arguments[i].rank), plan_.arguments[i].dtype);
    for (std::size_t i = 0; i < plan_.results.size(); ++i)
        add_buffer(plan_.results[i].name, Buffer::From::result, i, plan_.results[i].shape.size(),
                   plan_.results[i].dtype);
    for (std::size_t i = 0; i < body.temporaries.size(); ++i) {
        const PlanBuffer& t = body.temporaries[i];
        add_buffer(t.name, Buffer::From::temporary, i, t.shape.size(), t.dtype);
        std::vector<CompiledSize> shape;
        for (const SizeExpression& e : t.shape)
            shape.push_back(CompiledSize::compile(e, to_slot));
        v.temporaries.push_back(std::move(shape));
        v.temporary_types.push_back(t.dtype);
    }
    for (const PlanStep& step : body.steps) {
        Step s;
        s.name = step.symbol;
        for (const SizeExpression& a : step.arguments) {
            auto buffer = a.op == SizeExpression::Op::symbol ? buffer_of.find(a.name) : buffer_of.end();
            int argument = a.op == SizeExpression::Op::symbol ? argument_named(a.name) : -1;
            if (buffer != buffer_of.end())
                s.operands.push_back({CallOperand::Kind::buffer, buffer->second, {}});
            else if (argument >= 0)
                s.operands.push_back({CallOperand::Kind::scalar, argument, {}});
            else
                s.operands.push_back({CallOperand::Kind::size, 0, CompiledSize::compile(a, to_slot)});
        }
        v.max_operands = std::max(v.max_operands, s.operands.size());
        if (step.kind == PlanStep::Kind::call) {
            std::shared_ptr<const LoadedObject>& object = objects_[step.object];
            if (!object) {
                auto bytes = objects.find(step.object);
                if (bytes == objects.end())
                    throw ExportError("plan of " + plan_.function + ": it calls " + step.object +
                                          ".o, which is not here.",
                                      "The module is incomplete; export it again.");
                object = LoadedObject::load(bytes->second, step.object);
            }
            s.kernel = reinterpret_cast<int (*)(void**)>(object->find(step.symbol + "_argv"));
            if (!s.kernel)
                throw ExportError(step.object + ".o: it does not define " + step.symbol + "_argv.",
                                  "The file is damaged or not ours; export or tune again.");
        } else {
            s.dtype = v.buffers[static_cast<std::size_t>(s.operands[0].index)].dtype;
        }
        v.steps.push_back(std::move(s));
    }
    // A temporary lives from its first step to its last, so that the pool can reuse its memory in between.
    for (std::size_t t = 0; t < body.temporaries.size(); ++t) {
        int buffer = buffer_of[body.temporaries[t].name];
        auto uses = [&](const Step& s) {
            return std::any_of(s.operands.begin(), s.operands.end(), [&](const CallOperand& o) {
                return o.kind == CallOperand::Kind::buffer && o.index == buffer;
            });
        };
        auto first = std::find_if(v.steps.begin(), v.steps.end(), uses);
        if (first == v.steps.end()) continue;
        auto last = std::find_if(v.steps.rbegin(), v.steps.rend(), uses);
        first->acquire.push_back(buffer);
        last->release.push_back(buffer);
    }
    versions_.push_back(std::move(v));
}

Executable::Frame Executable::lay_out(void* memory) const {
    auto* base = reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(memory) + 15) & ~std::uintptr_t{15});
    return {reinterpret_cast<CallArgument*>(base), reinterpret_cast<CallResult*>(base + results_at_),
            reinterpret_cast<std::int64_t*>(base + symbols_at_)};
}

bool Executable::read_sizes(const Frame& frame, int& argument) const {
    for (const ArraySlot& slot : arrays_) {
        const ArrayView& a = frame.arguments[slot.argument].array;
        std::int64_t reach = 0;
        argument = slot.argument;
        for (int k = 0; k < slot.rank; ++k) {
            std::int64_t extent = a.shape[k];
            frame.symbols[slot.first_symbol + k] = extent;
            if (extent < 0 || extent > kMaxElements) return false;
            if (extent <= 1) continue;
            // Kernels index in elements with 32 bits. Division is slow; the reach in bytes bounds it as well.
            std::int64_t span = 0;
            if (__builtin_mul_overflow(std::abs(a.strides[k]), extent - 1, &span) ||
                __builtin_add_overflow(reach, span, &reach))
                return false;
        }
        if (reach > kMaxElements * slot.bytes || count_elements(a.shape, static_cast<std::size_t>(slot.rank)) < 0)
            return false;
    }
    for (const ScalarSlot& slot : integers_)
        std::memcpy(&frame.symbols[slot.symbol], frame.arguments[slot.argument].scalar, sizeof(std::int64_t));
    argument = -1;
    return true;
}

int Executable::failed_guard(const Frame& frame) const {
    for (std::size_t i = 0; i < guards_.size(); ++i)
        if (!guards_[i].holds(frame.symbols)) return static_cast<int>(i);
    return -1;
}

int Executable::select(const Frame& frame) const {
    for (std::size_t i = 0; i < versions_.size(); ++i) {
        bool fits = true;
        for (const Requirement& r : versions_[i].requirements) {
            if (r.kind == PlanRequirement::Kind::condition) {
                fits = r.condition.holds(frame.symbols);
            } else {
                const PlanArgument& a = plan_.arguments[static_cast<std::size_t>(r.argument)];
                const ArrayView& view = frame.arguments[r.argument].array;
                fits = is_contiguous(view, a.rank, info(a.dtype).bytes, r.kind == PlanRequirement::Kind::layout_c);
            }
            if (!fits) break;
        }
        if (fits) return static_cast<int>(i);
    }
    return -1;
}

bool Executable::size_results(const Frame& frame) const {
    for (std::size_t i = 0; i < result_shapes_.size(); ++i) {
        CallResult& r = frame.results[i];
        const auto& shape = result_shapes_[i];
        for (std::size_t k = 0; k < shape.size(); ++k)
            if (!shape[k].evaluate(frame.symbols, r.shape[k])) return false;
        r.elements = count_elements(r.shape, shape.size());
        if (r.elements < 0) return false;
    }
    return true;
}

RunStatus Executable::run(const Frame& frame, int version) const {
    const Version& v = versions_[static_cast<std::size_t>(version)];
    // Nothing to compute: kernels need not know about empty results.
    bool any = false;
    for (std::size_t i = 0; i < result_shapes_.size(); ++i)
        any = any || frame.results[i].elements > 0;
    if (!any) return RunStatus::done;

    auto* buffers = static_cast<halide_buffer_t*>(alloca(v.buffers.size() * sizeof(halide_buffer_t)));
    auto* dimensions = static_cast<halide_dimension_t*>(alloca((v.dimensions + 1) * sizeof(halide_dimension_t)));
    auto* sizes = static_cast<std::int32_t*>(alloca((v.max_operands + 1) * sizeof(std::int32_t)));
    auto* operands = static_cast<void**>(alloca((v.max_operands + 1) * sizeof(void*)));
    auto* temporary_memory = static_cast<void**>(alloca((v.temporaries.size() + 1) * sizeof(void*)));
    Temporaries temporaries(temporary_memory, v.temporaries.size());

    for (std::size_t i = 0; i < v.buffers.size(); ++i) {
        const Buffer& b = v.buffers[i];
        halide_buffer_t& h = buffers[i];
        const DTypeInfo& type = info(b.dtype);
        h.device = 0;
        h.device_interface = nullptr;
        h.host = nullptr;
        h.flags = 0;
        h.type.code = static_cast<halide_type_code_t>(type.halide_code);
        h.type.bits = type.halide_bits;
        h.type.lanes = 1;
        h.dimensions = b.rank;
        h.dim = dimensions;
        h.padding = nullptr;
        dimensions += b.rank;
        std::int64_t temporary_shape[kMaxRank];
        const std::int64_t* shape = temporary_shape;
        const std::int64_t* strides = nullptr;
        if (b.from == Buffer::From::argument) {
            const ArrayView& a = frame.arguments[b.index].array;
            h.host = static_cast<std::uint8_t*>(a.data);
            shape = a.shape;
            strides = a.strides;
        } else if (b.from == Buffer::From::result) {
            h.host = static_cast<std::uint8_t*>(frame.results[b.index].data);
            shape = frame.results[b.index].shape;
        } else {
            const auto& expressions = v.temporaries[static_cast<std::size_t>(b.index)];
            for (std::size_t k = 0; k < expressions.size(); ++k)
                if (!expressions[k].evaluate(frame.symbols, temporary_shape[k])) return RunStatus::failed;
            if (count_elements(temporary_shape, expressions.size()) < 0) return RunStatus::out_of_memory;
        }
        // Dimension 0 is NumPy's last axis. An axis of at most one element may carry any stride in NumPy; the kernel
        // gets the one of a contiguous array.
        std::int64_t contiguous = 1;
        for (int k = b.rank - 1, d = 0; k >= 0; --k, ++d) {
            auto extent = static_cast<std::int32_t>(shape[k]);
            std::int64_t stride = contiguous;
            if (strides && extent > 1)
                stride = type.bytes == 8 ? strides[k] / 8 : type.bytes == 4 ? strides[k] / 4 : strides[k] / type.bytes;
            h.dim[d].min = 0;
            h.dim[d].extent = extent;
            h.dim[d].stride = static_cast<std::int32_t>(stride);
            h.dim[d].flags = 0;
            contiguous = stride * std::max(extent, 1);
        }
    }

    for (const Step& step : v.steps) {
        for (int buffer : step.acquire) {
            halide_buffer_t& h = buffers[buffer];
            std::size_t bytes = static_cast<std::size_t>(info(v.buffers[static_cast<std::size_t>(buffer)].dtype).bytes);
            for (int d = 0; d < h.dimensions; ++d)
                bytes *= static_cast<std::size_t>(h.dim[d].extent);
            void* memory = scratch_allocate(bytes);
            if (!memory) return RunStatus::out_of_memory;
            temporary_memory[v.buffers[static_cast<std::size_t>(buffer)].index] = memory;
            h.host = static_cast<std::uint8_t*>(memory);
        }
        int rc = 0;
        if (step.kernel) {
            for (std::size_t i = 0; i < step.operands.size(); ++i) {
                const CallOperand& o = step.operands[i];
                if (o.kind == CallOperand::Kind::buffer) {
                    operands[i] = &buffers[o.index];
                } else if (o.kind == CallOperand::Kind::scalar) {
                    operands[i] = frame.arguments[o.index].scalar;
                } else {
                    std::int64_t value = 0;
                    if (!o.size.evaluate(frame.symbols, value) || value != static_cast<std::int32_t>(value))
                        return RunStatus::failed;
                    sizes[i] = static_cast<std::int32_t>(value);
                    operands[i] = &sizes[i];
                }
            }
            rc = with_memory_exit([&] { return step.kernel(operands); });
        } else {
            MatrixView views[3];
            for (int i = 0; i < 3; ++i) {
                const halide_buffer_t& h = buffers[step.operands[static_cast<std::size_t>(i)].index];
                std::int64_t bytes = info(step.dtype).bytes;
                views[i] = {h.host, h.dim[1].extent, h.dim[0].extent, h.dim[1].stride * bytes, h.dim[0].stride * bytes};
            }
            rc = matmul(step.dtype, views[0], views[1], views[2]);
        }
        if (rc == kOutOfMemory) return RunStatus::out_of_memory;
        if (rc != 0) return RunStatus::failed;
        for (int buffer : step.release)
            temporaries.release(v.buffers[static_cast<std::size_t>(buffer)].index);
    }
    return RunStatus::done;
}

} // namespace tilewright::runtime
