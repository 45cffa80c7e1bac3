// tests/runtime/cuda/real_driver.cpp: this machine's driver, where it has one.
#include "tests/runtime/cuda/which_driver.h"

namespace tilewright::tests {

void prepare_driver() {}

} // namespace tilewright::tests
