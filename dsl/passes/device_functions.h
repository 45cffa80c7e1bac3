// dsl/passes/device_functions.h: functions that only a device has are called there.
#pragma once

#include "Halide.h"

namespace tilewright::dsl {

/// Halide lifts what is the same for all elements, such as the sine of a scalar argument, in front of a kernel, where
/// the host would compute it; libdevice and PTX's own operations are not there. This moves such values back, to the
/// start of each block of the kernels that read them.
Halide::Internal::Stmt device_functions_in_blocks(const Halide::Internal::Stmt& statement);

} // namespace tilewright::dsl
