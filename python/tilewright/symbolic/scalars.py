"""Symbolic Python numbers: sizes and integer arguments (SymInt), float and bool arguments (SymScalar).

They follow Python's rules among themselves and are weak beside arrays (NEP 50). Where Python needs the number itself
(an index, a truth value, a call into C), the value of the recorded call is used, under a guard.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..kinds_of_values import LARGEST_INT
from .fitting import fitting
from .graph import BOOL, COMPLEX128, FLOAT64, INT64, Value
from .number import (
    ComplexOfTheRun,
    Number,
    RealOfTheRun,
    Symbolic,
    TruthOfTheRun,
    is_numpys,
    number_of_the_call,
    of_the_call,
    refuse_kinds,
)
from .operators import BINARY, COMPARE, COMPARE_UFUNC, operator_pair, python_operator
from .registry import OPERATIONS
from .sizes import Size
from .tracer import Tracer

_EASY_EXPONENTS = (-2, -1, -0.5, 0, 0.5, 1, 2, 3, 4, 5, 6, 7, 8)
# Of the formula of an integer (Size.weight): a product of two such takes some 10 ms.
MAX_WEIGHT = 1000
_ON_SIZES: dict[str, Callable[[Size, Size], Size]] = {
    "add": Size.__add__, "sub": Size.__sub__, "mul": Size.__mul__, "floordiv": Size.floor_divide, "mod": Size.remainder,
}  # fmt: skip


def _int_of_bool(value: Any) -> Any:
    """Among Python's integers a bool is one."""
    if isinstance(value, SymScalar) and type(value.hint) is bool:
        value = value.concrete()
    return int(value) if isinstance(value, bool) else value


def size_of(value: Any) -> Size:
    """A Python integer as a size."""
    return value.size if isinstance(value, SymInt) else Size.constant(value.__index__())


def int_of(tracer: Tracer, size: Size) -> Any:
    """A size as a Python integer, which is an int where it is known."""
    size = tracer.resolve(size)
    return size.constant_part if size.is_constant else SymInt(tracer, size)


class SymInt(Number):
    """A Python integer that is known at run time: an extent, an integer argument, or arithmetic on them."""

    __slots__ = ("size",)

    def __init__(self, tracer: Tracer, size: Size) -> None:
        self.tracer = tracer
        self.size = size

    @property
    def hint(self) -> int:
        """Its value in the recorded call, without a guard."""
        return self.tracer.value_of(self.size)

    def described(self) -> str:
        return f"<int {self.tracer.resolve(self.size)}>"

    def _make(self, size: Size) -> Any:
        size = self.tracer.resolve(size)
        if size.weight > MAX_WEIGHT:
            raise self.tracer.error(
                f"a Python integer whose formula has more than {MAX_WEIGHT} symbols",
                "each operation that uses such a number twice doubles its formula",
                "Pass the resulting number, or compute with np.int64, which has 64 bits as kernels do.",
            )
        return int_of(self.tracer, size)

    def as_value(self) -> Value:
        (monomial, coefficient), *rest = self.size.terms.items() or [((), 0)]
        if not rest and coefficient == 1 and len(monomial) == 1:
            for argument in self.tracer.arguments:
                if argument.kind == "scalar" and argument.name == monomial[0] and argument.program_value is not None:
                    return argument.program_value
        size = fitting(self.tracer, self.size)  # Python's integers have no limit
        if size.is_constant:
            return self.tracer.constant(size.constant_part)
        return self.tracer.add("scalar_size", (), {"size": size}, INT64, ())

    def of_the_run(self) -> Value:
        """The value, where an int of the run may be made of it."""
        return SymInt(self.tracer, fitting(self.tracer, self.size, (-LARGEST_INT, LARGEST_INT))).as_value()

    def as_float(self) -> SymScalar:
        cast = self.tracer.cast(self.as_value(), FLOAT64)
        return SymScalar(self.tracer, cast, float(self.hint), frozenset(self.size.symbols()))

    def concrete(self) -> int:
        return self.tracer.fix(self.size)

    def __bool__(self) -> bool:
        return self.tracer.decide("!=", self.size, 0)

    def _compare(self, symbol: str, other: Any) -> Any:
        if isinstance(other, (SymInt, int)):
            theirs = size_of(other)
            known = self.tracer.decide_if_same_in_all_iterations(symbol, self.size, theirs)
            return self._compared_in_each_iteration(symbol, theirs) if known is None else known
        if isinstance(other, (RealOfTheRun, ComplexOfTheRun)):
            return NotImplemented
        if isinstance(other, (float, SymScalar)) and not isinstance(other, np.generic):
            return COMPARE[symbol](self.__index__(), number_of_the_call(other))
        if isinstance(other, (Symbolic, np.ndarray, np.generic)):
            return self._compared(symbol, other)
        return NotImplemented

    def _compared_in_each_iteration(self, symbol: str, theirs: Size) -> Any:
        """A truth that each iteration of the loops around has its own of."""
        tracer = self.tracer
        values = [SymInt(tracer, size).as_value() for size in (self.size, theirs)]
        value = tracer.add(COMPARE_UFUNC[symbol].__name__, values, {}, BOOL, ())
        return OPERATIONS.run_truth(tracer, value, symbol, self.size - theirs)

    def _arithmetic(self, other: Any, name: str, swapped: bool) -> Any:
        if isinstance(other, RealOfTheRun):
            return NotImplemented
        other = _int_of_bool(other)
        if isinstance(other, (SymInt, int)):
            left, right = (size_of(other), self.size) if swapped else (self.size, size_of(other))
            if name in ("floordiv", "mod") and self.tracer.decide("==", right, 0):
                raise ZeroDivisionError("integer modulo by zero")
            return self._make(_ON_SIZES[name](self.tracer.resolve(left), self.tracer.resolve(right)))
        if isinstance(other, (float, complex, SymScalar)) and not isinstance(other, np.generic):
            pair = (other, self.as_float()) if swapped else (self.as_float(), other)
            return python_operator(name)(*pair)
        if isinstance(other, (Symbolic, np.ndarray, np.generic)):
            return self._ufunc(other, name, swapped)
        if isinstance(other, (list, tuple, str, bytes)) and name == "mul":
            return other * self.__index__()
        return NotImplemented

    def _divide(self, other: Any, name: str, swapped: bool) -> Any:
        if isinstance(other, (SymInt, int)):
            divisor = self if swapped else other
            is_zero = divisor == 0
            if is_zero is True:
                raise ZeroDivisionError("division by zero")
            if not all(is_exact_as_float(self.tracer, number) for number in (self, other)):
                pair = (other, self.__index__()) if swapped else (self.__index__(), other)
                return operator.truediv(*(operator.index(number) for number in pair))
            mine, theirs = self.as_float(), other.as_float() if isinstance(other, SymInt) else float(other)
            if is_zero is not False:  # which the iterations of a loop check
                runs = OPERATIONS.run_number(self.tracer, mine.value, float)
                return theirs / runs if swapped else runs / theirs
            # The quotient of the doubles is Python's quotient of the integers.
            return mine.divide_unchecked(theirs, swapped)
        is_complex = type(getattr(other, "hint", other)) is complex
        if isinstance(other, (float, SymScalar)) and not isinstance(other, np.generic) and not is_complex:
            if not swapped:
                return self.as_float() / other
            if isinstance(is_zero := self == 0, TruthOfTheRun):
                return other / OPERATIONS.run_number(self.tracer, self.as_float().value, float)
            if is_zero:
                raise ZeroDivisionError("division by zero")
            return self.as_float().divide_unchecked(other, True)
        if is_complex and isinstance(other, (complex, SymScalar)):
            return self._divide_complex(other, swapped)
        if isinstance(other, (Symbolic, np.ndarray, np.generic)):
            return self._ufunc(other, name, swapped)
        return NotImplemented

    def _divide_complex(self, other: Any, swapped: bool) -> Any:
        """Beside a complex number of Python's."""
        tracer = self.tracer
        if tracer.checked is None:
            pair = (number_of_the_call(other), self.__index__())
            return operator.truediv(*(pair if swapped else reversed(pair)))
        is_of_a_loop, hint = self._is_of_a_loop(), getattr(other, "hint", other)
        expected = None if is_of_a_loop else hint / self.hint if swapped else self.hint / hint  # or Python's own error
        number = other.value if isinstance(other, SymScalar) else tracer.constant(other, COMPLEX128)
        values = tracer.cast(self.as_float().value, COMPLEX128), number
        made = OPERATIONS.complex_quotient(tracer, *(reversed(values) if swapped else values))
        if is_of_a_loop:  # each iteration checks what Python may raise
            return made
        sources = frozenset({*self.size.symbols(), *getattr(other, "sources", ())})
        return SymScalar(tracer, made.value, expected, sources)

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, RealOfTheRun):
            return NotImplemented
        other = _int_of_bool(other)
        if isinstance(other, (SymInt, int)):
            other = other.__index__()
            if 0 <= other <= 8:
                power: Any = 1
                for _ in range(other):
                    power = self * power
                return power
            return self.__index__() ** other
        if isinstance(other, (float, SymScalar)) and not isinstance(other, np.generic):
            return self.as_float() ** other if self._is_of_a_loop() else float(self) ** float(other)
        if isinstance(other, (Symbolic, np.ndarray, np.generic)):
            return self._ufunc(other, "pow", False)
        return NotImplemented

    def __rpow__(self, other: Any) -> Any:
        if isinstance(other, (SymScalar, np.ndarray, np.generic)):
            return NotImplemented
        if isinstance(other, float) and self._is_of_a_loop():
            return other ** self.as_float()
        return other ** self.__index__()

    def _is_of_a_loop(self) -> bool:
        tracer = self.tracer
        return tracer.checked is not None and not tracer.loops.keys().isdisjoint(tracer.resolve(self.size).symbols())

    def __neg__(self) -> Any:
        return self._make(-self.size)

    def __abs__(self) -> Any:
        return self if self.tracer.decide(">=", self.size, 0) else -self

    def __lshift__(self, other: Any) -> Any:
        return self._make(self.size * (1 << operator.index(other)))

    def __rshift__(self, other: Any) -> Any:
        return self // (1 << operator.index(other))

    __rlshift__ = of_the_call(lambda number, other: other << number)
    __rrshift__ = of_the_call(lambda number, other: other >> number)

    def _bits(self, other: Any, name: str, swapped: bool) -> Any:
        if isinstance(other, (Symbolic, np.ndarray, np.generic)) and not isinstance(other, SymInt):
            return NotImplemented
        tracer, theirs = self.tracer, size_of(operator.index(other) if not isinstance(other, SymInt) else other)
        if tracer.checked is not None and tracer.loops.keys() & (self.size.symbols() | theirs.symbols()):
            is_low = tracer.decide_if_same_in_all_iterations(">=", self.size, 0) is True
            number = OPERATIONS.run_number(tracer, self.of_the_run(), int, 0 if is_low else -LARGEST_INT)
            return number._bits(other, name, swapped)
        return python_operator(name)(self.__index__(), operator.index(other))

    def __invert__(self) -> Any:
        return self._make(-self.size - 1)

    def __round__(self, digits: int | None = None) -> Any:
        return self if digits is None or digits >= 0 else round(self.__index__(), digits)

    def __trunc__(self) -> Any:
        return self

    __pos__ = __floor__ = __ceil__ = __trunc__
    real = property(__trunc__)

    @property
    def imag(self) -> int:
        return 0


def is_exact_as_float(tracer: Tracer, number: Any) -> bool:
    """Whether an integer is at most 2**53, as extents and positions are."""
    if not isinstance(number, SymInt):
        return abs(int(number)) <= 2**53
    if number.size.symbols() <= tracer.extents | tracer.loops.keys():
        return True
    return bool(-(2**53) <= number <= 2**53)


def python_float(value: Any) -> Any:
    """A number of NumPy's that is a Python float, as np.float64 is: operators of Python's complex numbers take it; else None."""
    if isinstance(value, np.float64):
        return float(value)
    if isinstance(value, Symbolic) and getattr(value, "is_scalar", False) and getattr(value, "dtype", None) == FLOAT64:
        return OPERATIONS.run_number(value.tracer, value.read(), float)  # type: ignore[attr-defined]
    return None


class SymScalar(Number):
    """A Python float, bool or complex number that is known at run time; of the last kind sums and products alone.

    Arithmetic on it that can raise in Python (a division, a power) uses the value of the recorded call instead,
    under a guard: a kernel could not raise.
    """

    __slots__ = ("hint", "sources", "value")

    def __init__(self, tracer: Tracer, value: Value, hint: Any, sources: frozenset[str]) -> None:
        self.tracer = tracer
        self.value = value
        self.hint = hint
        self.sources = sources  # the arguments that it is made of

    def described(self) -> str:
        return f"<{type(self.hint).__name__} {', '.join(sorted(self.sources))}>"

    def concrete(self) -> Any:
        for source in sorted(self.sources):
            self.tracer.fix_scalar(source)
        return self.hint

    __bool__, __round__, __invert__ = map(of_the_call, (bool, round, operator.invert))

    def _compare(self, symbol: str, other: Any) -> Any:
        if isinstance(other, (RealOfTheRun, ComplexOfTheRun)):
            return NotImplemented
        if isinstance(other, (SymScalar, SymInt)):
            return COMPARE[symbol](self.concrete(), type(other.hint)(other))
        if isinstance(other, (int, float, complex)) and not isinstance(other, np.generic):
            held: Any = other
            return COMPARE[symbol](self.concrete(), held)
        if isinstance(other, (Symbolic, np.ndarray, np.generic)):
            return self._compared(symbol, other)
        return NotImplemented

    def _operand(self, other: Any) -> SymScalar | None:
        """`other` as a float of the program, None where it is not a Python number."""
        if isinstance(other, SymScalar):
            if isinstance(other.hint, bool):
                cast = self.tracer.cast(other.value, FLOAT64)
                return SymScalar(self.tracer, cast, float(other.hint), other.sources)
            return other
        if isinstance(other, SymInt):
            return other.as_float()
        if isinstance(other, (int, float)) and not isinstance(other, np.generic):
            constant = self.tracer.constant(other, FLOAT64)
            return SymScalar(self.tracer, constant, float(other), frozenset())
        return None

    def _arithmetic(self, other: Any, name: str, swapped: bool) -> Any:
        if type(self.hint) is complex and not swapped and (number := python_float(other)) is not None:
            return self._of_complex(number, name, swapped)
        if is_numpys(other):
            return self._ufunc(other, name, swapped)
        if complex in (type(self.hint), type(getattr(other, "hint", other))):
            return self._of_complex(other, name, swapped)
        if isinstance(other, RealOfTheRun) and not isinstance(self, RealOfTheRun):
            return NotImplemented
        mine, theirs = self._operand(self), self._operand(other)
        if mine is None or theirs is None:
            return NotImplemented
        if isinstance(self.hint, bool) and isinstance(getattr(other, "hint", other), int):
            # bool and int make an int in Python.
            pair = (int(self.concrete()), other)
            return python_operator(name)(*(reversed(pair) if swapped else pair))
        left, right = (theirs, mine) if swapped else (mine, theirs)
        if name == "truediv" and self._stays_in_the_program(right.sources):
            # A quotient by sizes would fix them: one program for each.
            if right.hint == 0:
                raise ZeroDivisionError("float division by zero")
            self.tracer.check(self.tracer.truth("not_equal", right.value, 0.0), "a division by zero")
            return self._float("divide", left, right, left.hint / right.hint)
        is_whole = not right.sources and right.hint.is_integer()
        if name == "pow" and (left.hint > 0 or is_whole) and self._stays_in_the_program(left.sources | right.sources):
            return self._power(left, right, is_whole)
        if name not in ("add", "sub", "mul"):
            if self.tracer.checked is not None and not self.tracer.loops.keys().isdisjoint(
                left.sources | right.sources
            ):
                # The index of a loop: each iteration checks what Python may raise.
                return python_operator(name)(
                    *(OPERATIONS.run_number(self.tracer, one.value, float) for one in (left, right))
                )
            return python_operator(name)(left.concrete(), right.concrete())
        return self._float(BINARY[name].__name__, left, right, python_operator(name)(left.hint, right.hint))

    def _stays_in_the_program(self, sources: frozenset[str]) -> bool:
        """Whether an operation that may raise is computed, and checked: of sizes, and of numbers that are no arguments of
        the call (attributes, globals), which a call does not show to change."""
        tracer = self.tracer
        return bool(sources) and tracer.checked is not None and sources <= (tracer.sizes.keys() | tracer.outer)

    def _power(self, left: SymScalar, right: SymScalar, is_whole: bool) -> SymScalar:
        """Of a positive number, or to a power that `is_whole`: what Python raises for others, and where the power is no
        finite number, is checked."""
        if is_whole and right.hint == 2:
            square = self._float("multiply", left, left, left.hint**2)
            square.check_finite("a float power beyond the largest float")
            return square
        if left.sources and not is_whole:
            is_positive = self.tracer.truth("greater", left.value, 0.0)
            self.tracer.check(is_positive, "a power of a number that is not positive")
        result = self._float("power", left, right, left.hint**right.hint)
        result.check_finite("a power that is no number")
        return result

    def check_finite(self, message: str) -> None:
        """Where it is not, Python may have raised."""
        truth = self.tracer.add("isfinite", (self.value,), {}, BOOL, ())
        self.tracer.check(truth, message)

    def _float(self, operation: str, left: SymScalar, right: SymScalar, hint: Any) -> SymScalar:
        value = self.tracer.add(operation, (left.value, right.value), {}, FLOAT64, ())
        return SymScalar(self.tracer, value, hint, left.sources | right.sources)

    def _of_complex(self, other: Any, name: str, swapped: bool) -> Any:
        """A Python complex number beside another number: sums, differences and products of what the call has."""
        operands = [other, self] if swapped else [self, other]
        of_the_run = any(isinstance(operand, (RealOfTheRun, ComplexOfTheRun)) for operand in operands)
        if name not in ("add", "sub", "mul", "truediv" if of_the_run else ""):
            return python_operator(name)(*(number_of_the_call(operand) for operand in operands))
        dtype = COMPLEX128
        values = []
        for operand in operands:
            if isinstance(operand, SymScalar):
                values.append(self.tracer.cast(operand.value, dtype))
            elif isinstance(operand, SymInt):
                values.append(self.tracer.cast(operand.as_float().value, dtype))
            elif isinstance(operand, (int, float, complex)):
                values.append(self.tracer.constant(operand, dtype))
            else:
                return NotImplemented
        if of_the_run:
            if name == "truediv":
                return OPERATIONS.complex_quotient(self.tracer, *values)
            return OPERATIONS.run_complex(self.tracer, self.tracer.add(BINARY[name].__name__, values, {}, dtype, ()))
        sources = frozenset[str]().union(*(o.sources for o in operands if isinstance(o, SymScalar)),
                                         *(o.size.symbols() for o in operands if isinstance(o, SymInt)))  # fmt: skip
        hints = [getattr(operand, "hint", operand) for operand in operands]
        made = self.tracer.add(BINARY[name].__name__, values, {}, dtype, ())
        return SymScalar(self.tracer, made, python_operator(name)(*hints), sources)

    def divide_unchecked(self, other: Any, swapped: bool) -> SymScalar:
        """A quotient whose divisor is known not to be zero."""
        mine, theirs = self._operand(self), self._operand(other)
        assert mine is not None and theirs is not None
        left, right = (theirs, mine) if swapped else (mine, theirs)
        return self._float("divide", left, right, left.hint / right.hint)

    def _divide(self, other: Any, name: str, swapped: bool) -> Any:
        if not swapped and type(self.hint) is not complex:
            is_number = isinstance(other, (int, float, SymInt)) and not isinstance(other, np.generic)
            if is_number and (other != 0) is True:
                return self.divide_unchecked(other, False)
        return self._arithmetic(other, name, swapped)

    __pow__, __rpow__ = operator_pair("_arithmetic", "pow")

    def __neg__(self) -> Any:
        if isinstance(self.hint, bool):
            return -self.concrete()
        value = self.tracer.add("negative", (self.value,), {}, self.value.dtype, ())
        return SymScalar(self.tracer, value, -self.hint, self.sources)

    def __pos__(self) -> Any:
        return +self.concrete() if isinstance(self.hint, bool) else self

    def __abs__(self) -> Any:
        if isinstance(self.hint, (bool, complex)):
            return abs(self.concrete())
        value = self.tracer.add("absolute", (self.value,), {}, FLOAT64, ())
        return SymScalar(self.tracer, value, abs(self.hint), self.sources)

    def _bits(self, other: Any, name: str, swapped: bool) -> Any:
        if is_numpys(other):
            return self._ufunc(other, name, swapped)
        theirs = other.concrete() if isinstance(other, SymScalar) else other
        pair = (self.concrete(), theirs)
        return python_operator(name)(*(reversed(pair) if swapped else pair))

    @property
    def real(self) -> Any:
        return self._half("real") if type(self.hint) is complex else +self  # of a bool an int

    @property
    def imag(self) -> Any:
        refuse_kinds(self, ".imag")
        return self._half("imag") if type(self.hint) is complex else type(self.hint)().imag

    def _half(self, name: str) -> SymScalar:
        value = self.tracer.add(name, (self.value,), {}, FLOAT64, ())
        return SymScalar(self.tracer, value, getattr(self.hint, name), self.sources)


def known_exponent(tracer: Tracer, exponent: Any) -> Any:
    """An exponent from outside of the call that makes a product or a root of a power is one of the program."""
    is_known = isinstance(exponent, SymScalar) and exponent.sources and exponent.sources <= tracer.settled
    if is_known and not isinstance(exponent, RealOfTheRun) and exponent.hint in _EASY_EXPONENTS:
        return exponent.concrete()
    if isinstance(exponent, SymInt):
        size = tracer.resolve(exponent.size)
        if size.symbols() and size.symbols() <= tracer.settled and tracer.value_of(size) in _EASY_EXPONENTS:
            return exponent.__index__()
    return exponent
