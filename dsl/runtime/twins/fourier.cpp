// dsl/runtime/twins/fourier.cpp: pocketfft as it comes, with plans that are kept, on all threads.
#include "dsl/runtime/twins/fourier.h"

#include <algorithm>
#include <complex>

#include "dsl/runtime/parallel.h"

#define POCKETFFT_CACHE_SIZE 16
#define POCKETFFT_NO_MULTITHREADING
#include <pocketfft_hdronly.h>

namespace tilewright::runtime {
namespace {

constexpr std::size_t kLeastPiece = 1 << 14; ///< elements that are worth a thread's start

void transform_here(const FourierPass& pass, const void* from, void* to, double factor) {
    using Complex = std::complex<double>;
    if (pass.kind == Fourier::complex)
        pocketfft::c2c(pass.shape, pass.from_strides, pass.to_strides, {pass.axis}, pass.forward,
                       static_cast<const Complex*>(from), static_cast<Complex*>(to), factor, 1);
    else if (pass.kind == Fourier::from_real)
        pocketfft::r2c(pass.shape, pass.from_strides, pass.to_strides, pass.axis, pass.forward,
                       static_cast<const double*>(from), static_cast<Complex*>(to), factor, 1);
    else
        pocketfft::c2r(pass.shape, pass.from_strides, pass.to_strides, pass.axis, pass.forward,
                       static_cast<const Complex*>(from), static_cast<double*>(to), factor, 1);
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
