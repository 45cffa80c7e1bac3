// dsl/runtime/executor.cpp: what is checked of a call before it runs, without allocating or comparing strings.
#include "dsl/runtime/executor.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "dsl/base/error.h"
#include "dsl/runtime/cuda/blas.h"
#include "dsl/runtime/element_count.h"
#include "dsl/runtime/memory.h"
#include "dsl/runtime/memory_range.h"

namespace tilewright::runtime {

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

CallMemory::CallMemory(void** blocks, std::size_t count, const cuda::Place* place)
    : blocks_(blocks), count_(count), place_(place) {
    std::fill_n(blocks, count, nullptr);
}
CallMemory::~CallMemory() {
    for (std::size_t i = 0; i < count_; ++i)
        if (place_)
            cuda::release(*place_, blocks_[i]);
        else
            scratch_release(blocks_[i]);
}

int Executable::slot(const std::string& symbol) const {
    auto found = slots_.find(symbol);
    if (found == slots_.end()) throw std::invalid_argument("'" + symbol + "' is not a size of an argument");
    return found->second;
}

void Executable::compile(const std::map<std::string, std::string_view>& objects) {
    int& symbols = symbols_;
    for (std::size_t i = 0; i < plan_.arguments.size(); ++i) {
        const PlanArgument& a = plan_.arguments[i];
        if (a.is_array) {
            arrays_.push_back({static_cast<int>(i), a.rank, info(a.dtype).bytes, symbols, element_limit(a.dtype)});
            if (a.written) written_.push_back(static_cast<int>(i));
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
    int more = 0;
    for (std::size_t i = 0; i < plan_.versions.size(); ++i)
        more = std::max(more, compile_version(i, objects));
    results_at_ = plan_.arguments.size() * sizeof(CallArgument);
    symbols_at_ = results_at_ + plan_.results.size() * sizeof(CallResult);
    frame_bytes_ = symbols_at_ + static_cast<std::size_t>(symbols + more) * sizeof(std::int64_t) + 16;
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
            if (extent < 0 || extent > slot.limit) return false;
            if (extent <= 1) continue;
            // Kernels index in elements with 32 bits. Division is slow; the reach in bytes bounds it as well.
            std::int64_t span = 0;
            if (__builtin_mul_overflow(std::abs(a.strides[k]), extent - 1, &span) ||
                __builtin_add_overflow(reach, span, &reach))
                return false;
        }
        if (reach > slot.limit * slot.bytes ||
            count_elements(a.shape, static_cast<std::size_t>(slot.rank), slot.limit) < 0)
            return false;
    }
    read_integers(frame);
    argument = -1;
    return true;
}

void Executable::read_integers(const Frame& frame) const {
    for (const ScalarSlot& slot : integers_)
        std::memcpy(&frame.symbols[slot.symbol], frame.arguments[slot.argument].scalar, sizeof(std::int64_t));
}

int Executable::failed_guard(const Frame& frame) const {
    for (std::size_t i = 0; i < guards_.size(); ++i)
        if (!guards_[i].holds(frame.symbols)) return static_cast<int>(i);
    return -1;
}

int Executable::failed_guard_of_large(const Frame& frame) const {
    for (const ArraySlot& slot : arrays_)
        std::copy_n(frame.arguments[slot.argument].array.shape, slot.rank, frame.symbols + slot.first_symbol);
    read_integers(frame);
    return failed_guard(frame);
}

bool Executable::serves_host() const {
    return std::any_of(versions_.begin(), versions_.end(), [](const Version& v) { return v.capability == 0; });
}
bool Executable::serves_devices() const {
    return std::any_of(versions_.begin(), versions_.end(), [](const Version& v) { return v.capability > 0; });
}

int Executable::select(const Frame& frame) const {
    const int capability = frame.place ? cuda::capability(frame.place->device) : 0;
    for (std::size_t i = 0; i < versions_.size(); ++i) {
        if ((versions_[i].capability > 0) != (frame.place != nullptr) || versions_[i].capability > capability) continue;
        // Where there is no cuBLAS, a version with loops serves the call.
        if (frame.place && !versions_[i].products.empty() && !cuda::has_blas()) continue;
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
        r.elements = count_elements(r.shape, shape.size(), element_limit(plan_.results[i].dtype));
        if (r.elements < 0) return false;
        r.is_pooled = false; // until the caller says so
    }
    return true;
}

std::string Executable::why_not_sized(const Frame& frame) const {
    for (std::size_t i = 0; i < result_shapes_.size(); ++i) {
        const DType dtype = plan_.results[i].dtype;
        std::vector<std::int64_t> shape(result_shapes_[i].size());
        std::string text;
        for (std::size_t k = 0; k < shape.size(); ++k) {
            if (!result_shapes_[i][k].evaluate(frame.symbols, shape[k])) return "the size of a result leaves 64 bits";
            text += (k > 0 ? ", " : "") + std::to_string(shape[k]);
        }
        if (count_elements(shape.data(), shape.size(), element_limit(dtype)) >= 0) continue;
        const bool is_negative = std::ranges::any_of(shape, [](std::int64_t extent) { return extent < 0; });
        return "a result would have the shape (" + text + "), " +
               (is_negative ? "and no size is negative"
                            : "more than " + std::string(element_limit_text(dtype)) + " elements");
    }
    return "";
}

int Executable::recall(const Frame& frame, const Decision& decision) const {
    if (decision.version < 0 || decision.device != (frame.place ? frame.place->device : -1)) return -1;
    const std::int64_t* seen = decision.looked_at.data();
    for (const ArraySlot& slot : arrays_) {
        const ArrayView& a = frame.arguments[slot.argument].array;
        for (int k = 0; k < slot.rank; ++k, seen += 2)
            if (a.shape[k] != seen[0] || a.strides[k] != seen[1]) return -1;
    }
    for (const ScalarSlot& slot : integers_)
        if (std::memcmp(seen++, frame.arguments[slot.argument].scalar, sizeof *seen) != 0) return -1;
    for (std::size_t i = 0; i < decision.symbols.size(); ++i)
        frame.symbols[i] = decision.symbols[i];
    const std::int64_t* from = decision.results.data();
    for (std::size_t i = 0; i < result_shapes_.size(); ++i) {
        CallResult& r = frame.results[i];
        r.elements = *from++;
        for (std::size_t k = 0; k < result_shapes_[i].size(); ++k)
            r.shape[k] = *from++;
        r.is_pooled = false;
    }
    return decision.version;
}

void Executable::remember(const Frame& frame, int version, Decision& decision) const {
    decision.version = -1; // until all of it is there
    decision.looked_at.clear();
    for (const ArraySlot& slot : arrays_) {
        const ArrayView& a = frame.arguments[slot.argument].array;
        for (int k = 0; k < slot.rank; ++k) {
            decision.looked_at.push_back(a.shape[k]);
            decision.looked_at.push_back(a.strides[k]);
        }
    }
    for (const ScalarSlot& slot : integers_) {
        std::int64_t value = 0;
        std::memcpy(&value, frame.arguments[slot.argument].scalar, sizeof value);
        decision.looked_at.push_back(value);
    }
    decision.symbols.assign(frame.symbols, frame.symbols + symbols_);
    decision.results.clear();
    for (std::size_t i = 0; i < result_shapes_.size(); ++i) {
        const CallResult& r = frame.results[i];
        decision.results.push_back(r.elements);
        decision.results.insert(decision.results.end(), r.shape, r.shape + result_shapes_[i].size());
    }
    decision.device = frame.place ? frame.place->device : -1;
    decision.version = version;
}

} // namespace tilewright::runtime
