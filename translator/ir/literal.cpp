// translator/ir/literal.cpp: reading the literals of `const`.
#include "translator/ir/literal.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "dsl/base/half.h"
#include "translator/ir/dtypes.h"

namespace tilewright::translator {
namespace {

template <class T> bool parse(std::string_view text, T& out) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size();
}

bool parse_float(std::string_view text, double& out) {
    if (text.empty() || text.front() == '+') return false;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (end != text.data() + text.size()) return false;
    // from_chars leaves `out` alone where the value over- or underflows; strtod rounds.
    if (error == std::errc::result_out_of_range) out = std::strtod(std::string(text).c_str(), nullptr);
    return error == std::errc() || error == std::errc::result_out_of_range;
}

bool fits(const DTypeInfo& dtype, std::string_view text, std::uint64_t& bits) {
    if (dtype.kind == DTypeKind::unsigned_integer) {
        if (!parse(text, bits)) return false;
        return dtype.bits() == 64 || bits >> dtype.bits() == 0;
    }
    std::int64_t value = 0;
    if (!parse(text, value)) return false;
    bits = static_cast<std::uint64_t>(value);
    std::int64_t limit =
        dtype.bits() == 64 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << (dtype.bits() - 1)) - 1;
    return value <= limit && value >= -limit - 1;
}

/// The halves of a complex literal, which may be real, imaginary or both.
std::optional<std::pair<std::string, std::string>> complex_halves(std::string_view text) {
    double part = 0;
    if (parse_float(text, part)) return std::pair(std::string(text), std::string("0.0"));
    if (text.empty() || text.back() != 'j') return std::nullopt;
    text.remove_suffix(1);
    if (parse_float(text, part)) return std::pair(std::string("0.0"), std::string(text));
    for (std::size_t k = 1; k < text.size(); ++k) {
        bool sign = (text[k] == '+' || text[k] == '-') && text[k - 1] != 'e';
        if (!sign) continue;
        std::string_view imaginary = text.substr(text[k] == '+' ? k + 1 : k);
        if (parse_float(text.substr(0, k), part) && parse_float(imaginary, part))
            return std::pair(std::string(text.substr(0, k)), std::string(imaginary));
    }
    return std::nullopt;
}

} // namespace

bool is_literal(const std::string& text, const std::string& name) {
    const DTypeInfo* dtype = find_dtype(name);
    if (dtype == nullptr) return false;
    double real = 0;
    std::uint64_t bits = 0;
    switch (dtype->kind) {
    case DTypeKind::boolean:
        return text == "true" || text == "false";
    case DTypeKind::signed_integer:
    case DTypeKind::unsigned_integer:
        return fits(*dtype, text, bits);
    case DTypeKind::floating:
        return parse_float(text, real);
    case DTypeKind::complex_number:
        return complex_halves(text).has_value();
    }
    return false;
}

std::pair<std::string, std::string> halves_of(const std::string& text) {
    return *complex_halves(text);
}

Halide::Expr literal(const std::string& text, const std::string& name) {
    const DTypeInfo& dtype = *find_dtype(name);
    if (dtype.kind == DTypeKind::boolean)
        return text == "true" ? Halide::Internal::const_true() : Halide::Internal::const_false();
    if (dtype.kind == DTypeKind::floating) {
        double value = 0;
        parse_float(text, value);
        if (dtype.dtype == DType::float16) value = static_cast<double>(half_value(half_bits(value)));
        return float_constant(value_type(dtype), value);
    }
    std::uint64_t bits = 0;
    fits(dtype, text, bits);
    return integer_constant(value_type(dtype), bits);
}

} // namespace tilewright::translator
