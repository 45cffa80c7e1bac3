// dsl/base/dtypes.h: the element types of arrays, with NumPy's names. Header-only, so that the compiler and the
// runtime, which share no library, share it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tilewright {

/// Numbers of C's enum tw_dtype.
enum class DType : std::uint8_t {
    boolean,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float32,
    float64,
    complex64,
    complex128,
    float16
};
inline constexpr int kDTypeCount = 14;

enum class DTypeKind : std::uint8_t { boolean, signed_integer, unsigned_integer, floating, complex_number };

struct DTypeInfo {
    DType dtype;
    std::string_view name; ///< NumPy's
    DTypeKind kind;
    int bytes;               ///< of an element in memory
    DType part;              ///< of a complex number the dtype of its halves, else the dtype itself
    std::string_view c_name; ///< in a C prototype
    /// halide_type_code_t and bits of an element in memory; complex elements travel as opaque unsigned words, and so do
    /// those of float16, which kernels compute with as float32 (dsl/passes/half_floats.cpp).
    std::uint8_t halide_code;
    std::uint8_t halide_bits;

    constexpr int bits() const { return 8 * bytes; }
    constexpr bool is_integer() const {
        return kind == DTypeKind::signed_integer || kind == DTypeKind::unsigned_integer;
    }
    /// bool and integers of up to 16 bits, beside which wider values decide how long vectors are.
    constexpr bool is_narrow() const { return bytes <= 2 && kind != DTypeKind::floating; }
    constexpr bool is_complex() const { return kind == DTypeKind::complex_number; }
};

inline constexpr DTypeInfo kDTypes[] = {
    {DType::boolean, "bool", DTypeKind::boolean, 1, DType::boolean, "uint8_t", 1, 8},
    {DType::int8, "int8", DTypeKind::signed_integer, 1, DType::int8, "int8_t", 0, 8},
    {DType::int16, "int16", DTypeKind::signed_integer, 2, DType::int16, "int16_t", 0, 16},
    {DType::int32, "int32", DTypeKind::signed_integer, 4, DType::int32, "int32_t", 0, 32},
    {DType::int64, "int64", DTypeKind::signed_integer, 8, DType::int64, "int64_t", 0, 64},
    {DType::uint8, "uint8", DTypeKind::unsigned_integer, 1, DType::uint8, "uint8_t", 1, 8},
    {DType::uint16, "uint16", DTypeKind::unsigned_integer, 2, DType::uint16, "uint16_t", 1, 16},
    {DType::uint32, "uint32", DTypeKind::unsigned_integer, 4, DType::uint32, "uint32_t", 1, 32},
    {DType::uint64, "uint64", DTypeKind::unsigned_integer, 8, DType::uint64, "uint64_t", 1, 64},
    {DType::float32, "float32", DTypeKind::floating, 4, DType::float32, "float", 2, 32},
    {DType::float64, "float64", DTypeKind::floating, 8, DType::float64, "double", 2, 64},
    {DType::complex64, "complex64", DTypeKind::complex_number, 8, DType::float32, "struct tw_complex64", 1, 64},
    {DType::complex128, "complex128", DTypeKind::complex_number, 16, DType::float64, "struct tw_complex128", 1, 128},
    {DType::float16, "float16", DTypeKind::floating, 2, DType::float16, "uint16_t", 1, 16},
};

constexpr const DTypeInfo& info(DType dtype) {
    return kDTypes[static_cast<int>(dtype)];
}

/// nullptr for what is no dtype.
constexpr const DTypeInfo* find_dtype(std::string_view name) {
    for (const DTypeInfo& each : kDTypes)
        if (each.name == name) return &each;
    return nullptr;
}

constexpr std::optional<DType> dtype_named(std::string_view name) {
    const DTypeInfo* const found = find_dtype(name);
    return found == nullptr ? std::nullopt : std::optional(found->dtype);
}

} // namespace tilewright
