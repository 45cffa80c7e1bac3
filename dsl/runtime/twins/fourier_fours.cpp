// dsl/runtime/twins/fourier_fours.cpp: pocketfft for AVX2, which has no joined additions: the bits stay. What is of the
// standard library comes before, so that no function of it that others share is made of AVX2.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <complex>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <queue>
#include <stdexcept>
#include <thread>
#include <vector>

#include <pthread.h>

#include "dsl/runtime/twins/fourier_widths.h"

#pragma GCC push_options
#pragma GCC target("avx2")
#define __AVX__ // by which pocketfft tells; compilers read the whole file before they see to the line above
#define pocketfft pocketfft_by_fours // its functions are others than those of the plain one
#define POCKETFFT_CACHE_SIZE 16
#define POCKETFFT_NO_MULTITHREADING
#include <pocketfft_hdronly.h>
#undef __AVX__

#include "dsl/runtime/twins/fourier_call.h"

namespace tilewright::runtime {

void transform_by_fours(const FourierPass& pass, const void* from, void* to, double factor) {
    static_assert(pocketfft::detail::VLEN<double>::val == 4);
    call_pocketfft(pass, from, to, factor);
}

} // namespace tilewright::runtime
#pragma GCC pop_options
