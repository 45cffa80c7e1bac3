// dsl/runtime/size_classes.h: sizes that blocks of a pool have, so that a block serves the next request of about its
// size.
#pragma once

#include <bit>
#include <cstddef>

namespace tilewright::runtime {

/// Four sizes for each power of two from `1 << kLeastLog` on.
template <int kLeastLog> struct SizeClasses {
    static int of(std::size_t bytes) {
        if (bytes <= std::size_t{1} << kLeastLog) return 0;
        const int log = 63 - std::countl_zero(bytes - 1); // bytes - 1 is in [2^log, 2^(log+1))
        const int quarter = static_cast<int>((bytes - 1) >> (log - 2)) & 3;
        return (log - kLeastLog) * 4 + quarter + 1;
    }
    static std::size_t bytes(int size_class) {
        if (size_class == 0) return std::size_t{1} << kLeastLog;
        const int log = (size_class - 1) / 4 + kLeastLog, quarter = (size_class - 1) % 4;
        return (std::size_t{1} << log) + (std::size_t(quarter + 1) << (log - 2));
    }
};

} // namespace tilewright::runtime
