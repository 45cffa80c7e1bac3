"""What Python's numbers have in common while they are traced; what kind of number the data may decide."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .graph import BOOL, FLOAT64, INT64, Value
from .operators import BINARY, COMPARE_UFUNC, comparison, divmod_of, operator_pair
from .registry import OPERATIONS
from .tracer import Tracer


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
    if isinstance(value, Number):
        kind = type(value.hint)  # type: ignore[attr-defined]
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


def truth_of_kind(tracer: Tracer, which: Value) -> Value:
    """What a comparison gives of numbers of which `which` is the later one: NumPy's truth, or Python's."""
    is_numpys = tracer.truth("equal", which, KINDS.index("scalar"))
    return tracer.add("where", (is_numpys, which, tracer.constant(KINDS.index("bool"))), {}, INT64, ())


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


def of_the_call(function: Any) -> Any:
    """The method of a number that is the function of its value in the recorded call."""

    def method(self: Any, *args: Any) -> Any:
        return function(self.concrete(), *args)

    return method


class Number(Symbolic):  # noqa: PLW1641 - __hash__ is one of the methods below
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
        of_the_call, (int, float, complex, operator.index, hash, repr, format)
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


class RealOfTheRun:
    """What a RunScalar is, for those who only ask."""

    __slots__ = ()


class TruthOfTheRun:
    """What a RunBool is."""

    __slots__ = ()


class ComplexOfTheRun:
    """What a RunComplex is."""

    __slots__ = ()


def is_numpys(value: Any) -> bool:
    """Whether an operator beside it is NumPy's: an array or a number of NumPy's."""
    return isinstance(value, (Symbolic, np.ndarray, np.generic)) and not isinstance(value, Number)


def number_of_the_call(value: Any) -> Any:
    """The Python number that it is in the recorded call, under a guard."""
    return value.concrete() if isinstance(value, Number) else value
