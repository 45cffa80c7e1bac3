// translator/passes/iteration_axis.h: what passes share that make the iterations of a loop an axis of arrays.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "translator/ir/builder.h"

namespace tilewright::translator {

/// Why a loop stays one. Passes catch it.
struct Refusal {
    std::string why;
};
/// "line 12 has a step that is no constant"
[[noreturn]] void refuse(const Operation& operation, const std::string& what);

/// One loop, and the operations that are made for it, which it appends to out_.
class IterationAxis : protected Builder {
  protected:
    /// Throws Refusal where the loop's step is no constant.
    IterationAxis(Values& values, const Operation& loop, const std::string& prefix);
    IterationAxis(const IterationAxis&) = delete;
    ~IterationAxis() = default;

    /// From the start to the stop, in the direction of the step.
    Size distance() const;

    /// Whether it names the index.
    bool moves(const Size& size) const;
    bool moves(const IndexEntry& entry) const;
    bool moves(const Operation& operation) const;

    /// Of a place that moves evenly: that of the first iteration, and the way to the next one.
    struct Even {
        Size first, step;
    };
    /// Nothing where it does not move evenly.
    std::optional<Even> even(const Size& place) const;

    /// What a value of an iteration is, for all iterations.
    bool is_lifted(const std::string& name) const { return lifted_.count(name) != 0; }
    const std::string& lifted(const std::string& name) const { return lifted_.at(name); }
    bool reads_lifted(const Operation& operation) const;

    /// A size as a number; one that follows the index, for each iteration.
    std::string number(const Size& size);

    const Operation& loop_;
    std::string index_;
    bool runs_ = false; ///< at least one iteration, in every call
    Size iterations_;
    bool counts_ = false; ///< an index that runs 0, 1, 2, ... is the axis itself
    Renamed lifted_;      ///< values of an iteration -> arrays over the iterations
    std::vector<Operation> out_;
};

} // namespace tilewright::translator
