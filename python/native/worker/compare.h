// python/native/worker/compare.h: finds where two results differ, bit by bit or beyond a tolerance.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autotune/job.h"
#include "dsl/base/dtypes.h"

namespace tilewright::native {

/// Index of the first element that differs. Any NaN equals any NaN: payloads are nobody's business. -0.0 and 0.0
/// differ.
std::optional<std::int64_t> first_bit_difference(DType dtype, const void* ours, const void* theirs,
                                                 std::int64_t elements);

struct ToleranceDifference {
    std::int64_t first = 0;
    std::int64_t count = 0;
};
/// Elements that are further from `numpy` than the tolerance allows; nullopt when all are near enough, or so few are
/// different that ties explain them (of integers and booleans) or orbits that no rounding follows (of floats).
std::optional<ToleranceDifference> tolerance_difference(DType dtype, const void* ours, const void* numpy,
                                                        std::int64_t elements, const autotune::JobTolerance& tolerance);

/// "1.5", "nan", "(1+2j)", "True".
std::string element_text(DType dtype, const void* data, std::int64_t index);
/// "labels[3, 4]"; "total" for 0-d.
std::string place_text(const std::string& name, const std::vector<std::int64_t>& shape, std::int64_t index);

} // namespace tilewright::native
