// tests/runtime/cuda/which_driver.h: the fake driver in one of the two programs of executor_test.cpp, a real one in the
// other.
#pragma once

namespace tilewright::tests {

/// Before the first use of a device.
void prepare_driver();

} // namespace tilewright::tests
