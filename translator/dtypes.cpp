// translator/dtypes.cpp: the table of dtypes, and constants with exact bits.
#include "translator/dtypes.h"

#include <bit>
#include <cmath>
#include <limits>

#include "dsl/base/error.h"

namespace tilewright::translator {
namespace {

constexpr DType kDTypes[] = {
    {"bool", Kind::boolean, 8},
    {"int8", Kind::signed_integer, 8},
    {"int16", Kind::signed_integer, 16},
    {"int32", Kind::signed_integer, 32},
    {"int64", Kind::signed_integer, 64},
    {"uint8", Kind::unsigned_integer, 8},
    {"uint16", Kind::unsigned_integer, 16},
    {"uint32", Kind::unsigned_integer, 32},
    {"uint64", Kind::unsigned_integer, 64},
    {"float16", Kind::floating, 16},
    {"float32", Kind::floating, 32},
    {"float64", Kind::floating, 64},
    {"complex64", Kind::complex_number, 64},
    {"complex128", Kind::complex_number, 128},
};

const DType& known(const std::string& name) {
    const DType* dtype = find_dtype(name);
    if (dtype == nullptr || !has_kernels(*dtype))
        throw InternalError("dtype " + name + ": has no Halide type; callers refuse it before.");
    return *dtype;
}

} // namespace

const DType* find_dtype(const std::string& name) {
    for (const DType& dtype : kDTypes) {
        if (name == dtype.name) return &dtype;
    }
    return nullptr;
}

std::string real_dtype(const std::string& complex) {
    return complex == "complex64" ? "float32" : "float64";
}

bool has_kernels(const DType& dtype) {
    return dtype.kind != Kind::complex_number && !(dtype.kind == Kind::floating && dtype.bits == 16);
}

Halide::Type value_type(const DType& dtype) {
    switch (dtype.kind) {
    case Kind::boolean:
        return Halide::Bool();
    case Kind::signed_integer:
        return Halide::Int(dtype.bits);
    case Kind::unsigned_integer:
        return Halide::UInt(dtype.bits);
    default:
        return Halide::Float(dtype.bits);
    }
}

Halide::Type storage_type(const DType& dtype) {
    return dtype.kind == Kind::boolean ? Halide::UInt(8) : value_type(dtype);
}

Halide::Type value_type(const std::string& dtype) {
    return value_type(known(dtype));
}
Halide::Type storage_type(const std::string& dtype) {
    return storage_type(known(dtype));
}

Halide::Expr float_constant(Halide::Type type, double value) {
    bool hidden = std::isnan(value) || (value == 0 && std::signbit(value));
    if (!hidden) return Halide::Internal::FloatImm::make(type, value);
    if (type.bits() == 32) {
        auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
        return Halide::reinterpret(type, Halide::Internal::UIntImm::make(Halide::UInt(32), bits));
    }
    return Halide::reinterpret(type,
                               Halide::Internal::UIntImm::make(Halide::UInt(64), std::bit_cast<std::uint64_t>(value)));
}

Halide::Expr integer_constant(Halide::Type type, std::uint64_t value) {
    if (type.bits() < 64) value &= (std::uint64_t{1} << type.bits()) - 1;
    if (type.is_uint()) return Halide::Internal::UIntImm::make(type, value);
    int shift = 64 - type.bits();
    return Halide::Internal::IntImm::make(type, static_cast<std::int64_t>(value << shift) >> shift);
}

Halide::Expr lowest(Halide::Type type) {
    if (type.is_float()) return float_constant(type, -std::numeric_limits<double>::infinity());
    if (type.is_uint()) return integer_constant(type, 0);
    return integer_constant(type, std::uint64_t{1} << (type.bits() - 1));
}

Halide::Expr highest(Halide::Type type) {
    if (type.is_float()) return float_constant(type, std::numeric_limits<double>::infinity());
    if (type.is_uint()) return integer_constant(type, ~std::uint64_t{0});
    return integer_constant(type, (std::uint64_t{1} << (type.bits() - 1)) - 1);
}

} // namespace tilewright::translator
