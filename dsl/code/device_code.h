// dsl/code/device_code.h: the PTX that Halide's lowering leaves inside a module for a CUDA device.
#pragma once

#include <cstdint>
#include <string>

#include "Halide.h"

namespace tilewright::dsl {

struct DeviceCode {
    Halide::Module module;         ///< what to generate the host's code from
    std::string text;              ///< the PTX in it
    int kernels = 0;               ///< entries of the PTX
    std::int64_t shared_bytes = 0; ///< the most that a block of one of them shares; -1 where sizes decide
};

/// Entries get names that count in `name`, so that the same input gives the same bytes, and comments, which hold names
/// that count in the process, are taken out. `exact`: nothing flushes subnormal numbers, and sums and products say how
/// they round, so that the driver does not contract them either.
DeviceCode finish_device_code(const Halide::Module& lowered, const std::string& name, bool exact);

/// What exact means for a text of PTX.
std::string exact_ptx(const std::string& text);

} // namespace tilewright::dsl
