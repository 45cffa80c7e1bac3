// python/native/worker/device_memory.cpp: device memory between zones of known bytes.
#include "python/native/worker/device_memory.h"

#include <algorithm>

#include "dsl/base/error.h"
#include "dsl/runtime/cuda/out_of_memory.h"

namespace tilewright::native {
namespace {

namespace cuda = runtime::cuda;

constexpr unsigned char kZoneByte = 0x5c;
constexpr unsigned char kPoison = 0xa5; ///< as on the host: an element that nobody wrote is no result

const char* first_byte(const DataSet& set, std::size_t memory) {
    return set.memory[memory].before_guard(kArgumentAlignment);
}

} // namespace

DeviceBlock::DeviceBlock(const cuda::Place& place, std::size_t bytes)
    : place_(place), bytes_(bytes),
      memory_(static_cast<char*>(cuda::allocate(place_, bytes_ + 2 * kZone)), Release{place_}) {
    if (memory_ == nullptr) throw cuda::OutOfDeviceMemory(place_, bytes_ + 2 * kZone);
    cuda::fill(place_, memory_.get(), kZoneByte, bytes_ + 2 * kZone);
}

char* DeviceBlock::data() const {
    return memory_.get() + kZone;
}

void DeviceBlock::upload(const char* from) const {
    if (bytes_ > 0) cuda::copy_to_device(place_, data(), from, bytes_);
}

void DeviceBlock::download(char* to) const {
    if (bytes_ > 0) cuda::copy_to_host(place_, to, data(), bytes_);
}

void DeviceBlock::poison() const {
    cuda::fill(place_, memory_.get(), kZoneByte, kZone);
    if (bytes_ > 0) cuda::fill(place_, data(), kPoison, bytes_);
    cuda::fill(place_, data() + bytes_, kZoneByte, kZone);
}

std::vector<char> DeviceBlock::whole() const {
    std::vector<char> all(bytes_ + 2 * kZone);
    cuda::copy_to_host(place_, all.data(), memory_.get(), all.size());
    return all;
}

void DeviceBlock::put(const std::vector<char>& whole) const {
    cuda::copy_to_device(place_, memory_.get(), whole.data(), whole.size());
}

const char* DeviceBlock::damage() const {
    const auto is_zone = [this](const char* from) {
        char bytes[kZone];
        cuda::copy_to_host(place_, bytes, from, kZone);
        return std::all_of(bytes, bytes + kZone,
                           [](char byte) { return static_cast<unsigned char>(byte) == kZoneByte; });
    };
    return !is_zone(memory_.get()) ? "before" : !is_zone(data() + bytes_) ? "behind" : nullptr;
}

DeviceSet::DeviceSet(const cuda::Place& place, const DataSet& set) : place_(place) {
    int memory = 0;
    for (const autotune::JobArgument& argument : set.description->arguments)
        memory_of_argument_.push_back(argument.is_scalar ? -1 : memory++);
    for (const GuardedMemory& each : set.memory)
        memory_.emplace_back(place_, each.bytes());
    for (const WrittenArgument& each : set.written)
        written_.emplace_back(place_, each.copy.bytes());
    upload(set);
}

void DeviceSet::upload(const DataSet& set) {
    for (std::size_t k = 0; k < memory_.size(); ++k)
        memory_[k].upload(first_byte(set, k));
}

char* DeviceSet::argument(const DataSet& set, std::size_t number) const {
    const auto memory = static_cast<std::size_t>(memory_of_argument_[number]);
    const auto* first = static_cast<const char*>(set.arguments[number].array.data);
    return memory_[memory].data() + (first - first_byte(set, memory));
}

void DeviceSet::refresh(const DataSet& set, std::size_t k) const {
    if (written_[k].bytes() == 0) return;
    cuda::copy_on_device(place_, written_[k].data(), memory_[set.written[k].memory].data(), written_[k].bytes());
}

DeviceBlock& DeviceSet::result(std::size_t i, std::size_t bytes) {
    if (results_.size() <= i) results_.emplace_back(place_, bytes);
    if (results_[i].bytes() != bytes)
        throw InternalError("worker: a result has " + std::to_string(bytes) + " bytes, with another schedule " +
                            std::to_string(results_[i].bytes()) + ".");
    return results_[i];
}

std::optional<std::string> DeviceSet::damage() const {
    const auto look = [](const std::vector<DeviceBlock>& blocks, const char* what) -> std::optional<std::string> {
        for (const DeviceBlock& block : blocks)
            if (const char* side = block.damage())
                return "it writes " + std::string(side) + " " + what + ", outside of every array";
        return std::nullopt;
    };
    if (auto text = look(results_, "a result")) return text;
    if (auto text = look(written_, "an argument that it writes into")) return text;
    return look(memory_, "an argument");
}

} // namespace tilewright::native
