// dsl/runtime/cuda/l2_window.cpp: an array that is larger than the cache and read again from its beginning would find
// nothing of itself there, since each line is evicted shortly before it is wanted. A fixed part of it can stay.
#include "dsl/runtime/cuda/launch.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace tilewright::runtime::cuda {
namespace {

// Both as seen on an H200 (60 MiB of cache), the norm of 32 to 128 MB of float32, call after call: of 12 to 32 MB, 20
// to 24 are best or within 3 % of it at nearly every size (README.md has times); at 40 MB and below nothing is gained.
std::int64_t kept_of(std::int64_t l2_bytes) {
    return l2_bytes / 3;
}
std::int64_t least_of(std::int64_t l2_bytes) {
    return l2_bytes / 4 * 3;
}
/// What else the kernel touches has to share the cache: at most this of all its bytes.
std::int64_t most_of_others(std::int64_t bytes) {
    return bytes / 10;
}

bool is_wanted() {
    static const bool wanted = [] {
        const char* text = std::getenv("TILEWRIGHT_CUDA_L2_WINDOW");
        return !text || std::strcmp(text, "0") != 0;
    }();
    return wanted;
}

} // namespace

LaunchedArrays arrays_of(void* const* arguments, const std::int8_t* is_buffer, std::size_t count) {
    LaunchedArrays all;
    for (std::size_t i = 0; i < count; ++i) {
        if (!is_buffer[i]) continue;
        const auto& buffer = *static_cast<const halide_buffer_t*>(arguments[i]);
        const std::int64_t each = (buffer.type.bits + 7) / 8 * buffer.type.lanes;
        std::int64_t elements = 1, before = 0, behind = 0;
        for (int d = 0; d < buffer.dimensions; ++d) {
            const halide_dimension_t& dim = buffer.dim[d];
            elements *= std::max(dim.extent, 0);
            const std::int64_t last = (std::int64_t{dim.extent} - 1) * dim.stride;
            (last < 0 ? before : behind) += last;
        }
        const std::int64_t span = behind - before + 1;
        const std::int64_t bytes = std::min(elements, span) * each; // of a broadcast array what lies there
        all.bytes += bytes;
        if (bytes <= all.largest || span > elements) continue;
        all.largest = bytes;
        all.begin = buffer.device + static_cast<std::uint64_t>(before * each);
    }
    return all;
}

L2Window window_for(const Device& device, const LaunchedArrays& arrays) {
    const bool helps = arrays.largest <= device.l2_window_bytes && arrays.largest >= least_of(device.l2_bytes) &&
                       arrays.bytes - arrays.largest <= most_of_others(arrays.bytes);
    if (!helps || arrays.largest == 0 || !is_wanted()) return {};
    L2Window window;
    window.begin = arrays.begin;
    window.bytes = static_cast<std::size_t>(arrays.largest);
    window.kept = std::min(1.0F, static_cast<float>(kept_of(device.l2_bytes)) / static_cast<float>(arrays.largest));
    return window;
}

} // namespace tilewright::runtime::cuda
