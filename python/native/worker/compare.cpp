// python/native/worker/compare.cpp: comparison by blocks on all cores; memcmp first, since nearly all blocks are equal.
#include "python/native/worker/compare.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "dsl/base/half.h"
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

/// Complex elements have two parts of this dtype.
bool has_floats(DType dtype) {
    const DTypeKind kind = info(dtype).kind;
    return kind == DTypeKind::floating || kind == DTypeKind::complex_number;
}
int parts(DType dtype) {
    return info(dtype).is_complex() ? 2 : 1;
}

/// Whether `agree` holds of both parts of an element; elements that are no floats have to be equal.
template <class Agree>
bool elements_agree(DType dtype, const void* ours, const void* theirs, std::int64_t index, Agree&& agree) {
    const int bytes = info(dtype).bytes;
    if (!has_floats(dtype))
        return std::memcmp(static_cast<const char*>(ours) + index * bytes,
                           static_cast<const char*>(theirs) + index * bytes, static_cast<std::size_t>(bytes)) == 0;
    if (dtype == DType::float16)
        return agree(half_value(load<std::uint16_t>(ours, index)), half_value(load<std::uint16_t>(theirs, index)));
    for (std::int64_t at = index * parts(dtype); at < (index + 1) * parts(dtype); ++at)
        if (info(dtype).part == DType::float32 ? !agree(load<float>(ours, at), load<float>(theirs, at))
                                               : !agree(load<double>(ours, at), load<double>(theirs, at)))
            return false;
    return true;
}

template <class T> bool near(T a, T b, const autotune::JobTolerance& tolerance) {
    if (same_float(a, b) || a == b) return true;
    if (std::isnan(a) || std::isnan(b) || std::isinf(a) || std::isinf(b)) return false;
    const double difference = std::abs(static_cast<double>(a) - static_cast<double>(b));
    return difference <= tolerance.atol + tolerance.rtol * std::abs(static_cast<double>(b));
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
    const auto same = [](auto a, auto b) { return same_float(a, b); };
    for_unequal_blocks(dtype, ours, theirs, elements, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end && i < first.load(std::memory_order_relaxed); ++i)
            if (!elements_agree(dtype, ours, theirs, i, same)) return lower_to(first, i);
    });
    if (first == kNone) return std::nullopt;
    return first.load();
}

std::optional<ToleranceDifference> tolerance_difference(DType dtype, const void* ours, const void* numpy,
                                                        std::int64_t elements,
                                                        const autotune::JobTolerance& tolerance) {
    std::atomic<std::int64_t> first{kNone}, count{0};
    const auto is_near = [&](auto a, auto b) { return near(a, b, tolerance); };
    for_unequal_blocks(dtype, ours, numpy, elements, [&](std::int64_t begin, std::int64_t end) {
        std::int64_t here = 0;
        for (std::int64_t i = begin; i < end; ++i) {
            if (elements_agree(dtype, ours, numpy, i, is_near)) continue;
            if (here++ == 0) lower_to(first, i);
        }
        count += here;
    });
    if (count == 0) return std::nullopt;
    const double allowed = has_floats(dtype) ? tolerance.float_mismatch_fraction : tolerance.index_mismatch_fraction;
    if (static_cast<double>(count) <= allowed * static_cast<double>(elements)) return std::nullopt;
    return ToleranceDifference{first, count};
}

std::string element_text(DType dtype, const void* data, std::int64_t index) {
    const DTypeInfo& type = info(dtype);
    const auto real = [&](std::int64_t at) {
        if (dtype == DType::float16)
            return real_text(static_cast<double>(half_value(load<std::uint16_t>(data, at))), 5);
        return type.part == DType::float32 ? real_text(static_cast<double>(load<float>(data, at)), 9)
                                           : real_text(load<double>(data, at), 17);
    };
    // Little-endian: the low bytes come first.
    std::uint64_t bits = 0;
    std::memcpy(&bits, static_cast<const char*>(data) + index * type.bytes,
                std::min(sizeof bits, static_cast<std::size_t>(type.bytes)));
    const int unused = 64 - 8 * type.bytes;
    switch (type.kind) {
    case DTypeKind::boolean:
        return bits != 0 ? "True" : "False";
    case DTypeKind::signed_integer:
        return std::to_string(static_cast<std::int64_t>(bits << unused) >> unused);
    case DTypeKind::unsigned_integer:
        return std::to_string(bits);
    case DTypeKind::floating:
        return real(index);
    case DTypeKind::complex_number:
        break;
    }
    return "(" + real(2 * index) + ", " + real(2 * index + 1) + "j)";
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
