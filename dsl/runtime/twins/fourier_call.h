// dsl/runtime/twins/fourier_call.h: one pass by the pocketfft that was included before, under its own name or another.
#pragma once

#include "dsl/runtime/twins/fourier.h"

namespace tilewright::runtime {
namespace {

void call_pocketfft(const FourierPass& pass, const void* from, void* to, double factor) {
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
} // namespace tilewright::runtime
