// translator/plan/written_parts.h: the parts of an array that a program may have changed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "translator/ir/values.h"

namespace tilewright::translator {

/// A part of an array: an entry for each of its axes, and the shape of what lies there.
struct ArrayPart {
    std::vector<IndexEntry> region;
    std::vector<Size> shape;

    bool operator==(const ArrayPart&) const = default;
};

/// What may differ between `value` and `start`, the array that it is a changed version of: positions that are not known
/// at the end of the call stand for whole axes. Nothing where it is no such version, or of too many parts.
std::optional<std::vector<ArrayPart>> written_parts(const Program& program, const Values& values,
                                                    const std::string& value, const std::string& start);

} // namespace tilewright::translator
