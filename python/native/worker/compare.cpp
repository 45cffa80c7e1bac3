// python/native/worker/compare.cpp: comparison by blocks on all cores; memcmp first, since nearly all blocks are equal.
#include "python/native/worker/compare.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "dsl/runtime/parallel.h"

namespace tilewright::native {
namespace {

constexpr std::int64_t kBlockBytes = std::int64_t{1} << 20;

template <class T> T load(const void* data, std::int64_t index) {
    T value;
    std::memcpy(&value, static_cast<const char*>(data) + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    return value;
}

template <class T> bool same_float(T a, T b) {
    return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof(T)) == 0;
}

/// Complex elements are two of these.
bool is_float32(DType dtype) {
    return info(dtype).part == DType::float32;
}
bool is_float64(DType dtype) {
    return info(dtype).part == DType::float64;
}
int parts(DType dtype) {
    return info(dtype).is_complex() ? 2 : 1;
}

bool same_element(DType dtype, const void* ours, const void* theirs, std::int64_t index) {
    const int bytes = info(dtype).bytes;
    if (!is_float32(dtype) && !is_float64(dtype))
        return std::memcmp(static_cast<const char*>(ours) + index * bytes,
                           static_cast<const char*>(theirs) + index * bytes, static_cast<std::size_t>(bytes)) == 0;
    for (int part = 0; part < parts(dtype); ++part) {
        const std::int64_t at = index * parts(dtype) + part;
        if (is_float32(dtype) ? !same_float(load<float>(ours, at), load<float>(theirs, at))
                              : !same_float(load<double>(ours, at), load<double>(theirs, at)))
            return false;
    }
    return true;
}

template <class T> bool near(T a, T b, const autotune::JobTolerance& tolerance) {
    if (same_float(a, b) || a == b) return true;
    if (std::isnan(a) || std::isnan(b) || std::isinf(a) || std::isinf(b)) return false;
    const double difference = std::abs(static_cast<double>(a) - static_cast<double>(b));
    return difference <= tolerance.atol + tolerance.rtol * std::abs(static_cast<double>(b));
}

bool near_element(DType dtype, const void* ours, const void* numpy, std::int64_t index,
                  const autotune::JobTolerance& tolerance) {
    if (!is_float32(dtype) && !is_float64(dtype)) return same_element(dtype, ours, numpy, index);
    for (int part = 0; part < parts(dtype); ++part) {
        const std::int64_t at = index * parts(dtype) + part;
        if (is_float32(dtype) ? !near(load<float>(ours, at), load<float>(numpy, at), tolerance)
                              : !near(load<double>(ours, at), load<double>(numpy, at), tolerance))
            return false;
    }
    return true;
}

/// Calls `body(begin, end)` for every block whose bytes differ.
template <class Body>
void for_unequal_blocks(DType dtype, const void* ours, const void* theirs, std::int64_t elements, Body&& body) {
    const std::int64_t bytes = info(dtype).bytes;
    const std::int64_t per_block = std::max<std::int64_t>(1, kBlockBytes / bytes);
    const std::int64_t blocks = (elements + per_block - 1) / per_block;
    runtime::parallel_for(static_cast<int>(blocks), [&](int block) {
        const std::int64_t begin = block * per_block, end = std::min(elements, begin + per_block);
        if (std::memcmp(static_cast<const char*>(ours) + begin * bytes,
                        static_cast<const char*>(theirs) + begin * bytes,
                        static_cast<std::size_t>((end - begin) * bytes)) != 0)
            body(begin, end);
    });
}

void lower_to(std::atomic<std::int64_t>& smallest, std::int64_t value) {
    std::int64_t seen = smallest.load();
    while (value < seen && !smallest.compare_exchange_weak(seen, value)) {
    }
}

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

std::string real_text(double value, int digits) {
    char text[48];
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    return text;
}

} // namespace

std::optional<std::int64_t> first_bit_difference(DType dtype, const void* ours, const void* theirs,
                                                 std::int64_t elements) {
    std::atomic<std::int64_t> first{kNone};
    for_unequal_blocks(dtype, ours, theirs, elements, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end && i < first.load(std::memory_order_relaxed); ++i)
            if (!same_element(dtype, ours, theirs, i)) return lower_to(first, i);
    });
    if (first == kNone) return std::nullopt;
    return first.load();
}

std::optional<ToleranceDifference> tolerance_difference(DType dtype, const void* ours, const void* numpy,
                                                        std::int64_t elements,
                                                        const autotune::JobTolerance& tolerance) {
    std::atomic<std::int64_t> first{kNone}, count{0};
    for_unequal_blocks(dtype, ours, numpy, elements, [&](std::int64_t begin, std::int64_t end) {
        std::int64_t here = 0;
        for (std::int64_t i = begin; i < end; ++i) {
            if (near_element(dtype, ours, numpy, i, tolerance)) continue;
            if (here++ == 0) lower_to(first, i);
        }
        count += here;
    });
    if (count == 0) return std::nullopt;
    const bool exact = !is_float32(dtype) && !is_float64(dtype);
    const double allowed = exact ? tolerance.index_mismatch_fraction : tolerance.float_mismatch_fraction;
    if (static_cast<double>(count) <= allowed * static_cast<double>(elements)) return std::nullopt;
    return ToleranceDifference{first, count};
}

std::string element_text(DType dtype, const void* data, std::int64_t index) {
    switch (dtype) {
    case DType::boolean:
        return load<std::uint8_t>(data, index) != 0 ? "True" : "False";
    case DType::int8:
        return std::to_string(load<std::int8_t>(data, index));
    case DType::int16:
        return std::to_string(load<std::int16_t>(data, index));
    case DType::int32:
        return std::to_string(load<std::int32_t>(data, index));
    case DType::int64:
        return std::to_string(load<std::int64_t>(data, index));
    case DType::uint8:
        return std::to_string(load<std::uint8_t>(data, index));
    case DType::uint16:
        return std::to_string(load<std::uint16_t>(data, index));
    case DType::uint32:
        return std::to_string(load<std::uint32_t>(data, index));
    case DType::uint64:
        return std::to_string(load<std::uint64_t>(data, index));
    case DType::float32:
        return real_text(static_cast<double>(load<float>(data, index)), 9);
    case DType::float64:
        return real_text(load<double>(data, index), 17);
    case DType::complex64:
        return "(" + real_text(static_cast<double>(load<float>(data, 2 * index)), 9) + ", " +
               real_text(static_cast<double>(load<float>(data, 2 * index + 1)), 9) + "j)";
    case DType::complex128:
        return "(" + real_text(load<double>(data, 2 * index), 17) + ", " +
               real_text(load<double>(data, 2 * index + 1), 17) + "j)";
    case DType::float16: // kernels do not have it
        break;
    }
    return "?";
}

std::string place_text(const std::string& name, const std::vector<std::int64_t>& shape, std::int64_t index) {
    if (shape.empty()) return name;
    std::string text;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        const std::int64_t extent = std::max<std::int64_t>(1, shape[axis]);
        text = std::to_string(index % extent) + (text.empty() ? "" : ", ") + text;
        index /= extent;
    }
    return name + "[" + text + "]";
}

} // namespace tilewright::native
