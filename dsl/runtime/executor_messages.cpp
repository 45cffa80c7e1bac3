// dsl/runtime/executor_messages.cpp: what is said of a call that a plan does not serve, with the sizes that it has.
#include <algorithm>

#include "dsl/base/error.h"
#include "dsl/base/targets.h"
#include "dsl/runtime/cuda/device.h"
#include "dsl/runtime/executor.h"
#include "dsl/runtime/memory_range.h"

namespace tilewright::runtime {
namespace {

/// X.1 as a person writes it: X.shape[1].
std::string size_name(const std::string& symbol) {
    std::size_t dot = symbol.rfind('.');
    return dot == std::string::npos ? symbol : symbol.substr(0, dot) + ".shape[" + symbol.substr(dot + 1) + "]";
}

SizeExpression with_size_names(const SizeExpression& e) {
    if (e.op() == SizeExpression::Op::symbol) return SizeExpression::symbol(size_name(e.name()));
    return e.with_operands(with_size_names);
}

/// "3", "3 and 2", "3, 2 and 5".
std::string joined(const std::vector<std::string>& parts) {
    std::string out;
    for (std::size_t i = 0; i < parts.size(); ++i)
        out += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
    return out;
}

} // namespace

std::string Executable::guard_message(int guard, const Frame& frame) const {
    const PlanGuard& g = plan_.guards[static_cast<std::size_t>(guard)];
    std::size_t end = std::min(g.message.find(". "), g.message.size());
    std::string what = g.message.substr(0, end), advice = g.message.substr(end);
    const std::vector<std::string> symbols = g.condition.symbols();
    std::vector<std::string> values, equalities;
    bool all_named = !symbols.empty();
    for (const std::string& symbol : symbols) {
        std::string name = size_name(symbol);
        values.push_back(std::to_string(frame.symbols[slot(symbol)]));
        equalities.push_back(name + " is " + values.back());
        all_named = all_named && (" " + what + " ").find(" " + name + " ") != std::string::npos;
    }
    if (!symbols.empty())
        what += all_named ? (symbols.size() == 1 ? ", but it is " : ", but they are ") + joined(values)
                          : ": " + joined(equalities);
    return what + (advice.empty() ? "." : advice);
}

std::string Executable::why_not_written(std::size_t argument, const Frame& frame, const MemoryRange* ranges) const {
    const PlanArgument& a = plan_.arguments[argument];
    if (overlaps_itself(frame.arguments[argument].array, a.rank, info(a.dtype).bytes))
        return "elements of " + a.name + " share memory with each other, and the call writes into it. Pass a copy.";
    for (std::size_t i = 0; i < plan_.arguments.size(); ++i)
        if (i != argument && ranges[argument].meets(ranges[i]))
            return a.name + " shares memory with " + plan_.arguments[i].name +
                   ", and the call writes into it. Pass a copy of one.";
    return "";
}

std::string Executable::sizes_text(const Frame& frame) const {
    std::vector<std::string> parts;
    for (const PlanArgument& a : plan_.arguments) {
        if (!a.is_array) {
            if (slots_.count(a.name)) parts.push_back(a.name + " " + std::to_string(frame.symbols[slot(a.name)]));
            continue;
        }
        std::string shape;
        for (int k = 0; k < a.rank; ++k)
            shape += (k ? ", " : "") + std::to_string(frame.symbols[slot(a.name + "." + std::to_string(k))]);
        parts.push_back(a.name + " " + std::string(info(a.dtype).name) + "[" + shape + "]");
    }
    return joined(parts);
}

std::string Executable::device_problem(const cuda::Place& place) const {
    int least = 0;
    for (const Version& v : versions_)
        if (v.capability > 0 && (least == 0 || v.capability < least)) least = v.capability;
    auto text = [](int capability) { return std::to_string(capability / 10) + "." + std::to_string(capability % 10); };
    try {
        const cuda::Device& device = cuda::device(place.device);
        const int has = device.major * 10 + device.minor;
        if (has >= least) return "";
        return "its code is for compute capability " + text(least) + " and later, and device " +
               std::to_string(place.device) + " (" + device.name + ") has " + text(has) + ". " +
               (has < kCudaCapabilities.front()
                    ? "Devices from compute capability " + text(kCudaCapabilities.front()) +
                          " on are served; use the target host."
                    : "Build it for a target that the device has: " +
                          cuda_target(*(std::ranges::upper_bound(kCudaCapabilities, has) - 1)) + ".");
    } catch (const DeviceError& error) {
        return error.what();
    }
}

std::string Executable::requirements_text() const {
    std::string out;
    for (const Version& v : versions_) {
        std::string one;
        if (v.capability > 0)
            one = "arrays on a device of compute capability " + std::to_string(v.capability / 10) + "." +
                  std::to_string(v.capability % 10) + " or later" + (v.products.empty() ? "" : ", and cuBLAS");
        for (const PlanRequirement& r : plan_.versions[v.index].requirements) {
            std::string text = r.kind == PlanRequirement::Kind::layout_c    ? r.name + " C-contiguous"
                               : r.kind == PlanRequirement::Kind::layout_f  ? r.name + " Fortran-contiguous"
                               : r.kind == PlanRequirement::Kind::condition ? print_size(with_size_names(r.condition))
                                                                            : "";
            if (!text.empty()) one += (one.empty() ? "" : " and ") + text;
        }
        out += (out.empty() ? "" : "; or ") + one;
    }
    return out;
}

} // namespace tilewright::runtime
