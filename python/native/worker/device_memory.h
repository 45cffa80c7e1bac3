// python/native/worker/device_memory.h: what candidates for a CUDA device read and write: memory there, with bytes on
// both sides that nobody may change.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dsl/runtime/cuda/device.h"
#include "python/native/worker/data_sets.h"

namespace tilewright::native {

/// A piece of device memory between two zones of known bytes. Throws std::bad_alloc where none is left.
class DeviceBlock {
  public:
    DeviceBlock(const runtime::cuda::Place& place, std::size_t bytes);

    char* data() const; ///< an address of the device
    std::size_t bytes() const { return bytes_; }
    void upload(const char* from) const;
    void download(char* to) const;
    /// All bytes become what nobody computes; the zones get theirs.
    void poison() const;
    /// The bytes from the zone before to the zone behind, for tests that damage them; put() writes them back.
    std::vector<char> whole() const;
    void put(const std::vector<char>& whole) const;
    static constexpr std::size_t kZone = 4096; ///< keeps the alignment that an array has by itself
    /// Nothing, or "before" or "behind": where something was written that is not the block's.
    const char* damage() const;

  private:
    struct Release {
        runtime::cuda::Place place;
        void operator()(char* memory) const { runtime::cuda::release(place, memory); }
    };
    runtime::cuda::Place place_;
    std::size_t bytes_ = 0;
    std::unique_ptr<char, Release> memory_;
};

/// The arrays of a data set on the device.
class DeviceSet {
  public:
    DeviceSet(const runtime::cuda::Place& place, const DataSet& set);

    /// The arguments' bytes once more, after they have changed on the host.
    void upload(const DataSet& set);
    char* argument(const DataSet& set, std::size_t number) const;
    /// The copy that calls write into, and its content from before a call.
    DeviceBlock& written(std::size_t k) { return written_[k]; }
    void refresh(const DataSet& set, std::size_t k) const;
    /// The memory of result `i`; made at first use.
    DeviceBlock& result(std::size_t i, std::size_t bytes);
    /// What has been written outside of the arrays, in words; nothing where all is well.
    std::optional<std::string> damage() const;

  private:
    runtime::cuda::Place place_;
    std::vector<int> memory_of_argument_;
    std::vector<DeviceBlock> memory_, written_, results_;
};

} // namespace tilewright::native
