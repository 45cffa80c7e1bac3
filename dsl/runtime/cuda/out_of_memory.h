// dsl/runtime/cuda/out_of_memory.h: an allocation on a device that failed, for those who cannot go on without it.
#pragma once

#include <cstddef>
#include <new>
#include <string>

#include "dsl/runtime/cuda/device.h"

namespace tilewright::runtime::cuda {

/// What allocate() says by a null pointer, in words.
class OutOfDeviceMemory : public std::bad_alloc {
  public:
    OutOfDeviceMemory(const Place& place, std::size_t bytes)
        : text_("out of memory: device " + std::to_string(place.device) + " has no " + std::to_string(bytes) +
                " bytes left") {}
    const char* what() const noexcept override { return text_.c_str(); }

  private:
    std::string text_;
};

} // namespace tilewright::runtime::cuda
