// dsl/runtime/twins/fourier.cpp: transforms on all threads, by vectors that the processor has.
#include "dsl/runtime/twins/fourier.h"

#include <algorithm>

#include "dsl/runtime/parallel.h"
#include "dsl/runtime/twins/fourier_widths.h"

namespace tilewright::runtime {
namespace {

constexpr std::size_t kLeastPiece = 1 << 14; ///< elements that are worth a thread's start

void transform_here(const FourierPass& pass, const void* from, void* to, double factor) {
    static const bool has_longer_vectors = __builtin_cpu_supports("avx2");
    (has_longer_vectors ? transform_by_fours : transform_by_pairs)(pass, from, to, factor);
}

} // namespace

void transform(const FourierPass& pass, const void* from, void* to, double factor) {
    std::size_t longest = pass.axis, elements = 1; // of the other axes
    for (std::size_t k = 0; k < pass.shape.size(); ++k) {
        elements *= pass.shape[k];
        if (k != pass.axis && (longest == pass.axis || pass.shape[k] > pass.shape[longest])) longest = k;
    }
    if (longest == pass.axis || elements < 2 * kLeastPiece) return transform_here(pass, from, to, factor);
    const std::size_t row = elements / pass.shape[longest];
    // Vectors hold a few rows at a time.
    const std::size_t piece = (std::max<std::size_t>(kLeastPiece / row, 1) + 7) / 8 * 8;
    parallel_pieces(pass.shape[longest], piece, [&](std::size_t begin, std::size_t some) {
        FourierPass part = pass;
        part.shape[longest] = some;
        const auto at = static_cast<std::ptrdiff_t>(begin);
        transform_here(part, static_cast<const char*>(from) + at * pass.from_strides[longest],
                       static_cast<char*>(to) + at * pass.to_strides[longest], factor);
    });
}

} // namespace tilewright::runtime
