// python/native/face/sizes.cpp: size expressions for Python, which computes with integers of any length.
#include <optional>
#include <stdexcept>
#include <string_view>

#include "dsl/base/size_expression.h"
#include "python/native/face/face_types.h"
#include "python/native/face/texts.h"

namespace tilewright::face {
namespace {

using Op = SizeExpression::Op;

/// nullopt with a ValueError set.
std::optional<SizeExpression> parse(PyObject* text) {
    Py_ssize_t size = 0;
    const char* const data = PyUnicode_AsUTF8AndSize(text, &size);
    if (!data) return std::nullopt;
    try {
        return parse_condition(std::string_view(data, static_cast<std::size_t>(size)));
    } catch (const std::invalid_argument& error) {
        PyErr_Format(PyExc_ValueError, "size expression: %R is not arithmetic on sizes: %s.", text, error.what());
        return std::nullopt;
    }
}

/// 1, 0, or -1 with an error set.
int truth(const Ref& value) {
    return value ? PyObject_IsTrue(value.get()) : -1;
}

Ref number(int truth) {
    return truth < 0 ? Ref() : Ref(PyLong_FromLong(truth));
}

Ref evaluate(const SizeExpression& e, PyObject* sizes);

/// `and` and `or`, the right side only where the left one does not decide.
Ref join(const SizeExpression& e, const Ref& left, PyObject* sizes) {
    const int first = truth(left);
    const bool decides = first == (e.op() == Op::logical_or ? 1 : 0);
    return first < 0 || decides ? number(first) : number(truth(evaluate(e.operands()[1], sizes)));
}

Ref compute(Op op, PyObject* a, PyObject* b) {
    // In the order of Op.
    static_assert(static_cast<int>(Op::mod) - static_cast<int>(Op::add) == 4);
    static_assert(static_cast<int>(Op::ge) - static_cast<int>(Op::min) == 7);
    static constexpr binaryfunc kArithmetic[] = {PyNumber_Add, PyNumber_Subtract, PyNumber_Multiply,
                                                 PyNumber_FloorDivide, PyNumber_Remainder};
    static constexpr int kComparisons[] = {Py_LE, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE, Py_GT, Py_GE};
    if (op <= Op::mod) return Ref(kArithmetic[static_cast<int>(op) - static_cast<int>(Op::add)](a, b));
    const int holds = PyObject_RichCompareBool(a, b, kComparisons[static_cast<int>(op) - static_cast<int>(Op::min)]);
    if (op != Op::min && op != Op::max) return number(holds);
    return holds < 0 ? Ref() : Ref::borrowed(holds ? a : b);
}

/// Nothing with an error set.
Ref evaluate(const SizeExpression& e, PyObject* sizes) {
    if (e.op() == Op::integer) return Ref(PyLong_FromLongLong(e.constant()));
    if (e.op() == Op::symbol) {
        const Ref name = unicode(e.name());
        const Ref value(name ? PyObject_GetItem(sizes, name.get()) : nullptr);
        return Ref(value ? PyNumber_Index(value.get()) : nullptr);
    }
    const Ref left = evaluate(e.operands()[0], sizes);
    if (!left) return Ref();
    if (e.op() == Op::neg) return Ref(PyNumber_Negative(left.get()));
    if (e.op() == Op::logical_not) return number(PyObject_Not(left.get()));
    if (e.op() == Op::logical_and || e.op() == Op::logical_or) return join(e, left, sizes);
    const Ref right = evaluate(e.operands()[1], sizes);
    return right ? compute(e.op(), left.get(), right.get()) : Ref();
}

} // namespace

PyObject* evaluate_size(PyObject*, PyObject* args) {
    PyObject *text = nullptr, *sizes = nullptr;
    if (!PyArg_ParseTuple(args, "UO:evaluate_size", &text, &sizes)) return nullptr;
    const std::optional<SizeExpression> size = parse(text);
    return size ? evaluate(*size, sizes).release() : nullptr;
}

PyObject* size_symbols(PyObject*, PyObject* text) {
    const std::optional<SizeExpression> size = parse(text);
    return size ? tuple_of(size->symbols()).release() : nullptr;
}

} // namespace tilewright::face
