// dsl/runtime/cuda/profile.h: events around a launch, where this thread's launches are being timed.
#pragma once

#include "dsl/runtime/cuda/kernels.h"

namespace tilewright::runtime::cuda {

/// Around one launch of a call. Costs one look at the call where nobody profiles.
class Timed {
  public:
    Timed(Call& call, Function function, const char* name, const LaunchShape& shape, std::int64_t array_bytes = 0)
        : profile_(call.profile()) {
        if (profile_) [[unlikely]]
            begin(call, function, name, shape, array_bytes);
    }
    /// Of a library's kernels, whose number and shapes nobody tells.
    Timed(Call& call, const char* name) : Timed(call, nullptr, name, {}) {}
    ~Timed() {
        if (profile_) [[unlikely]]
            end();
    }
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;

  private:
    void begin(Call& call, Function function, const char* name, const LaunchShape& shape, std::int64_t array_bytes);
    void end() noexcept;

    Profile* profile_;
};

} // namespace tilewright::runtime::cuda
