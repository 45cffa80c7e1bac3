// translator/parts/rows.h: the axis of an array along which a call is cut, followed through a program, and whether it
// may be.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "translator/ir/attributes.h"
#include "translator/ir/values.h"

namespace tilewright::translator {

/// One extent, the rows, and where the values of a program have it.
class Rows {
  public:
    static constexpr int kNone = -1; ///< of an array that does not have the extent

    /// The program must outlive it.
    Rows(const Program& program, std::string extent);

    const std::string& extent() const { return extent_; }
    /// Whether each value has the extent as one axis at most, and arguments as their first one. All else requires that.
    bool are_clear() const;
    int place_of(const std::string& value) const { return *place(values_.type(value)); }
    const Type& type_of(const std::string& value) const { return values_.type(value); }
    int rank_of(const std::string& value) const { return static_cast<int>(values_.type(value).shape.size()); }
    bool is_argument(const std::string& value) const;
    /// The arguments that have the extent.
    std::vector<std::string> arguments() const;
    bool speaks_of_it(const Size& size) const;
    /// Whether any part of at least one row meets it if the whole does.
    bool fits(const Guard& guard) const;
    /// Whether each position along the extent needs that position alone.
    bool fits(const Operation& operation) const;

  private:
    /// The axis that has the extent; nothing where several do, or one has a part of it.
    std::optional<int> place(const Type& type) const;
    bool fits(const Block& block) const;
    bool fits_index(const Operation& operation, const std::string& array, int to) const;
    bool fits_update(const Operation& operation, int to) const;
    bool fits_matmul(const Operation& operation, int to) const;
    bool fits_region(const Operation& operation) const;

    const Program& program_;
    std::string extent_;
    Values values_;
};

/// The extents that may be rows: symbols that are the first axes of arguments.
std::vector<std::string> extents_of_rows(const Program& program);

/// The array arguments that share the extent of their first axes, where every result and every written argument has it
/// as its first axis too and each position along it needs that position alone: the function of a part of each of them
/// (x[a:b]) is that part of what the function gives. Empty where that does not hold, or is not seen.
std::vector<std::string> sliced_arguments(const Program& program);

} // namespace tilewright::translator
