// translator/translate.h: (Program, variant) -> Algorithm. Pure and cheap: call it for each candidate.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dsl/model/algorithm.h"
#include "translator/ir/program.h"

namespace tilewright::translator {

/// One structural choice that a translation of this program leaves open.
struct VariantInfo {
    std::string name;                 ///< usually the value's name: "norm"
    std::vector<std::string> options; ///< the default first
    std::string meaning;              ///< one line for people
};

/// How an array argument lies in memory: what a kernel may assume of its strides.
enum class Layout {
    c,  ///< row-major contiguous
    f,  ///< column-major contiguous
    any ///< any strides, negative and zero ones too (whole elements)
};
/// Of its name in jobs and options: c, f or any. Throws InternalError for others.
Layout layout_of(const std::string& name);

struct TranslateOptions {
    std::map<std::string, std::string> variant;     ///< missing ones take the default
    std::map<std::string, Layout> layouts;          ///< by argument; missing ones are c
    std::map<std::string, std::int64_t> sizes_here; ///< values of program sizes, for extent_here and defaults
    std::string contract = "numpy";                 ///< numpy, reproducible, fast
    /// For a CUDA device: trees over lanes in two stages, which many threads run (the bits stay), lanes that are short
    /// where nothing rounds, loops of the plan around single kernels instead of groups of them.
    bool device = false;
    /// Loops whose iterations are independent become axes (batching, passes/passes.h). Not said: on a device.
    std::optional<bool> axes = std::nullopt;

    Layout layout(const std::string& argument) const {
        const auto found = layouts.find(argument);
        return found == layouts.end() ? Layout::c : found->second;
    }
};

/// The open choices at these sizes (an option that cannot work there is not listed).
std::vector<VariantInfo> variants(const Program& program, const TranslateOptions& options);

/// A returned value whose stage would have updates (a reduction) becomes an internal stage `<name>_all` (argmin's pair:
/// `<name>_best`) and a pure output stage `<name>` that reads it, so that the reduction can be computed inside the
/// output's loops. Throws TranslateError naming the value, its source line and what has no rule.
dsl::Algorithm translate(const Program& program, const TranslateOptions& options);

} // namespace tilewright::translator
