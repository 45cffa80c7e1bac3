// translator/ir/dtypes.cpp: the Halide types of dtypes, and constants with exact bits.
#include "translator/ir/dtypes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "dsl/base/error.h"
#include "dsl/passes/markers.h"

namespace tilewright::translator {
namespace {

const DTypeInfo& known(const std::string& name) {
    const DTypeInfo* dtype = find_dtype(name);
    if (dtype == nullptr || !has_kernels(*dtype))
        throw InternalError("dtype " + name + ": has no Halide type; callers refuse it before.");
    return *dtype;
}

} // namespace

std::string real_dtype(const std::string& complex) {
    return std::string(info(find_dtype(complex)->part).name);
}

bool has_kernels(const DTypeInfo& dtype) {
    return !dtype.is_complex();
}

Halide::Type value_type(const DTypeInfo& dtype) {
    switch (dtype.kind) {
    case DTypeKind::boolean:
        return Halide::Bool();
    case DTypeKind::signed_integer:
        return Halide::Int(dtype.bits());
    case DTypeKind::unsigned_integer:
        return Halide::UInt(dtype.bits());
    default:
        return Halide::Float(std::max(32, dtype.bits()));
    }
}

Halide::Type storage_type(const DTypeInfo& dtype) {
    if (dtype.dtype == DType::float16) return Halide::UInt(16);
    return dtype.kind == DTypeKind::boolean ? Halide::UInt(8) : value_type(dtype);
}

const DTypeInfo& accumulator(const DTypeInfo& dtype) {
    return dtype.dtype == DType::float16 ? info(DType::float32) : dtype;
}

Halide::Expr from_memory(const Halide::Expr& element, const DTypeInfo& dtype) {
    const Halide::Type type = value_type(dtype);
    if (element.type() == type) return element; // partial results of float16 too
    if (dtype.dtype == DType::float16) return dsl::half_to_float(element);
    // Accumulators of signed integers are unsigned in memory; bool is a byte.
    return type.is_bool() ? element != Halide::Internal::make_zero(element.type()) : Halide::cast(type, element);
}

Halide::Expr to_memory(const Halide::Expr& value, const DTypeInfo& dtype) {
    if (dtype.dtype == DType::float16) return dsl::float_to_half(value);
    return dtype.kind == DTypeKind::boolean ? Halide::cast<uint8_t>(value) : value;
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
    const std::uint64_t bits = type.bits() == 32 ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                                                 : std::bit_cast<std::uint64_t>(value);
    return Halide::reinterpret(type, Halide::Internal::UIntImm::make(Halide::UInt(type.bits()), bits));
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
