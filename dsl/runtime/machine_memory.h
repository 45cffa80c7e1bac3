// dsl/runtime/machine_memory.h: how much memory this process may use.
#pragma once

#include <cstddef>

namespace tilewright::runtime {

/// The machine's, or what control groups or limits of the process allow where that is less, in bytes. Read once.
std::size_t machine_memory();

} // namespace tilewright::runtime
