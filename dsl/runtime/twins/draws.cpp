// dsl/runtime/twins/draws.cpp: loops over draws, with the state in registers, or on all threads.
#include "dsl/runtime/twins/draws.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "dsl/runtime/parallel.h"
#include "dsl/runtime/thread_budget.h"

namespace tilewright::runtime {
namespace {

constexpr std::uint32_t kTogether = 512; ///< places that are drawn before elements are exchanged

template <class T> void shuffle_elements(Pcg64& from, void* elements, std::int64_t count) {
    auto* const x = static_cast<T*>(elements);
    Pcg64 here = from;
    std::array<std::uint32_t, kTogether> places;
    for (auto last = static_cast<std::uint32_t>(count - 1); last > 0;) {
        const std::uint32_t wanted = std::min(last, kTogether), next = last - wanted;
        // Of as many bits as the last place has, those that lie behind it are drawn again: nobody can predict which.
        for (std::uint32_t i = last; i > next;) {
            const std::uint32_t place = here.next_half() & (~std::uint32_t{0} >> std::countl_zero(i));
            places[last - i] = place;
            i -= place <= i;
        }
        for (std::uint32_t i = last; i > next; --i)
            std::swap(x[i], x[places[last - i]]);
        last = next;
    }
    from = here;
}

/// The words that come from a state on. Of two states, of which each goes on by two words, neither waits for the
/// other's product.
class Words {
  public:
    static constexpr std::size_t kBlock = 64;

    explicit Words(const Pcg64& from) : increment_(from.increment * (Pcg64::kFactor + 1)) {
        Pcg64 here = from;
        here.next(), even_ = here.state;
        here.next(), odd_ = here.state;
    }

    std::uint64_t next() {
        if (at_ == kBlock) refill();
        return block_[at_++];
    }
    double fraction() { return Pcg64::fraction_of(next()); }
    /// Words that are there: some of them at least.
    std::span<const std::uint64_t> ahead() {
        if (at_ == kBlock) refill();
        return std::span(block_).subspan(at_);
    }
    void pass(std::size_t words) { at_ += words; }
    std::uint64_t consumed() const { return made_ - (kBlock - at_); }

  private:
    void refill() {
        constexpr Pcg64::Words factor = Pcg64::kFactor * Pcg64::kFactor;
        Pcg64::Words even = even_, odd = odd_;
        for (std::size_t i = 0; i < kBlock; i += 2) {
            block_[i] = Pcg64::word_of(even);
            block_[i + 1] = Pcg64::word_of(odd);
            even = even * factor + increment_;
            odd = odd * factor + increment_;
        }
        even_ = even, odd_ = odd;
        made_ += kBlock;
        at_ = 0;
    }

    Pcg64::Words even_, odd_, increment_;
    std::array<std::uint64_t, kBlock> block_;
    std::size_t at_ = kBlock;
    std::uint64_t made_ = 0;
};

struct Normal {
    const NormalLayers& layers;
    double middle, scale;
};

/// A place of a layer, whether it lies under the curve for certain, and the number that it stands for.
struct Placed {
    Placed(std::uint64_t word, const NormalLayers& layers)
        : layer(word & 0xff), place(word >> 9 & 0xfffffffffffff), is_inside(place < layers.inside[layer]) {
        const double along = static_cast<double>(place) * layers.unit[layer];
        // Nobody can predict the sign.
        x = std::bit_cast<double>(std::bit_cast<std::uint64_t>(along) | (word >> 8 & 1) << 63);
    }

    std::size_t layer;
    std::uint64_t place;
    bool is_inside;
    double x;
};

double normal_number(Words& words, const NormalLayers& layers) {
    for (;;) {
        const Placed placed(words.next(), layers);
        if (placed.is_inside) return placed.x;
        const std::size_t layer = placed.layer;
        if (layer > 0) {
            const double below = layers.height[layer - 1] - layers.height[layer];
            if (below * words.fraction() + layers.height[layer] < std::exp(-0.5 * placed.x * placed.x)) return placed.x;
            continue;
        }
        constexpr double end = NormalLayers::kEnd;
        for (;;) {
            const double beyond = -(1 / end) * std::log1p(-words.fraction());
            const double other = -std::log1p(-words.fraction());
            if (other + other > beyond * beyond) return placed.place >> 8 & 1 ? -(end + beyond) : end + beyond;
        }
    }
}

/// So many numbers, or those that begin in the next `most_words`; gives how many.
std::int64_t normals_of(Words& words, const Normal& of, double* to, std::int64_t count, std::uint64_t most_words) {
    std::int64_t i = 0;
    while (i < count && words.consumed() < most_words) {
        const auto ahead = words.ahead();
        const std::size_t here =
            std::min({static_cast<std::uint64_t>(count - i), ahead.size(), most_words - words.consumed()});
        std::size_t k = 0;
        for (; k < here; ++k) {
            const Placed placed(ahead[k], of.layers);
            if (!placed.is_inside) break;
            to[i + static_cast<std::int64_t>(k)] = of.middle + of.scale * placed.x;
        }
        words.pass(k);
        i += static_cast<std::int64_t>(k);
        if (k < here) to[i++] = of.middle + of.scale * normal_number(words, of.layers);
    }
    return i;
}

/// Normal numbers that begin in some words, as far as is known which of these begin one.
struct NormalChunk {
    static constexpr std::uint64_t kWords = 1 << 13; // in the cache of a core

    std::vector<double> numbers = std::vector<double>(kWords);
    std::uint64_t begin = 0, end = 0; // words since the first state, of the first number and behind the last one
    std::int64_t count = 0;
    double* to = nullptr;

    /// Those that begin before `behind`, where one begins at `first`.
    void draw(const Pcg64& from, const Normal& of, std::uint64_t first, std::uint64_t behind) {
        Pcg64 here = from;
        here.skip(first);
        Words words(here);
        begin = first;
        count = normals_of(words, of, numbers.data(), static_cast<std::int64_t>(kWords), behind - first);
        end = first + words.consumed();
    }
};

/// A number takes one word, as a rule, so most words begin one: each thread takes some words, and draws as if the first
/// of them did. Where the numbers before end behind that word, those are drawn again, which is for one chunk of a
/// hundred. A round draws chunks, and copies those of the round before. Gives how many numbers were drawn: a round may
/// not draw more than are asked for.
std::int64_t normals_in_rounds(Pcg64& from, const Normal& of, double* to, std::int64_t count, int chunks) {
    std::array<std::vector<NormalChunk>, 2> rounds{std::vector<NormalChunk>(static_cast<std::size_t>(chunks)),
                                                   std::vector<NormalChunk>(static_cast<std::size_t>(chunks))};
    const std::int64_t most = chunks * static_cast<std::int64_t>(NormalChunk::kWords);
    std::int64_t drawn = 0;
    std::uint64_t at = 0; // words that the numbers so far have taken
    for (std::size_t round = 0;; round ^= 1) {
        const bool is_last = count - drawn < most;
        auto &now = rounds[round], &before = rounds[round ^ 1];
        const auto start = [first = at](int k) { return first + static_cast<std::uint64_t>(k) * NormalChunk::kWords; };
        parallel_for(chunks, [&](int k) {
            const NormalChunk& known = before[static_cast<std::size_t>(k)];
            std::copy_n(known.numbers.begin(), known.count, known.to);
            if (!is_last) now[static_cast<std::size_t>(k)].draw(from, of, start(k), start(k + 1));
        });
        if (is_last) break;
        for (int k = 0; k < chunks; ++k) {
            NormalChunk& chunk = now[static_cast<std::size_t>(k)];
            if (chunk.begin != at) chunk.draw(from, of, at, start(k + 1));
            chunk.to = to + drawn;
            drawn += chunk.count;
            at = chunk.end;
        }
    }
    from.skip(at);
    return drawn;
}

} // namespace

void draw_normals(Pcg64& from, const NormalLayers& layers, double middle, double scale, double* to,
                  std::int64_t count) {
    const Normal of{layers, middle, scale};
    const int chunks = 2 * num_threads();
    std::int64_t drawn = 0;
    if (chunks > 2 && count >= chunks * static_cast<std::int64_t>(NormalChunk::kWords))
        drawn = normals_in_rounds(from, of, to, count, chunks);
    Words words(from);
    normals_of(words, of, to + drawn, count - drawn, std::numeric_limits<std::uint64_t>::max());
    from.skip(words.consumed());
}

void draw_integers(Pcg64& from, std::int64_t low, std::uint32_t most, std::int64_t* to, std::int64_t count) {
    Pcg64 here = from;
    for (std::int64_t i = 0; i < count; ++i)
        to[i] = low + (most ? here.up_to(most) : 0);
    from = here;
}

void draw_floats(Pcg64& from, double low, double range, double* to, std::int64_t count) {
    constexpr std::int64_t kPiece = 1 << 14;
    parallel_pieces(count, kPiece, [&](std::int64_t begin, std::int64_t here) {
        Pcg64 first = from;
        first.skip(static_cast<std::uint64_t>(begin));
        Words words(first);
        for (std::int64_t i = begin; i < begin + here;) {
            const auto ahead = words.ahead();
            const auto some = std::min(static_cast<std::int64_t>(ahead.size()), begin + here - i);
            for (std::int64_t k = 0; k < some; ++k)
                to[i + k] = low + range * Pcg64::fraction_of(ahead[static_cast<std::size_t>(k)]);
            words.pass(static_cast<std::size_t>(some));
            i += some;
        }
    });
    from.skip(static_cast<std::uint64_t>(count));
}

bool shuffle(Pcg64& from, void* elements, std::int64_t count, std::size_t bytes) {
    switch (bytes) {
    case 1:
        shuffle_elements<std::uint8_t>(from, elements, count);
        return true;
    case 2:
        shuffle_elements<std::uint16_t>(from, elements, count);
        return true;
    case 4:
        shuffle_elements<std::uint32_t>(from, elements, count);
        return true;
    case 8:
        shuffle_elements<std::uint64_t>(from, elements, count);
        return true;
    default:
        return false;
    }
}

} // namespace tilewright::runtime
