// translator/ir/dtypes.h: NumPy's dtypes and the Halide types that carry them.
#pragma once

#include <cstdint>
#include <string>

#include "Halide.h"
#include "dsl/base/dtypes.h"

namespace tilewright::translator {

/// Of complex64 and complex128: the dtype of their halves.
std::string real_dtype(const std::string& complex);
/// Whether kernels can compute with it: not float16 and not complex.
bool has_kernels(const DTypeInfo& dtype);
/// The type of expressions: bool is UInt(1).
Halide::Type value_type(const DTypeInfo& dtype);
/// The type of elements in memory: bool is UInt(8).
Halide::Type storage_type(const DTypeInfo& dtype);
/// Throws InternalError for a name without kernels.
Halide::Type value_type(const std::string& dtype);
Halide::Type storage_type(const std::string& dtype);

/// A constant with exactly these bits. NaN and -0.0 are hidden from Halide's comparison of constants, to which NaN
/// equals everything and -0.0 equals 0.0.
Halide::Expr float_constant(Halide::Type type, double value);
/// `value` modulo 2^bits.
Halide::Expr integer_constant(Halide::Type type, std::uint64_t value);
Halide::Expr lowest(Halide::Type type);  ///< -inf for floats
Halide::Expr highest(Halide::Type type); ///< inf for floats

} // namespace tilewright::translator
