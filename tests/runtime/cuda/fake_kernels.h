// tests/runtime/cuda/fake_kernels.h: makes the fake driver this process's.
#pragma once

#include "tests/runtime/cuda/fake_driver.h"

namespace tilewright::tests {

/// Before the first use of a device.
const FakeDriver& use_fake_driver();

} // namespace tilewright::tests
