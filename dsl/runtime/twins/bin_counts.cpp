// dsl/runtime/twins/bin_counts.cpp: each thread counts a part of the numbers by itself; then the counts are added.
#include "dsl/runtime/twins/bin_counts.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <deque>
#include <mutex>

#include "dsl/runtime/parallel.h"

namespace tilewright::runtime {
namespace {

constexpr std::int64_t kCountedChunk = 4096; ///< numbers that are looked at before they are counted
constexpr std::int64_t kFewBins = 4096; ///< so many have several tables, since the same number often follows itself
constexpr int kTables = 4;              ///< of few bins
constexpr std::int64_t kAhead = 24;     ///< numbers whose counts are asked for ahead: large tables lie in far caches
constexpr std::int64_t kCountedPiece = 1 << 17;         ///< numbers of one iteration
constexpr std::int64_t kMostNumbers = INT64_C(1) << 32; ///< that a count can have

/// The counts of one part, which grow with the numbers.
class CountedPart {
  public:
    /// False where a number is negative, or the counts would be more than `most`.
    template <class T> bool add(const T* x, std::int64_t count, std::int64_t most) {
        for (std::int64_t begin = 0; begin < count;) {
            if (bins_ <= kFewBins) begin += count_few(x + begin, count - begin);
            const std::int64_t end = std::min(count, begin + kCountedChunk);
            std::uint64_t bits = 0;
            for (std::int64_t i = begin; i < end; ++i)
                bits |= static_cast<std::uint64_t>(static_cast<std::int64_t>(x[i]));
            if (bits >= static_cast<std::uint64_t>(bins_)) {
                if (bits >= static_cast<std::uint64_t>(most)) return false; // negative numbers are large ones
                grow(static_cast<std::int64_t>(std::bit_ceil(bits + 1)));
            }
            if (bins_ <= kFewBins) continue;
            count_many(x + begin, end - begin, std::min(count, end + kAhead) - begin);
            begin = end;
        }
        return true;
    }

    std::int64_t bins() const { return bins_; }
    std::int64_t at(std::int64_t bin) const {
        std::int64_t sum = 0;
        for (int table = 0; table < tables_; ++table)
            sum += counts_[static_cast<std::size_t>(table * bins_ + bin)];
        return sum;
    }

  private:
    void grow(std::int64_t bins) {
        const int tables = bins <= kFewBins ? kTables : 1;
        std::vector<std::uint32_t> wider(static_cast<std::size_t>(tables * bins));
        for (std::int64_t bin = 0; bin < bins_; ++bin)
            wider[static_cast<std::size_t>(bin)] = static_cast<std::uint32_t>(at(bin));
        counts_ = std::move(wider);
        bins_ = bins;
        tables_ = tables;
    }

    /// How many numbers come before one that has no count yet, or at least some of them: these are counted. Each is
    /// read once, as reading them is what takes the time.
    template <class T> std::int64_t count_few(const T* x, std::int64_t count) {
        static_assert(kTables == 4);
        const auto bins = static_cast<std::uint64_t>(bins_);
        std::uint32_t *const a = counts_.data(), *const b = a + bins, *const c = b + bins, *const d = c + bins;
        const auto number = [&](std::int64_t i) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(x[i])); };
        std::int64_t i = 0;
        for (; i + 2 * kTables <= count; i += 2 * kTables) {
            const std::uint64_t n[] = {number(i),     number(i + 1), number(i + 2), number(i + 3),
                                       number(i + 4), number(i + 5), number(i + 6), number(i + 7)};
            // There are counts for a power of two of numbers.
            if ((n[0] | n[1] | n[2] | n[3] | n[4] | n[5] | n[6] | n[7]) >= bins) return i;
            ++a[n[0]], ++b[n[1]], ++c[n[2]], ++d[n[3]];
            ++a[n[4]], ++b[n[5]], ++c[n[6]], ++d[n[7]];
        }
        for (; i < count && number(i) < bins; ++i)
            ++a[number(i)];
        return i;
    }

    /// `readable`: so many numbers are there.
    template <class T> void count_many(const T* x, std::int64_t count, std::int64_t readable) {
        std::uint32_t* const counts = counts_.data();
        const std::int64_t ahead = std::max<std::int64_t>(0, std::min(count, readable - kAhead));
        std::int64_t i = 0;
        for (; i < ahead; ++i) {
            __builtin_prefetch(counts + static_cast<std::int64_t>(x[i + kAhead]), 1); // wherever it is: a hint
            ++counts[static_cast<std::int64_t>(x[i])];
        }
        for (; i < count; ++i)
            ++counts[static_cast<std::int64_t>(x[i])];
    }

    std::vector<std::uint32_t> counts_;
    std::int64_t bins_ = 0;
    int tables_ = 1;
};

} // namespace

template <class T> std::vector<std::int64_t> bin_counts(const T* x, std::int64_t count, std::int64_t most) {
    if (count >= kMostNumbers) return {};
    std::deque<CountedPart> parts; // as many as threads that count
    std::vector<CountedPart*> idle;
    std::mutex guard;
    std::atomic<bool> is_right = true;
    parallel_pieces(count, kCountedPiece, [&](std::int64_t begin, std::int64_t here) {
        if (!is_right) return;
        CountedPart* part = nullptr;
        {
            const std::lock_guard lock(guard);
            if (idle.empty()) idle.push_back(&parts.emplace_back());
            part = idle.back();
            idle.pop_back();
        }
        if (!part->add(x + begin, here, most)) is_right = false;
        const std::lock_guard lock(guard);
        idle.push_back(part);
    });
    if (!is_right) return {};
    std::int64_t bins = 0;
    for (const CountedPart& part : parts)
        bins = std::max(bins, part.bins());
    std::vector<std::int64_t> counts(static_cast<std::size_t>(bins));
    constexpr std::int64_t kTogether = 1 << 14;
    parallel_pieces(bins, kTogether, [&](std::int64_t begin, std::int64_t here) {
        for (const CountedPart& part : parts)
            for (std::int64_t bin = begin; bin < std::min(part.bins(), begin + here); ++bin)
                counts[static_cast<std::size_t>(bin)] += part.at(bin);
    });
    return counts;
}

template std::vector<std::int64_t> bin_counts(const std::int8_t*, std::int64_t, std::int64_t);
template std::vector<std::int64_t> bin_counts(const std::uint8_t*, std::int64_t, std::int64_t);
template std::vector<std::int64_t> bin_counts(const std::int16_t*, std::int64_t, std::int64_t);
template std::vector<std::int64_t> bin_counts(const std::uint16_t*, std::int64_t, std::int64_t);
template std::vector<std::int64_t> bin_counts(const std::int32_t*, std::int64_t, std::int64_t);
template std::vector<std::int64_t> bin_counts(const std::uint32_t*, std::int64_t, std::int64_t);
template std::vector<std::int64_t> bin_counts(const std::int64_t*, std::int64_t, std::int64_t);

} // namespace tilewright::runtime
