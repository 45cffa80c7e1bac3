// translator/ops/rules.cpp: the list. One line an operation, with what NumPy means by it.
#include "translator/ops/rules.h"

namespace tilewright::translator {

const std::vector<Rule>& rules() {
    using enum Signature;
    static const std::vector<Rule> list = {
        // arithmetic: IEEE, round to nearest; integers wrap; on bool add is or, multiply is and
        {"add", 2, same, 1, ops::add},
        {"subtract", 2, numbers, 1, ops::subtract},
        {"multiply", 2, same, 1, ops::multiply},
        {"divide", 2, floats, 4, ops::divide},               // x/0 is +-inf or NaN
        {"floor_divide", 2, numbers, 20, ops::floor_divide}, // integers: x//0 is 0, MIN//-1 is MIN
        {"remainder", 2, numbers, 20, ops::remainder},       // sign of the divisor; integers: x%0 is 0
        {"negative", 1, numbers, 1, ops::negative},          // flips the sign bit, of NaN too; MIN stays MIN
        {"positive", 1, numbers, 0, ops::positive},
        {"absolute", 1, same, 1, ops::absolute}, // clears the sign bit; MIN stays MIN
        {"sign", 1, numbers, 2, ops::sign},      // of -0.0 is 0.0, of NaN NaN
        {"sqrt", 1, floats, 4, ops::square_root},
        {"square", 1, numbers, 1, ops::square},
        {"reciprocal", 1, numbers, 4, ops::reciprocal}, // integers: 1/x as float64, cut to the dtype
        {"power", 2, numbers, 20, ops::power},          // integers wrap; see power() for negative exponents
        // comparison: false where either side is NaN, except not_equal
        {"equal", 2, compare, 1, ops::equal},
        {"not_equal", 2, compare, 1, ops::not_equal},
        {"less", 2, compare, 1, ops::less},
        {"less_equal", 2, compare, 1, ops::less_equal},
        {"greater", 2, compare, 1, ops::greater},
        {"greater_equal", 2, compare, 1, ops::greater_equal},
        // hypot(a, b) < h and so on for a single h, to the bit, but without a square root
        {"magnitude_less", 3, magnitude, 4, ops::magnitude_less},
        {"magnitude_less_equal", 3, magnitude, 4, ops::magnitude_less_equal},
        {"magnitude_greater", 3, magnitude, 6, ops::magnitude_greater},
        {"magnitude_greater_equal", 3, magnitude, 6, ops::magnitude_greater_equal},
        // truth: x != 0, so NaN is true
        {"logical_and", 2, compare, 1, ops::logical_and},
        {"logical_or", 2, compare, 1, ops::logical_or},
        {"logical_xor", 2, compare, 1, ops::logical_xor},
        {"logical_not", 1, test, 1, ops::logical_not},
        {"isnan", 1, test, 1, ops::is_nan},
        {"isinf", 1, test, 1, ops::is_inf},
        {"isfinite", 1, test, 1, ops::is_finite},
        {"signbit", 1, float_test, 1, ops::sign_bit}, // of -0.0 and of negative NaN true
        // bits
        {"bitwise_and", 2, bits, 1, ops::bitwise_and},
        {"bitwise_or", 2, bits, 1, ops::bitwise_or},
        {"bitwise_xor", 2, bits, 1, ops::bitwise_xor},
        {"invert", 1, bits, 1, ops::invert},               // on bool: not
        {"left_shift", 2, integers, 2, ops::left_shift},   // 0 beyond the width and for negative counts
        {"right_shift", 2, integers, 2, ops::right_shift}, // 0 or -1 beyond the width and for negative counts
        // rounding: keeps -0.0, infinities and NaN; integers stay
        {"floor", 1, same, 1, ops::floor},
        {"ceil", 1, same, 1, ops::ceil},
        {"trunc", 1, same, 1, ops::trunc},
        {"rint", 1, floats, 1, ops::rint}, // halves to even
        {"copysign", 2, floats, 2, ops::copysign},
        // selection: maximum and minimum give NaN where either side is, fmax and fmin only where both are
        {"maximum", 2, same, 2, ops::maximum},
        {"minimum", 2, same, 2, ops::minimum},
        {"fmax", 2, same, 2, ops::fmax},
        {"fmin", 2, same, 2, ops::fmin},
        {"where", 3, choose, 1, ops::where},
        // PCG64: the halves of the state (a, b) with increment (c, d) after n steps; the word that the state drew which
        // is
        // (a, b) + step (e, f), where (e, f) = 1 + m + ... + m^(n-1) for n steps: pcg64_high(0, 0, 0, 1, n),
        // pcg64_low(0, 1, n)
        {"pcg64_high", 5, words, 1500, ops::pcg64_high},
        {"pcg64_low", 3, words, 250, ops::pcg64_low},
        {"pcg64_word", 6, words, 40, ops::pcg64_word},
        // astype: floats to integers truncate; NaN and what does not fit as NumPy on x86-64
        {"cast", 1, convert, 1, ops::cast},
    };
    return list;
}

const Rule* find_rule(const std::string& name) {
    for (const Rule& rule : rules()) {
        if (name == rule.name) return &rule;
    }
    return nullptr;
}

const ElementaryRule* find_elementary(const std::string& name) {
    static const ElementaryRule list[] = {
        {"exp", 1},    {"exp2", 1},   {"expm1", 1},   {"log", 1},   {"log2", 1}, {"log10", 1}, {"log1p", 1},
        {"sin", 1},    {"cos", 1},    {"tan", 1},     {"sinh", 1},  {"cosh", 1}, {"tanh", 1},  {"arcsin", 1},
        {"arccos", 1}, {"arctan", 1}, {"arctan2", 2}, {"hypot", 2}, {"cbrt", 1},
    };
    for (const ElementaryRule& rule : list) {
        if (name == rule.name) return &rule;
    }
    return nullptr;
}

} // namespace tilewright::translator
