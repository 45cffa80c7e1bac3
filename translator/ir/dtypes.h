// translator/ir/dtypes.h: NumPy's dtypes and the Halide types that carry them.
#pragma once

#include <cstdint>
#include <string>

#include "Halide.h"
#include "dsl/base/dtypes.h"

namespace tilewright::translator {

/// Of complex64 and complex128: the dtype of their halves.
std::string real_dtype(const std::string& complex);
/// Whether kernels can compute with it: not with complex numbers, only with their halves.
bool has_kernels(const DTypeInfo& dtype);
/// The type of expressions: bool is UInt(1), float16 is Float(32) with values of float16.
Halide::Type value_type(const DTypeInfo& dtype);
/// The type of elements in memory: bool is UInt(8), float16 is UInt(16).
Halide::Type storage_type(const DTypeInfo& dtype);
/// Throws InternalError for a name without kernels.
Halide::Type value_type(const std::string& dtype);
Halide::Type storage_type(const std::string& dtype);
/// What reductions and loops keep partial results of it in: the dtype itself, but for float16, of which they keep
/// float32 and round it at the end, as NumPy does.
const DTypeInfo& accumulator(const DTypeInfo& dtype);

/// An element of memory as a value, and a value as an element of memory.
Halide::Expr from_memory(const Halide::Expr& element, const DTypeInfo& dtype);
Halide::Expr to_memory(const Halide::Expr& value, const DTypeInfo& dtype);

/// A constant with exactly these bits. NaN and -0.0 are hidden from Halide's comparison of constants, to which NaN
/// equals everything and -0.0 equals 0.0.
Halide::Expr float_constant(Halide::Type type, double value);
/// `value` modulo 2^bits.
Halide::Expr integer_constant(Halide::Type type, std::uint64_t value);
Halide::Expr lowest(Halide::Type type);  ///< -inf for floats
Halide::Expr highest(Halide::Type type); ///< inf for floats

} // namespace tilewright::translator
