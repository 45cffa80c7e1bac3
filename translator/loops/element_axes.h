// translator/loops/element_axes.h: which element of some arrays each value reads, found on the program alone.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "translator/ir/program.h"

namespace tilewright::translator {

/// Follows values that are computed from some arrays of one shape (what a loop carries or gives), element by element.
///
/// A value is "aligned" where each of its elements needs the arrays at one element only: axis k of the value runs along
/// axis axes[k] of the arrays, or -1 for no axis of theirs. 0-d arrays are aligned with everything.
class ElementAxes {
  public:
    using Axes = std::vector<int>;

    /// An array that is followed, under the name that readers use.
    void follow(const std::string& name, const Type& type);
    /// Values in program order; what does not depend on a followed array is not remembered. Operations with regions
    /// are the caller's.
    void visit(const Operation& operation);

    /// Whether the value needs a followed array at all.
    bool depends(const std::string& value) const { return values_.count(value) != 0; }
    /// Whether axis k of the value is axis k of the arrays, all of them.
    bool at_own_element(const std::string& value, std::size_t rank) const;
    /// The first operation, and what of it, that needs another element: "reads A at another element"; "" for none.
    const std::string& trouble() const { return trouble_; }
    int trouble_line() const { return trouble_line_; }

  private:
    static constexpr int kNone = -1; ///< an axis along which the arrays stand still
    static constexpr int kNew = -2;  ///< the same, longer than one: the arrays are broadcast along it

    /// A value that needs a followed array.
    struct Follower {
        Type type;
        Axes axes;
        std::string origin;     ///< the followed array that it needs first, for messages
        bool elsewhere = false; ///< it needs another element
    };

    /// `origin`: of the result.
    std::optional<Axes> result_of(const Operation& operation, const std::string& origin);
    std::optional<Axes> broadcast(const Operation& operation, const std::string& origin);
    std::optional<Axes> indexed(const Operation& operation);
    std::nullopt_t stop(const Operation& operation, const std::string& what);

    std::map<std::string, Follower> values_;
    std::string trouble_;
    int trouble_line_ = 0;
};

} // namespace tilewright::translator
