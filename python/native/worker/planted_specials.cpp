// python/native/worker/planted_specials.cpp: writes special values over a few elements and puts the old ones back.
#include "python/native/worker/planted_specials.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "dsl/base/dtypes.h"

namespace tilewright::native {
namespace {

constexpr std::int64_t kAtEachEnd = 24;
constexpr std::int64_t kScattered = 200;

template <class T> T special(std::int64_t number) {
    using Limits = std::numeric_limits<T>;
    switch (number % 6) {
    case 0:
        return Limits::quiet_NaN();
    case 1:
        return Limits::infinity();
    case 2:
        return T(-0.0);
    case 3:
        return -Limits::infinity();
    case 4:
        return Limits::denorm_min();
    default:
        return Limits::max();
    }
}

/// The same of float16, as bits.
std::uint16_t special_half(std::int64_t number) {
    constexpr std::uint16_t kBits[] = {0x7E00, 0x7C00, 0x8000, 0xFC00, 0x0001, 0x7BFF};
    return kBits[number % 6];
}

} // namespace

PlantedSpecials::PlantedSpecials(DataSet& set) : set_(set) {
    for (GuardedMemory& memory : set_.memory)
        memory.make_writable();
    for (std::size_t i = 0; i < set.arguments.size(); ++i) {
        const autotune::JobArgument& argument = set.description->arguments[i];
        const DTypeInfo& dtype = *find_dtype(argument.dtype);
        if (argument.is_scalar || dtype.kind != DTypeKind::floating) continue;
        const std::int64_t elements = elements_of(argument.shape);
        auto plant = [&](std::int64_t index, std::int64_t number) {
            char* place = static_cast<char*>(set.arguments[i].array.data);
            for (std::size_t axis = argument.shape.size(); axis-- > 0;) {
                place += index % argument.shape[axis] * argument.strides_bytes[axis];
                index /= argument.shape[axis];
            }
            Saved saved{place, {}, static_cast<std::size_t>(dtype.bytes)};
            std::memcpy(saved.bytes, place, saved.count);
            saved_.push_back(saved);
            const auto put = [place](auto value) { std::memcpy(place, &value, sizeof value); };
            switch (dtype.dtype) {
            case DType::float16:
                return put(special_half(number));
            case DType::float32:
                return put(special<float>(number));
            default:
                return put(special<double>(number));
            }
        };
        // A small argument keeps most of its values, or every result would be NaN.
        if (elements < 64) continue;
        const std::int64_t ends = std::min<std::int64_t>(kAtEachEnd, elements / 16);
        for (std::int64_t k = 0; k < ends; ++k) {
            plant(k * 2, k);
            plant(elements - 1 - k * 2, k);
        }
        std::uint64_t state = 0x9e3779b97f4a7c15ULL;
        for (std::int64_t k = 0; k < std::min(kScattered, elements / 16); ++k) {
            state = state * 6364136223846793005ULL + 1442695040888963407ULL;
            plant(static_cast<std::int64_t>((state >> 11) % static_cast<std::uint64_t>(elements)), k);
        }
    }
    for (GuardedMemory& memory : set_.memory)
        memory.make_read_only();
}

PlantedSpecials::~PlantedSpecials() {
    for (GuardedMemory& memory : set_.memory)
        memory.make_writable();
    // Backwards: an element planted twice gets its oldest value.
    for (auto saved = saved_.rbegin(); saved != saved_.rend(); ++saved)
        std::memcpy(saved->place, saved->bytes, saved->count);
    for (GuardedMemory& memory : set_.memory)
        memory.make_read_only();
}

} // namespace tilewright::native
