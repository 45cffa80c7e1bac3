// translator/loops/pixelwise.h: whether each element of what a loop carries needs only its own past.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "translator/ir/program.h"
#include "translator/ir/size.h"

namespace tilewright::translator {

/// "" where the `for` loop is pixelwise: every carried value has one shape (or is 0-d) and each iteration computes an
/// element from the same element of the carried values, and from anything that no iteration changes, at any place. Else
/// the reason, for people: "line 12 reads A at another element".
std::string why_not_pixelwise(const Operation& loop);

/// The iterations of a `for` as a size: max(0, ceil((stop - start) / step)). The step has to be a constant.
Size iterations_of(const Operation& loop);
std::int64_t step_of(const Operation& loop);
Size start_of(const Operation& loop);
/// The shape of the elements: that of the carried values with axes, [] where all are 0-d.
std::vector<Size> element_shape(const Operation& loop);

/// A truth of the loop's body from whose first failure on no iteration changes anything any more.
struct ExitCondition {
    std::string value;    ///< a carried value or one of the body
    bool alive_if = true; ///< iterations change something while the value is this
};

/// A condition under which every carried value stays as it is in this iteration and in all later ones: where it does
/// not hold, each carried value is yielded as it came, and it reads carried values and what no iteration changes only
/// (nothing of the index). nullopt where none is found: all iterations run then. `state`: the carried values that
/// matter; the others do not exist.
std::optional<ExitCondition> exit_condition(const Operation& loop, const std::vector<std::size_t>& state);

/// Whether carried value `k` is only ever the loop's index, a constant of at most 31 bits, or its own past, so that an
/// int64 of the program may be an int32 in the kernel. `outside`: the operations that made the values before the loop.
bool fits_32_bits(const Operation& loop, std::size_t k, const std::map<std::string, const Operation*>& outside);

/// A loop or branch that stays in the plan.
bool is_region(const Operation& operation);
/// Whether a program needs steps: it has loops or branches that stay, checks, calls, sizes that it reads, or writes.
bool needs_steps(const Program& program);

} // namespace tilewright::translator
