// python/native/face/fourier_calls.h: the calls of numpy.fft that dsl/runtime/twins computes.
#pragma once

#include "dsl/runtime/twins/fourier.h"
#include "python/native/face/twin_calls.h"

namespace tilewright::face {

/// numpy.fft.fft(a, n=None, axis=-1, norm=None, out=None) and the like.
template <runtime::Fourier kind, bool forward> Ref fourier_along(TwinCall given);
/// numpy.fft.fftn(a, s=None, axes=None, norm=None, out=None) and the like; `planes`: over the last two axes.
template <runtime::Fourier kind, bool forward, bool planes> Ref fourier_over(TwinCall given);

} // namespace tilewright::face
