// dsl/runtime/compiled_size.h: size expressions (dsl/base/size_expression.h) made ready for every call of a plan.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dsl/base/size_expression.h"

namespace tilewright::runtime {

/// An expression ready to be evaluated in nanoseconds: postfix code, with the usual shapes (constant, symbol,
/// symbol compared with a constant) told apart first.
class CompiledSize {
  public:
    /// `slot` maps a symbol to its index; it throws for an unknown one.
    /// Throws std::invalid_argument for an expression that needs a deeper stack than evaluation has.
    static CompiledSize compile(const SizeExpression& expression, const std::function<int(const std::string&)>& slot);

    /// False when it overflows int64 or divides by zero; `result` is then unspecified.
    bool evaluate(const std::int64_t* symbols, std::int64_t& result) const {
        switch (shape_) {
        case Shape::constant:
            result = constant_;
            return true;
        case Shape::symbol:
            result = symbols[symbol_];
            return true;
        case Shape::compare_constant:
            result = compare(compare_, symbols[symbol_], constant_);
            return true;
        case Shape::compare_symbol:
            result = compare(compare_, symbols[symbol_], symbols[constant_]);
            return true;
        case Shape::compare_sum: {
            std::int64_t total = 0;
            if (!sum(symbols, total)) return false;
            result = compare(compare_, total, constant_);
            return true;
        }
        case Shape::code:
            break;
        }
        return run(symbols, result);
    }
    bool holds(const std::int64_t* symbols) const {
        std::int64_t result = 0;
        return evaluate(symbols, result) && result != 0;
    }
    bool is_constant() const { return shape_ == Shape::constant; }

  private:
    using Op = SizeExpression::Op;
    enum class Shape : std::uint8_t { constant, symbol, compare_constant, compare_symbol, compare_sum, code };
    struct Instruction {
        Op op;
        std::int64_t operand;
    };
    static constexpr int kStack = 256; ///< values at a time

    /// The products of `factors_`, added up.
    bool sum(const std::int64_t* symbols, std::int64_t& total) const {
        std::int64_t product = 1;
        for (int factor : factors_) {
            if (factor != kEndOfProduct) {
                if (__builtin_mul_overflow(product, symbols[factor], &product)) return false;
                continue;
            }
            if (__builtin_add_overflow(total, product, &total)) return false;
            product = 1;
        }
        return true;
    }
    bool run(const std::int64_t* symbols, std::int64_t& result) const;
    bool append_sum(const SizeExpression& expression, const std::function<int(const std::string&)>& slot);
    bool append_product(const SizeExpression& expression, const std::function<int(const std::string&)>& slot);
    /// `below` values lie on the stack already.
    void append(const SizeExpression& expression, const std::function<int(const std::string&)>& slot, int below);

    Shape shape_ = Shape::constant;
    Op compare_ = Op::eq;
    int symbol_ = 0;
    std::int64_t constant_ = 0;
    static constexpr int kEndOfProduct = -1;
    std::vector<int> factors_; ///< of compare_sum: the symbols of each product
    std::vector<Instruction> code_;
};

} // namespace tilewright::runtime
