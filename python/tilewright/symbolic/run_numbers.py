"""Python numbers that only the running function knows: int, float and bool, complex, the truth of a comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..kinds_of_values import LARGEST_INT
from .graph import BOOL, COMPLEX128, FLOAT64, INT64, Value
from .known import known_value
from .number import (
    ComplexOfTheRun,
    RealOfTheRun,
    Symbolic,
    TruthOfTheRun,
    is_numpys,
    later_of,
    refuse_kinds,
)
from .operators import BINARY, operator_pair, python_operator
from .registry import OPERATIONS
from .scalars import SymInt, SymScalar, is_exact_as_float, python_float, size_of
from .size_guards import margin
from .sizes import Size
from .tracer import Tracer

SMALL_STEP = 2**20
# Python's operators of floats, and the operations that compute the same where the divisor is not zero.
_DIVISIONS = {"truediv": "divide", "floordiv": "floor_divide", "mod": "remainder"}

_OF_NUMPY: dict[type, str] = {bool: "np.bool_", int: "np.int64", float: "np.float64"}


class RunScalar(SymScalar, RealOfTheRun):
    """A Python float, int or bool that only the running function knows: no value of the recorded call stands for it.

    `hint` tells its type only. What would need the number itself is an error. Of a float the limits say something where
    they are at most 1: it is a random draw. An int is int64 in the program, which
    Python's is not: between `low` and `high` it is for certain, those of itself as long as it changes by small steps;
    anything else that could leave them is checked.
    """

    __slots__ = ("high", "kinds", "low", "which")

    def __init__(
        self, tracer: Tracer, value: Value, kind: type, low: int = -LARGEST_INT, high: int = LARGEST_INT
    ) -> None:
        super().__init__(tracer, value, kind(1), frozenset())
        self.kinds = frozenset()
        self.which = None
        self.low, self.high = low, high

    def described(self) -> str:
        return f"<{type(self.hint).__name__} of the run>"

    def of_one_kind(self) -> RunScalar:
        return RunScalar(self.tracer, self.value, type(self.hint), self.low, self.high)

    @property
    def is_int(self) -> bool:
        return type(self.hint) is int

    def concrete(self) -> Any:
        known = None if self.kinds else known_value(self.tracer, self.value)
        if known is not None:
            return type(self.hint)(known)
        raise self.tracer.error(
            f"loops: a Python {type(self.hint).__name__} of the run, where its number itself is needed",
            "it is known only when the compiled function runs",
            f"Make it a NumPy scalar ({_OF_NUMPY[type(self.hint)]}(…)), or leave it out of the compiled function.",
        )

    def _compare(self, symbol: str, other: Any) -> Any:
        if self.kinds and isinstance(other, (int, float, SymScalar, SymInt)):
            # Of Python's numbers the truth is Python's, whichever they are.
            return self.of_one_kind()._compare(symbol, other.of_one_kind() if isinstance(other, RunScalar) else other)
        if self.is_int and isinstance(other, (float, SymScalar)) and type(getattr(other, "hint", other)) is float:
            # Python compares the very numbers; up to 2**53 the doubles are they.
            self._exact_as_float()
        elif isinstance(other, RunScalar) and other.is_int and type(self.hint) is float:
            other._exact_as_float()
        if isinstance(other, (int, float, SymScalar, SymInt)) and not isinstance(other, np.generic):
            return RunBool(self.tracer, self._compared(symbol, other).read())
        if isinstance(other, (int, float, Symbolic, np.ndarray, np.generic)):
            return self._compared(symbol, other)
        return NotImplemented

    def _check(self, value: Value, limit: int, message: str = "a Python int beyond 64 bits") -> None:
        """That |value| <= limit."""
        tracer = self.tracer
        size = tracer.add("absolute", (value,), {}, value.dtype, ())
        tracer.check(tracer.truth("less_equal", size, limit), message)

    def _exact_as_float(self) -> None:
        if max(-self.low, self.high) > 2**53:
            self._check(self.value, 2**53, "a Python int beyond 2**53 beside floats")

    def _int_of(self, other: Any) -> RunScalar | None:
        """`other` as an int of the run, None where it is no Python int."""
        tracer = self.tracer
        if isinstance(other, RunScalar):
            if type(other.hint) is bool:
                value = tracer.cast(other.value, INT64)
                return RunScalar(tracer, value, int, 0, 1)
            return other if other.is_int else None
        if isinstance(other, SymInt):
            return RunScalar(tracer, other.of_the_run(), int)
        if isinstance(other, int):
            if abs(other) > LARGEST_INT:
                raise tracer.error(
                    f"loops: {int(other)} beside a run-time int", "a compiled int has 61 bits and a sign",
                    "Use NumPy integers, which wrap.",
                )  # fmt: skip
            return RunScalar(tracer, tracer.constant(other), int, int(other), int(other))
        return None

    def _bounded(self, operation: str, left: RunScalar, right: RunScalar, low: int, high: int) -> RunScalar:
        value = self.tracer.add(operation, (left.value, right.value), {}, INT64, ())
        return RunScalar(self.tracer, value, int, max(low, -LARGEST_INT), min(high, LARGEST_INT))

    def _not_zero(self, divisor: RunScalar) -> None:
        if divisor.low <= 0 <= divisor.high:
            self.tracer.check(self.tracer.truth("not_equal", divisor.value, 0), "a division by zero")

    def _int_arithmetic(self, name: str, a: RunScalar, b: RunScalar) -> Any:
        tracer = self.tracer
        if name in ("add", "sub", "mul"):
            exact = python_operator(name)
            corners = [exact(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
            low, high = min(corners), max(corners)
            result = self._bounded(BINARY[name].__name__, a, b, low, high)
            if low >= -LARGEST_INT and high <= LARGEST_INT:
                return result
            small = min(max(-x.low, x.high) for x in (a, b)) <= SMALL_STEP
            if name != "mul" and small:
                return result  # it would take years of small steps
            if name == "mul":
                # The product of the doubles tells whether that of the integers fits.
                parts = [tracer.cast(x.value, FLOAT64) for x in (a, b)]
                self._check(tracer.add("multiply", parts, {}, FLOAT64, ()), LARGEST_INT // 2)
            else:
                self._check(result.value, LARGEST_INT)
            return result
        if name in ("floordiv", "mod"):
            self._not_zero(b)
            if name == "floordiv":
                most = max(-a.low, a.high)
                return self._bounded("floor_divide", a, b, -most - 1 if a.low < 0 or b.low < 0 else 0, most)
            return self._bounded("remainder", a, b, min(b.low + 1, 0), max(b.high - 1, 0))
        if name == "truediv":
            self._not_zero(b)
            a._exact_as_float()
            b._exact_as_float()
            return RunScalar(tracer, a.as_float_value(), float).divide_unchecked(
                RunScalar(tracer, b.as_float_value(), float), False
            )
        if name == "pow" and b.low == b.high and 0 <= b.low <= 8:
            power: Any = self._int_of(1)
            for _ in range(b.low):
                power = self._int_arithmetic("mul", power, a) if power.low != 1 or power.high != 1 else a
            return power
        if name in ("lshift", "rshift"):
            if b.low < 0 or (name == "lshift" and b.high > 60):
                tracer.check(tracer.truth("greater_equal", b.value, 0), "a negative shift count, or one beyond 60")
            if name == "rshift":
                count = RunScalar(tracer, tracer.add("minimum", (b.value, tracer.constant(63)), {}, INT64, ()), int)
                count = b if b.high <= 63 else count
                return self._bounded("right_shift", a, count, min(a.low, 0), max(a.high, 0))
            if b.high > 60:
                tracer.check(tracer.truth("less_equal", b.value, 60), "a negative shift count, or one beyond 60")
            clamped = b if b.low >= 0 and b.high <= 60 else RunScalar(tracer, self._clamped(b.value, 0, 60), int, 0, 60)
            low, high = min(a.low, a.low << clamped.high), max(a.high, a.high << clamped.high)
            if low < -LARGEST_INT or high > LARGEST_INT:
                room = self._bounded("right_shift", self._int_of(LARGEST_INT), clamped, 0, LARGEST_INT)  # type: ignore[arg-type]
                size = tracer.add("absolute", (a.value,), {}, INT64, ())
                tracer.check(tracer.truth("less_equal", size, room.value), "a Python int beyond 64 bits")
            return self._bounded("left_shift", a, clamped, low, high)
        if name in ("and", "or", "xor"):
            operation = BINARY[name].__name__
            bits = (1 << max(a.high, b.high, 0).bit_length()) - 1
            if name == "and" and (a.low >= 0 or b.low >= 0):
                return self._bounded(operation, a, b, 0, min(x.high for x in (a, b) if x.low >= 0))
            if a.low >= 0 and b.low >= 0:
                return self._bounded(operation, a, b, 0, bits)
            return self._bounded(operation, a, b, -LARGEST_INT, LARGEST_INT)
        return python_operator(name)(a.concrete(), b.concrete())

    def _clamped(self, value: Value, low: int, high: int) -> Value:
        least = self.tracer.add("maximum", (value, self.tracer.constant(low)), {}, INT64, ())
        return self.tracer.add("minimum", (least, self.tracer.constant(high)), {}, INT64, ())

    def _bits(self, other: Any, name: str, swapped: bool) -> Any:
        if type(self.hint) is bool and type(getattr(other, "hint", other)) is bool:
            operands = [self.value, other.value if isinstance(other, SymScalar) else self.tracer.constant(other, BOOL)]
            return RunBool(self.tracer, self.tracer.add(f"logical_{name}", operands, {}, BOOL, ()))
        mine, theirs = self._int_of(self), self._int_of(other)
        if mine is not None and theirs is not None:
            return self._int_arithmetic(name, *((theirs, mine) if swapped else (mine, theirs)))
        if mine is None:
            raise TypeError(f"unsupported operand type(s) for {name}: 'float' and '{type(other).__name__}'")
        return super()._bits(other, name, swapped)

    __lshift__, __rlshift__ = operator_pair("_bits", "lshift")
    __rshift__, __rrshift__ = operator_pair("_bits", "rshift")

    def __invert__(self) -> Any:
        mine = self._int_of(self)
        if mine is None:
            raise TypeError("bad operand type for unary ~: 'float'")
        value = self.tracer.add("invert", (mine.value,), {}, INT64, ())
        return RunScalar(self.tracer, value, int, -mine.high - 1, -mine.low - 1)

    def __neg__(self) -> Any:
        return self._unary("negative", "the negative", lambda mine: (-mine.high, -mine.low))

    def __pos__(self) -> Any:
        return self._int_of(self) or self

    def __abs__(self) -> Any:
        return self._unary("absolute", "the absolute value", lambda mine: (0, max(-mine.low, mine.high)))

    def _unary(self, operation: str, what: str, limits: Callable[[RunScalar], tuple[int, int]]) -> RunScalar:
        """`limits`: between which numbers the result of an int lies."""
        refuse_kinds(self, what)
        mine = self._int_of(self)
        value = self.value if mine is None else mine.value
        made = self.tracer.add(operation, (value,), {}, value.dtype, ())
        return RunScalar(self.tracer, made, float) if mine is None else RunScalar(self.tracer, made, int, *limits(mine))

    def _operand(self, other: Any) -> SymScalar | None:
        if not isinstance(self.hint, int):
            if isinstance(other, RunScalar) and isinstance(other.hint, int):
                return RunScalar(self.tracer, other.as_float_value(), float)
            return super()._operand(other)
        # Among integers alone an integer stays one.
        if isinstance(other, RunScalar) and type(other.hint) is int:
            return other
        if isinstance(other, (SymInt, int)):
            return RunScalar(self.tracer, SymInt(self.tracer, size_of(other)).as_value(), int)
        return None

    def _float(self, operation: str, left: SymScalar, right: SymScalar, hint: Any) -> SymScalar:
        dtype = INT64 if type(left.hint) is int else FLOAT64
        value = self.tracer.add(operation, (left.value, right.value), {}, dtype, ())
        return RunScalar(self.tracer, value, type(left.hint))

    def _arithmetic(self, other: Any, name: str, swapped: bool) -> Any:
        numbers = [x for x in (self, other) if isinstance(x, RunScalar) and x.kinds]
        if (
            not numbers
            or isinstance(other, (np.ndarray, np.generic))
            or isinstance(getattr(other, "sizes", None), tuple)
        ):
            return self._of_numbers(other, name, swapped)
        # Beside a float each is the float that it is carried as.
        has_float = any(type(getattr(x, "hint", x)) is float and not getattr(x, "kinds", None) for x in (self, other))
        if name not in ("add", "sub") and not has_float:
            # 0 * -1 is 0 as an int and -0.0 as a float, and so on.
            refuse_kinds(numbers[0], name)
        result = self._of_numbers(other, name, swapped)
        if isinstance(result, RunScalar) and not has_float:
            result.kinds = frozenset({"int", "float"})
            result.which = later_of(self.tracer, (self, other), "int")
        return result

    def _of_numbers(self, other: Any, name: str, swapped: bool) -> Any:
        if type(self.hint) is not float:
            if not isinstance(other, np.generic) and type(getattr(other, "hint", other)) is float:
                return RunScalar(self.tracer, self.as_float_value(), float)._arithmetic(other, name, swapped)
            mine, theirs = self._int_of(self), self._int_of(other)
            if mine is not None and theirs is not None:
                return self._int_arithmetic(name, *((theirs, mine) if swapped else (mine, theirs)))
        elif name in _DIVISIONS and (number := self._operand(other)) is not None:
            left, right = (number, self) if swapped else (self, number)
            if not (type(other) in (int, float) and other and not swapped):
                self._not_zero(right if isinstance(right, RunScalar) else RunScalar(self.tracer, right.value, float))
            return self._float(_DIVISIONS[name], left, right, 1.0)
        elif name == "pow" and type(other) is int and other == 2 and not swapped:
            square = self._float("multiply", self, self, 1.0)
            if self.low < -1 or self.high > 1:
                square.check_finite("a float power beyond the largest float")
            return square
        elif name == "pow" and (number := self._operand(other)) is not None:
            left, right = (number, self) if swapped else (self, number)
            power = self._float("power", left, right, 1.0)
            # Python raises where it is no finite number, and of a negative one it may be complex.
            power.check_finite("a float power that is no finite number")
            return power
        return super()._arithmetic(other, name, swapped)

    def _divide(self, other: Any, name: str, swapped: bool) -> Any:
        return self._arithmetic(other, name, swapped)

    def as_float_value(self) -> Value:
        return self.tracer.cast(self.value, FLOAT64)


class RunComplex(SymScalar, ComplexOfTheRun):
    """A Python complex number that only the running function knows: sums, differences, products, quotients, its parts."""

    __slots__ = ("kinds", "which")

    def __init__(self, tracer: Tracer, value: Value) -> None:
        super().__init__(tracer, value, 1j, frozenset())
        self.kinds = frozenset()
        self.which = None

    @staticmethod
    def of_parts(tracer: Tracer, real: Value, imag: Value) -> RunComplex:
        """`real`, `imag`: float64."""
        return RunComplex(tracer, tracer.add("complex", (real, imag), {}, COMPLEX128, ()))

    @staticmethod
    def quotient(tracer: Tracer, left: Value, right: Value) -> RunComplex:
        """Smith's algorithm as CPython has it (Objects/complexobject.c, _Py_c_quot), which rounds otherwise than NumPy's."""
        tracer.check(tracer.truth("not_equal", right, 0), "a complex division by zero")

        def made(operation: str, *operands: Value) -> Value:
            return tracer.add(operation, operands, {}, FLOAT64, ())

        a, b, c, d = (made(part, one) for one in (left, right) for part in ("real", "imag"))
        by_real = tracer.add("greater_equal", (made("absolute", c), made("absolute", d)), {}, BOOL, ())
        larger, smaller = made("where", by_real, c, d), made("where", by_real, d, c)
        ratio = made("divide", smaller, larger)
        divisor = made("add", larger, made("multiply", smaller, ratio))
        # By the real part (a + b r, b - a r), by the imaginary one (a r + b, b r - a).
        one, other = made("where", by_real, a, b), made("where", by_real, b, a)
        product = made("multiply", other, ratio)
        real = made("divide", made("add", one, product), divisor)
        product = made("multiply", one, ratio)
        by_imag = made("subtract", product, other)
        imag = made("divide", made("where", by_real, made("subtract", other, product), by_imag), divisor)
        return RunComplex.of_parts(tracer, real, imag)

    def described(self) -> str:
        return "<complex of the run>"

    def of_one_kind(self) -> RunComplex:
        return RunComplex(self.tracer, self.value)

    def concrete(self) -> Any:
        raise self.tracer.error(
            "loops: a Python complex number of the run, where its number itself is needed",
            "it is known only when the compiled function runs",
            "Make it a NumPy scalar (np.complex128(0)), or leave it out of the compiled function.",
        )

    def _compare(self, symbol: str, other: Any) -> Any:
        if symbol not in ("==", "!="):
            return NotImplemented
        if (number := python_float(other)) is not None:
            other = number
        if isinstance(other, RunScalar) and other.is_int:
            other._exact_as_float()  # Python compares the very numbers
        elif isinstance(other, (SymInt, int)) and not is_exact_as_float(self.tracer, other):
            self.concrete()  # which says why not
        if isinstance(other, (Symbolic, int, float, complex, np.ndarray)):
            found = self._compared(symbol, other)
            return found if is_numpys(other) else RunBool(self.tracer, found.read())
        return NotImplemented

    def _divide(self, other: Any, name: str, swapped: bool) -> Any:
        return self._arithmetic(other, name, swapped)

    def __neg__(self) -> RunComplex:
        return RunComplex(self.tracer, self.tracer.add("negative", (self.value,), {}, self.value.dtype, ()))

    def __pos__(self) -> RunComplex:
        return self

    def __abs__(self) -> RunScalar:
        tracer = self.tracer
        size = tracer.add("absolute", (self.value,), {}, FLOAT64, ())
        finite, of_finite = (tracer.add("isfinite", (value,), {}, BOOL, ()) for value in (size, self.value))
        neither = tracer.add("logical_not", (of_finite,), {}, BOOL, ())
        tracer.check(
            tracer.add("logical_or", (finite, neither), {}, BOOL, ()),
            "the absolute value of a complex number overflows",
        )
        return RunScalar(tracer, size, float)

    def _half(self, name: str) -> RunScalar:
        return RunScalar(self.tracer, self.tracer.add(name, (self.value,), {}, FLOAT64, ()), float)

    def conjugate(self) -> RunComplex:
        return RunComplex(self.tracer, self.tracer.add("conjugate", (self.value,), {}, self.value.dtype, ()))


class RunBool(RunScalar, TruthOfTheRun):
    """How a loop's index compares: one truth in each iteration, with what it says of the index where it holds."""

    __slots__ = ("difference", "symbol")

    def __init__(self, tracer: Tracer, value: Value, symbol: str = "", difference: Size | None = None) -> None:
        super().__init__(tracer, value, bool)
        self.symbol = symbol
        self.difference = difference

    def facts(self, holds: bool) -> list[Size]:
        """Sizes that are not negative where the truth is `holds`."""
        if self.difference is None:
            return []
        symbol = self.symbol if holds else _OPPOSITE[self.symbol]
        d = self.difference
        if symbol == "==":
            return [d, -d]
        if symbol == "!=":
            # Beyond an end that it never passes.
            return [side - 1 for side in (d, -d) if self.tracer.decide_if_same_in_all_iterations(">=", side, 0)]
        return [margin(symbol, d, Size.constant(0))]


_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


OPERATIONS.run_number, OPERATIONS.run_truth = RunScalar, RunBool
OPERATIONS.run_complex, OPERATIONS.complex_quotient = RunComplex, RunComplex.quotient
