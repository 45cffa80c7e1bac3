// translator/loops/access.h: which elements of memory an expression reads, as affine maps of the expression's axes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "translator/ir/attributes.h"
#include "translator/ir/program.h"
#include "translator/ir/size.h"

namespace tilewright::translator {

/// One axis of memory: the reader's axis `axis` at start + step * (its index), or the position `start`.
struct AxisMap {
    int axis = -1; ///< -1: a position
    Size start;
    Size step; ///< of an axis
};

/// A read of `memory`; per axis of it where the element at an index of the reader lies. Without a map: anywhere.
struct Access {
    std::string memory;
    std::optional<std::vector<AxisMap>> map;
};

/// What an access knows of the program around it.
struct AccessContext {
    std::function<const Operation*(const std::string&)> operation; ///< null for what lies in memory
    std::function<const Type&(const std::string&)> type;
};

/// Every read of memory that the elements of `value` make.
std::vector<Access> accesses(const std::string& value, const AccessContext& context);

enum class Overlap {
    same,     ///< exactly the element that is written
    disjoint, ///< no element that is written, by any index
    unknown
};

/// A write to the elements `region` of an array, by a part of `shape`, beside a read of the same array.
Overlap overlap(const Access& read, const std::vector<IndexEntry>& region, const std::vector<Size>& shape);

/// Whether a read keeps to the written indices along every axis that is written in a slice.
bool same_lanes(const Access& read, const std::vector<IndexEntry>& region);

/// Two regions of one array, each with the shape of what lies there. Neither has a newaxis.
Overlap overlap(const std::vector<IndexEntry>& a, const std::vector<Size>& shape_a, const std::vector<IndexEntry>& b,
                const std::vector<Size>& shape_b);

/// A size that is not the same through a whole call: the index of a loop, or one that the call reads.
struct MovingSize {
    std::string name;
    Size first, last;    ///< its ends, in any order
    bool bounded = true; ///< whether they are known
};
/// The largest value of `tree` as an expression of sizes that do not move; of `moving`, each may depend on those before
/// it. Nothing where that is not known.
std::optional<Size> largest(const Size& tree, const std::vector<MovingSize>& moving);
/// Whether `tree` names one of them.
bool moves(const Size& tree, const std::vector<MovingSize>& moving);

/// `tree` with another expression in place of a symbol.
Size substitute(const Size& tree, const std::string& symbol, const Size& by);

} // namespace tilewright::translator
