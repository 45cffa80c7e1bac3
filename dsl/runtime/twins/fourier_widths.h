// dsl/runtime/twins/fourier_widths.h: the transform of one thread, for two widths of vectors: the bits are the same.
#pragma once

#include "dsl/runtime/twins/fourier.h"

namespace tilewright::runtime {

/// Two rows at once, which every x86-64 can.
void transform_by_pairs(const FourierPass& pass, const void* from, void* to, double factor);
/// Four rows at once, by AVX2.
void transform_by_fours(const FourierPass& pass, const void* from, void* to, double factor);

} // namespace tilewright::runtime
