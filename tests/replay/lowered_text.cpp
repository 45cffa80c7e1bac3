// tests/replay/lowered_text.cpp: statements as text that is the same in each process.
#include "tests/replay/lowered_text.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "dsl/base/halide_guard.h"
#include "dsl/code/lowering.h"
#include "dsl/model/algorithm_impl.h"
#include "dsl/passes/kernel_groups.h"

namespace tilewright::replay {
namespace {

using namespace dsl;

/// A part of a name as Halide's unique_name made it: "x", "x$3", or "t12" of one letter ("s0" is the number of a
/// definition). Only the first of a process keeps a '$' inside.
struct Part {
    std::string base;
    std::string number;
};

bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

Part parted(std::string text) {
    std::size_t at = text.size();
    while (at > 0 && is_digit(text[at - 1]))
        --at;
    const bool letter = at == 1 && text.size() > 1 && std::isalpha(static_cast<unsigned char>(text[0])) != 0;
    Part part;
    if (at < text.size() && at > 1 && text[at - 1] == '$') {
        part = {text.substr(0, at - 1), text.substr(at)};
    } else if (letter && text[0] != 's') {
        part = {text.substr(0, 1) + "$", text.substr(1)};
    } else {
        part.base = std::move(text);
    }
    std::replace(part.base.begin(), part.base.end(), '$', '_');
    return part;
}

/// Numbers that count names of the whole process count those of this text instead, in the order in which they appear.
std::string counted_anew(const std::string& text) {
    std::map<std::string, std::map<std::string, std::size_t>> numbers;
    std::string result, part;
    const auto end_part = [&] {
        if (!part.empty() && !is_digit(part[0])) {
            const Part name = parted(part);
            auto& known = numbers[name.base];
            const std::size_t number = known.emplace(name.number, known.size()).first->second;
            result += number == 0 ? name.base : name.base + "$" + std::to_string(number);
        } else {
            result += part;
        }
        part.clear();
    };
    for (const char c : text) {
        const bool of_name = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
        if (of_name) {
            part += c;
        } else {
            end_part();
            result += c;
        }
    }
    end_part();
    return result;
}

std::string text_of(const LoweredStatement& lowered) {
    std::ostringstream out;
    out << lowered.statement;
    return (lowered.strict ? "strict\n" : "") + counted_anew(out.str());
}

} // namespace

std::string lowered_text(const Algorithm& algorithm, const Schedule& schedule, const EmitOptions& options) {
    const AlgorithmImpl& impl = algorithm.impl();
    const Halide::Target target = halide_target(options.isa, options.contract != "fast");
    std::string result;
    std::set<int> grouped;
    for (const KernelGroup& group : impl.groups) {
        const std::vector<int> numbers = kernels_of(group.steps, impl.kernels);
        grouped.insert(numbers.begin(), numbers.end());
        result += group.name + ":\n" +
                  guarded(group.name, [&] { return text_of(lower_group(group, impl, schedule, target)); });
    }
    for (std::size_t k = 0; k < impl.kernels.size(); ++k) {
        if (grouped.count(static_cast<int>(k)) != 0) continue;
        const KernelImpl& kernel = impl.kernels[k];
        result +=
            kernel.name + ":\n" + guarded(kernel.name, [&] { return text_of(lower_kernel(kernel, schedule, target)); });
    }
    return result;
}

} // namespace tilewright::replay
