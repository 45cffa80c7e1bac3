"""Symbolic Python numbers: sizes and integer arguments (SymInt), float and bool arguments (SymScalar).

They follow Python's rules among themselves and are weak beside arrays (NEP 50). Where Python needs the number itself
(an index, a truth value, a call into C), the value of the recorded call is used, under a guard.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .fitting import fitting
from .graph import BOOL, COMPLEX128, FLOAT64, INT64, Value
from .known import known_value
from .operators import (
    BINARY,
    COMPARE,
    COMPARE_UFUNC,
    comparison,
    divmod_of,
    operator_pair,
    python_operator,
)
from .registry import OPERATIONS
from .sizes import Size
from .tracer import Tracer, margin

# A Python int of the run is at most that, or reached from there in steps of at most SMALL_STEP.
LARGEST_INT = 2**61
SMALL_STEP = 2**20
_EASY_EXPONENTS = (-2, -1, -0.5, 0, 0.5, 1, 2, 3, 4, 5, 6, 7, 8)


class Symbolic:
    """What all symbolic things share: the trace that they belong to, and NumPy's protocols."""

    __slots__ = ("tracer",)
    tracer: Tracer
    # More than one where the data decide what Python has here: scalar (of NumPy), float, int, bool.
    kinds: frozenset[str] = frozenset()
    which: Value | None = None  # then the one of this run, as a position in KINDS; None where that is not kept
    __array_priority__ = 1000.0

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return OPERATIONS.call_ufunc_method(self.tracer, ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return OPERATIONS.call_numpy(self.tracer, func, args, kwargs)

    def described(self) -> str:
        """In our own words, for messages. `repr` is what the function's own code asks for: the text of a value."""
        raise NotImplementedError

    def __repr__(self) -> str:
        raise self.tracer.error(
            f"the text (str, repr, format) of {self.described()}",
            "its contents are known only when the compiled function runs",
            "Make the text at the caller, or leave it out of the compiled function.",
        )

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __reduce__(self) -> Any:
        raise self.tracer.error(
            "pickling or copying a traced value",
            "it has no contents while the function is traced",
            "Keep it out of pickle and copy.",
        )


# What may be one number by data. An operation of two gives the later one (at least an int).
KINDS = ("bool", "int", "float", "scalar")


def which_of(tracer: Tracer, value: Any, carrier: np.dtype[Any] | None = None) -> Value | None:
    """The position in KINDS of what Python has for a number; None where it is not known, or where a value of dtype
    `carrier` would not be exactly that number."""
    kinds = getattr(value, "kinds", None)
    if kinds:
        own = value.dtype if hasattr(value, "dtype") else value.value.dtype
        return value.which if carrier in (None, own) else None
    if isinstance(value, (SymInt, SymScalar)):
        kind = type(value.hint)
    elif isinstance(value, np.generic) or getattr(value, "is_scalar", False):
        return tracer.constant(KINDS.index("scalar"))
    else:
        kind = type(value)
    if kind not in (bool, int, float):
        return None
    exact: tuple[Any, ...] = {bool: (None, BOOL, INT64, FLOAT64), int: (None, INT64), float: (None, FLOAT64)}[kind]
    is_small = type(value) is int and abs(value) <= 2**53
    if carrier not in exact and not (is_small and carrier == FLOAT64):
        return None
    return tracer.constant(KINDS.index(kind.__name__))


def later_of(tracer: Tracer, values: Sequence[Any], least: str) -> Value | None:
    """What an operation of numbers gives."""
    found = tracer.constant(KINDS.index(least))
    for value in values:
        one = which_of(tracer, value)
        if one is None:
            return None
        found = tracer.add("maximum", (found, one), {}, INT64, ())
    return found


def refuse_kinds(value: Any, what: str) -> None:
    """Where it matters whether a value is NumPy's or Python's, or which number of Python's, and the data decide that."""
    kinds = getattr(value, "kinds", None)
    if kinds and isinstance(value, Symbolic):
        names = [{"scalar": "a NumPy scalar"}.get(kind, f"a Python {kind}") for kind in sorted(kinds)]
        raise value.tracer.error(
            f"loops: {what} of a number that is {' or '.join(names)}",
            "the data decide which, and NumPy's result has another type for each",
            "Make it the same kind on every path and before the loop (np.float64(0), 0.0 instead of 0).",
        )


def described(value: Any) -> str:
    """repr(value) for messages: what is traced in it as we call it, and nothing of it decided."""
    if isinstance(value, Symbolic):
        return value.described()
    if type(value) in (list, tuple):
        items = ", ".join(map(described, value))
        return f"[{items}]" if isinstance(value, list) else f"({items}{',' * (len(value) == 1)})"
    if type(value) is dict:
        return "{" + ", ".join(f"{described(key)}: {described(held)}" for key, held in value.items()) + "}"
    if isinstance(value, slice):
        return f"slice({described(value.start)}, {described(value.stop)}, {described(value.step)})"
    return repr(value)


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


def _is_numpys(value: Any) -> bool:
    """Whether an operator beside it is NumPy's: an array or a number of NumPy's."""
    return isinstance(value, (Symbolic, np.ndarray, np.generic)) and not isinstance(value, _Number)


def size_of(value: Any) -> Size:
    """A Python integer as a size."""
    return value.size if isinstance(value, SymInt) else Size.constant(value.__index__())


def int_of(tracer: Tracer, size: Size) -> Any:
    """A size as a Python integer, which is an int where it is known."""
    size = tracer.resolve(size)
    return size.constant_part if size.is_constant else SymInt(tracer, size)


def _of_the_call(function: Any) -> Any:
    """The method of a number that is the function of its value in the recorded call."""

    def method(self: Any, *args: Any) -> Any:
        return function(self.concrete(), *args)

    return method


class _Number(Symbolic):  # noqa: PLW1641 - __hash__ is one of the methods below
    """A Python number in the trace: its six comparisons come down to one."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        # What Python's number has and ours has no rule for (imag, numerator, hex()) needs the number itself.
        kind = type(self.hint)  # type: ignore[attr-defined]
        if name.startswith("__") or not hasattr(kind, name):
            raise AttributeError(f"'{kind.__name__}' object has no attribute {name!r}")
        return getattr(kind(self), name)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def concrete(self) -> Any:
        """The value of the recorded call, guarded."""
        raise NotImplementedError

    # Where Python needs the number itself.
    __int__, __float__, __complex__, __index__, __hash__, __repr__, __format__ = map(
        _of_the_call, (int, float, complex, operator.index, hash, repr, format)
    )

    def _compare(self, symbol: str, other: Any) -> Any:
        raise NotImplementedError

    def _ufunc(self, other: Any, name: str, swapped: bool) -> Any:
        """The operator as that of arrays."""
        return OPERATIONS.apply_operator(self.tracer, BINARY[name], (other, self) if swapped else (self, other))

    def _compared(self, symbol: str, other: Any) -> Any:
        """The comparison as that of arrays."""
        return OPERATIONS.apply_operator(self.tracer, COMPARE_UFUNC[symbol], (self, other))

    def __eq__(self, other: object) -> Any:
        return self._compare("==", other)

    def __ne__(self, other: object) -> Any:
        return self._compare("!=", other)

    __lt__, __le__, __gt__, __ge__ = (comparison(symbol) for symbol in ("<", "<=", ">", ">="))
    # Each kind of number has these three methods.
    __add__, __radd__ = operator_pair("_arithmetic", "add")
    __sub__, __rsub__ = operator_pair("_arithmetic", "sub")
    __mul__, __rmul__ = operator_pair("_arithmetic", "mul")
    __floordiv__, __rfloordiv__ = operator_pair("_arithmetic", "floordiv")
    __mod__, __rmod__ = operator_pair("_arithmetic", "mod")
    __divmod__, __rdivmod__ = divmod_of, lambda self, other: divmod_of(other, self)
    __truediv__, __rtruediv__ = operator_pair("_divide", "truediv")
    __and__, __rand__ = operator_pair("_bits", "and")
    __or__, __ror__ = operator_pair("_bits", "or")
    __xor__, __rxor__ = operator_pair("_bits", "xor")


class SymInt(_Number):
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

    # -- comparisons --------------------------------------------------------------------------------

    def _compare(self, symbol: str, other: Any) -> Any:
        if isinstance(other, (SymInt, int)):
            theirs = size_of(other)
            known = self.tracer.decide_if_same_in_all_iterations(symbol, self.size, theirs)
            return self._compared_in_each_iteration(symbol, theirs) if known is None else known
        if isinstance(other, (RunScalar, RunComplex)):
            return NotImplemented
        if isinstance(other, (float, SymScalar)) and not isinstance(other, np.generic):
            return COMPARE[symbol](self.__index__(), number_of_the_call(other))
        if isinstance(other, (Symbolic, np.ndarray, np.generic)):
            return self._compared(symbol, other)
        return NotImplemented

    def _compared_in_each_iteration(self, symbol: str, theirs: Size) -> RunBool:
        """A truth that each iteration of the loops around has its own of."""
        tracer = self.tracer
        values = [SymInt(tracer, size).as_value() for size in (self.size, theirs)]
        value = tracer.add(COMPARE_UFUNC[symbol].__name__, values, {}, BOOL, ())
        return RunBool(tracer, value, symbol, self.size - theirs)

    # -- arithmetic ---------------------------------------------------------------------------------

    def _arithmetic(self, other: Any, name: str, swapped: bool) -> Any:
        if isinstance(other, RunScalar):
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
            if not all(_is_exact_as_float(self.tracer, number) for number in (self, other)):
                pair = (other, self.__index__()) if swapped else (self.__index__(), other)
                return operator.truediv(*(operator.index(number) for number in pair))
            mine, theirs = self.as_float(), other.as_float() if isinstance(other, SymInt) else float(other)
            if is_zero is not False:  # which the iterations of a loop check
                runs = RunScalar(self.tracer, mine.value, float)
                return theirs / runs if swapped else runs / theirs
            # The quotient of the doubles is Python's quotient of the integers.
            return mine.divide_unchecked(theirs, swapped)
        if isinstance(other, (float, SymScalar)) and not isinstance(other, np.generic):
            if not swapped:
                return self.as_float() / other
            if isinstance(is_zero := self == 0, RunBool):
                return other / RunScalar(self.tracer, self.as_float().value, float)
            if is_zero:
                raise ZeroDivisionError("division by zero")
            return self.as_float().divide_unchecked(other, True)
        if isinstance(other, (Symbolic, np.ndarray, np.generic)):
            return self._ufunc(other, name, swapped)
        return NotImplemented

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, RunScalar):
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

    __rlshift__ = _of_the_call(lambda number, other: other << number)
    __rrshift__ = _of_the_call(lambda number, other: other >> number)

    def _bits(self, other: Any, name: str, swapped: bool) -> Any:
        if isinstance(other, (Symbolic, np.ndarray, np.generic)) and not isinstance(other, SymInt):
            return NotImplemented
        tracer, theirs = self.tracer, size_of(operator.index(other) if not isinstance(other, SymInt) else other)
        if tracer.checked is not None and tracer.loops.keys() & (self.size.symbols() | theirs.symbols()):
            is_low = tracer.decide_if_same_in_all_iterations(">=", self.size, 0) is True
            number = RunScalar(tracer, self.of_the_run(), int, 0 if is_low else -LARGEST_INT)
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


def _is_exact_as_float(tracer: Tracer, number: Any) -> bool:
    """Whether an integer is at most 2**53, as extents and positions are."""
    if not isinstance(number, SymInt):
        return abs(int(number)) <= 2**53
    if number.size.symbols() <= tracer.extents | tracer.loops.keys():
        return True
    return bool(-(2**53) <= number <= 2**53)


def number_of_the_call(value: Any) -> Any:
    """The Python number that it is in the recorded call, under a guard."""
    return value.concrete() if isinstance(value, _Number) else value


def _python_float(value: Any) -> Any:
    """A number of NumPy's that is a Python float, as np.float64 is: operators of Python's complex numbers take it; else None."""
    if isinstance(value, np.float64):
        return float(value)
    if isinstance(value, Symbolic) and getattr(value, "is_scalar", False) and getattr(value, "dtype", None) == FLOAT64:
        return RunScalar(value.tracer, value.read(), float)  # type: ignore[attr-defined]
    return None


class SymScalar(_Number):
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

    __bool__, __round__, __invert__ = map(_of_the_call, (bool, round, operator.invert))

    def _compare(self, symbol: str, other: Any) -> Any:
        if isinstance(other, (RunScalar, RunComplex)):
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
        if type(self.hint) is complex and not swapped and (number := _python_float(other)) is not None:
            return self._of_complex(number, name, swapped)
        if _is_numpys(other):
            return self._ufunc(other, name, swapped)
        if complex in (type(self.hint), type(getattr(other, "hint", other))):
            return self._of_complex(other, name, swapped)
        if isinstance(other, RunScalar) and not isinstance(self, RunScalar):
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
        if name == "pow" and left.hint > 0 and self._stays_in_the_program(left.sources | right.sources):
            return self._power(left, right)
        if name not in ("add", "sub", "mul"):
            if self.tracer.checked is not None and not self.tracer.loops.keys().isdisjoint(
                left.sources | right.sources
            ):
                # The index of a loop: each iteration checks what Python may raise.
                return python_operator(name)(*(RunScalar(self.tracer, one.value, float) for one in (left, right)))
            return python_operator(name)(left.concrete(), right.concrete())
        return self._float(BINARY[name].__name__, left, right, python_operator(name)(left.hint, right.hint))

    def _stays_in_the_program(self, sources: frozenset[str]) -> bool:
        """Whether an operation that may raise is computed, and checked: of sizes, and of numbers that are no arguments of
        the call (attributes, globals), which a call does not show to change."""
        tracer = self.tracer
        return bool(sources) and tracer.checked is not None and sources <= (tracer.sizes.keys() | tracer.outer)

    def _power(self, left: SymScalar, right: SymScalar) -> SymScalar:
        """Of a positive number: what Python raises for others, and where the power is no number, is checked."""
        if left.sources:
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
        of_the_run = any(isinstance(operand, (RunScalar, RunComplex)) for operand in operands)
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
                return RunComplex.quotient(self.tracer, *values)
            return RunComplex(self.tracer, self.tracer.add(BINARY[name].__name__, values, {}, dtype, ()))
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
        if _is_numpys(other):
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
    if is_known and not isinstance(exponent, RunScalar) and exponent.hint in _EASY_EXPONENTS:
        return exponent.concrete()
    if isinstance(exponent, SymInt):
        size = tracer.resolve(exponent.size)
        if size.symbols() and size.symbols() <= tracer.settled and tracer.value_of(size) in _EASY_EXPONENTS:
            return exponent.__index__()
    return exponent


# Python's operators of floats, and the operations that compute the same where the divisor is not zero.
_DIVISIONS = {"truediv": "divide", "floordiv": "floor_divide", "mod": "remainder"}


class RunScalar(SymScalar):
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
            "Make it a NumPy scalar (np.float64(0)), or leave it out of the compiled function.",
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

    # -- integers --------------------------------------------------------------------------------

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
        if name not in ("add", "sub"):
            # 0 * -1 is 0 as an int and -0.0 as a float, and so on.
            refuse_kinds(numbers[0], name)
        result = self._of_numbers(other, name, swapped)
        floats = [type(getattr(x, "hint", x)) is float and not getattr(x, "kinds", None) for x in (self, other)]
        if isinstance(result, RunScalar) and not any(floats):
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


class RunComplex(SymScalar):
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
        if (number := _python_float(other)) is not None:
            other = number
        if isinstance(other, RunScalar) and other.is_int:
            other._exact_as_float()  # Python compares the very numbers
        elif isinstance(other, (SymInt, int)) and not _is_exact_as_float(self.tracer, other):
            self.concrete()  # which says why not
        if isinstance(other, (Symbolic, int, float, complex, np.ndarray)):
            found = self._compared(symbol, other)
            return found if _is_numpys(other) else RunBool(self.tracer, found.read())
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


class RunBool(RunScalar):
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
