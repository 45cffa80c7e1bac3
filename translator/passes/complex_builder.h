// translator/passes/complex_builder.h: writes operations on floats as formulas: a * b - c * d.
#pragma once

#include <string>
#include <vector>

#include "translator/ir/builder.h"

namespace tilewright::translator {

class ComplexBuilder;

/// A value of the program that is being written, with operators that append operations.
struct Value {
    ComplexBuilder* builder = nullptr;
    std::string name;

    /// An elementwise operation.
    static Value call(Op op, const std::vector<Value>& operands);

    friend Value operator+(const Value& a, const Value& b) { return call(Op::add, {a, b}); }
    friend Value operator-(const Value& a, const Value& b) { return call(Op::subtract, {a, b}); }
    friend Value operator*(const Value& a, const Value& b) { return call(Op::multiply, {a, b}); }
    friend Value operator/(const Value& a, const Value& b) { return call(Op::divide, {a, b}); }
    friend Value operator<(const Value& a, const Value& b) { return call(Op::less, {a, b}); }
    friend Value operator>(const Value& a, const Value& b) { return call(Op::greater, {a, b}); }
    friend Value operator<=(const Value& a, const Value& b) { return call(Op::less_equal, {a, b}); }
    friend Value operator>=(const Value& a, const Value& b) { return call(Op::greater_equal, {a, b}); }
    friend Value operator==(const Value& a, const Value& b) { return call(Op::equal, {a, b}); }
    friend Value operator!=(const Value& a, const Value& b) { return call(Op::not_equal, {a, b}); }
    friend Value operator&(const Value& a, const Value& b) { return call(Op::logical_and, {a, b}); }
    friend Value operator|(const Value& a, const Value& b) { return call(Op::logical_or, {a, b}); }
    friend Value operator^(const Value& a, const Value& b) { return call(Op::logical_xor, {a, b}); }
    friend Value operator-(const Value& a) { return call(Op::negative, {a}); }
    friend Value operator!(const Value& a) { return call(Op::logical_not, {a}); }
};

/// A complex number as two floats.
struct Complex {
    Value real;
    Value imag;
};

/// Appends each operation once where it is visible; temporaries are %N.
class ComplexBuilder : public Builder {
  public:
    using Builder::Builder;

    /// What follows is for one operation of the source.
    void begin(int line);

    Value value(const std::string& name) { return {this, name}; }
    /// An elementwise operation: its shape is what the operands broadcast to.
    Value apply(Op op, const std::vector<Value>& operands);
    /// Any other: `type` is the result's.
    Value make(Op op, std::vector<std::string> operands, const Type& type, const Attributes& attributes = {});
    Value constant(const std::string& literal, const std::string& dtype);
    /// `value` under a name that no other value has, as far as it can be a stage: what was made since begin() is
    /// renamed, older temporaries are copied.
    Value named(const Value& value, const std::string& wish);
    /// The same under exactly this name, which is taken for it.
    void name(const Value& value, const std::string& name);

  private:
    std::size_t begin_ = 0; ///< the first operation since begin() in the open block
};

/// A NumPy function of one operand.
inline Value call(Op op, const Value& a) {
    return Value::call(op, {a});
}
inline Value hypot(const Value& a, const Value& b) {
    return Value::call(Op::hypot, {a, b});
}
inline Value where(const Value& condition, const Value& yes, const Value& no) {
    return Value::call(Op::where, {condition, yes, no});
}
/// A constant of `like`'s dtype.
Value constant(const Value& like, const std::string& literal);

/// a where the condition holds, else b, in both halves.
Complex where(const Value& condition, const Complex& a, const Complex& b);

} // namespace tilewright::translator
