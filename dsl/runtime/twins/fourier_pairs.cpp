// dsl/runtime/twins/fourier_pairs.cpp: pocketfft as it comes, with plans that are kept.
#include <complex>

#include "dsl/runtime/twins/fourier_widths.h"

#define POCKETFFT_CACHE_SIZE 16
#define POCKETFFT_NO_MULTITHREADING
#include <pocketfft_hdronly.h>

#include "dsl/runtime/twins/fourier_call.h"

namespace tilewright::runtime {

void transform_by_pairs(const FourierPass& pass, const void* from, void* to, double factor) {
    call_pocketfft(pass, from, to, factor);
}

} // namespace tilewright::runtime
