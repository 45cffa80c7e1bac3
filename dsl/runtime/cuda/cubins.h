// dsl/runtime/cuda/cubins.h: code that was assembled for a device before, beside the PTX that it was made of.
#pragma once

#include <string>
#include <string_view>

#include "dsl/runtime/cuda/device.h"

namespace tilewright::runtime::cuda {

/// What a cubin is in the driver's hands; empty where no folder has one of this PTX for this device. Throws DeviceError
/// for a file that is not what was written.
std::string find_cubin(const Device& device, std::string_view ptx);

} // namespace tilewright::runtime::cuda
