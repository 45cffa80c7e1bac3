// dsl/runtime/dtype.h: the element types that plans name, with NumPy's names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tilewright::runtime {

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
    complex128
};
inline constexpr int kDTypeCount = 13;

struct DTypeInfo {
    std::string_view name;   ///< NumPy's
    std::string_view c_name; ///< in a C prototype
    int bytes;
    std::uint8_t halide_code; ///< halide_type_code_t; complex elements travel as opaque unsigned words
    std::uint8_t halide_bits;
};

inline constexpr DTypeInfo kDTypes[kDTypeCount] = {
    {"bool", "uint8_t", 1, 1, 8},
    {"int8", "int8_t", 1, 0, 8},
    {"int16", "int16_t", 2, 0, 16},
    {"int32", "int32_t", 4, 0, 32},
    {"int64", "int64_t", 8, 0, 64},
    {"uint8", "uint8_t", 1, 1, 8},
    {"uint16", "uint16_t", 2, 1, 16},
    {"uint32", "uint32_t", 4, 1, 32},
    {"uint64", "uint64_t", 8, 1, 64},
    {"float32", "float", 4, 2, 32},
    {"float64", "double", 8, 2, 64},
    {"complex64", "struct tw_complex64", 8, 1, 64},
    {"complex128", "struct tw_complex128", 16, 1, 128},
};

inline constexpr const DTypeInfo& info(DType dtype) {
    return kDTypes[static_cast<int>(dtype)];
}

inline std::optional<DType> dtype_named(std::string_view name) {
    for (int i = 0; i < kDTypeCount; ++i)
        if (kDTypes[i].name == name) return static_cast<DType>(i);
    return std::nullopt;
}

} // namespace tilewright::runtime
