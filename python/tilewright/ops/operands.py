"""Operands: anything that NumPy takes as an array, as a value of the program with the dtype that an operation wants."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import TraceError
from ..symbolic.arrays import SymArray
from ..symbolic.compressed import Compressed
from ..symbolic.graph import BOOL, COMPLEX128, FLOAT64, INT64, WHOLE, Value
from ..symbolic.known import known_value
from ..symbolic.number import Symbolic, number_of_the_call, refuse_kinds
from ..symbolic.registry import OPERATIONS
from ..symbolic.run_numbers import RunScalar
from ..symbolic.scalars import SymInt, SymScalar
from ..symbolic.sizes import Size
from ..symbolic.tracer import Tracer

NO_VALUE: Any = np._NoValue  # type: ignore[attr-defined]  # as NumPy names an argument that is not given
_ONE = Size.constant(1)


def listed(value: Any) -> Any:
    """An array whose elements this call's sizes and numbers decide as a list; any other value as it is."""
    if isinstance(value, SymArray):
        known = known_value(value.tracer, value.read())
        return value if known is None else known.tolist()
    return value.tolist() if isinstance(value, np.ndarray) else value


def is_symbolic(value: Any) -> bool:
    """Whether something traced is in it, looking into containers."""
    if isinstance(value, Symbolic) or hasattr(value, "as_array"):
        return True
    if isinstance(value, (list, tuple)):
        return any(is_symbolic(item) for item in value)
    if isinstance(value, dict):
        return any(is_symbolic(item) for item in value.values())
    if isinstance(value, slice):
        return any(is_symbolic(item) for item in (value.start, value.stop, value.step))
    return False


def known_key(key: Any) -> Any:
    """A key of a dict as Python has it: the numbers in it are known since their hash was asked."""
    if isinstance(key, tuple):
        return tuple.__new__(type(key), map(known_key, key))
    return frozenset(map(known_key, key)) if type(key) is frozenset else number_of_the_call(key)


def is_bool(value: Any) -> bool:
    """Whether it is a bool, which NumPy takes for no number of an axis."""
    return isinstance(getattr(value, "hint", value), (bool, np.bool_))


def weak_type(operand: Any) -> type | None:
    """int or float for a Python number, which adapts to the arrays beside it (NEP 50); else None."""
    if isinstance(operand, SymInt):
        return int
    number = operand.hint if isinstance(operand, SymScalar) else operand
    if isinstance(number, (bool, np.generic, np.ndarray, SymArray)):
        return None
    return next((kind for kind in (int, float, complex) if isinstance(number, kind)), None)


def operand_of(tracer: Tracer, value: Any, any_kind: bool = False) -> Any:
    """Something of a kind the rules know: SymArray, SymInt, SymScalar, Python number or np.generic.

    `any_kind`: the caller sees to it where the data decide whether a number is NumPy's or Python's."""
    if not any_kind:
        refuse_kinds(value, "using the value")
    if isinstance(value, (SymArray, SymInt, SymScalar, bool, int, float, complex)):
        return value
    if isinstance(value, Compressed):
        raise value.refused("a NumPy call")
    if isinstance(value, np.generic):
        tracer.refuse_dtype(value.dtype, f"a value of dtype {value.dtype}")
        return value
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            tracer.refuse_dtype(value.dtype, f"a value of dtype {value.dtype}")
            return value[()]
        return tracer.cache["inputs"].captured_array(value)
    if isinstance(value, np.poly1d):
        return operand_of(tracer, value.coeffs)
    if isinstance(value, (list, tuple, range)):
        if is_symbolic(value):
            return OPERATIONS.array_of_items(tracer, value)
        return operand_of(tracer, np.asarray(value))
    if hasattr(value, "as_array"):  # a range
        return value.as_array()
    raise tracer.error(
        f"a {type(value).__name__} where NumPy takes an array",
        "it is not a number or an array of numbers",
    )


def check_dtype(tracer: Tracer, dtype: Any) -> np.dtype[Any]:
    """A dtype that a program may hold; TraceError for the others."""
    found = np.dtype(dtype)
    tracer.refuse_dtype(found, f"a value of dtype {found}")
    return found


def dtype_of(operand: Any) -> np.dtype[Any]:
    """The dtype that an operand has by itself."""
    if isinstance(operand, (SymArray, np.generic)):
        return operand.dtype
    if isinstance(operand, SymScalar):
        return operand.value.dtype
    if isinstance(operand, bool):
        return BOOL
    if isinstance(operand, complex):
        return COMPLEX128
    return FLOAT64 if isinstance(operand, float) else INT64


def shape_of(operand: Any) -> tuple[Size, ...]:
    return operand.sizes if isinstance(operand, SymArray) else ()


def full(tracer: Tracer, value: Any, dtype: np.dtype[Any], shape: Sequence[Size]) -> Value:
    return broadcast(tracer, tracer.constant(value, dtype), tuple(shape))


def to_value(tracer: Tracer, operand: Any, dtype: np.dtype[Any] | None = None) -> Value:
    """The operand as a value of `dtype` (its own by default). Python integers must fit, as in NumPy."""
    if dtype is None:
        dtype = dtype_of(operand)
    if isinstance(operand, SymArray):
        if operand.kinds and dtype != operand.dtype and operand.dtype.itemsize < 8:
            refuse_kinds(operand, "widening the value")  # of a Python float the program has kept the narrow one
        return tracer.cast(operand.read(), dtype)
    if isinstance(operand, SymInt):
        if dtype.kind in "iu":
            check_fits(tracer, operand, dtype)
        return tracer.cast(operand.as_value(), dtype)
    if isinstance(operand, SymScalar):
        if isinstance(operand, RunScalar) and operand.is_int and dtype.kind in "iu":
            _check_run_int(tracer, operand, dtype)
        return tracer.cast(operand.value, dtype)
    if isinstance(operand, np.generic):
        with np.errstate(all="ignore"):
            return tracer.constant(operand.astype(dtype), dtype)
    with np.errstate(all="ignore"):
        return tracer.constant(dtype.type(operand), dtype)


def number_of_numpy(tracer: Tracer, operand: Any) -> Any:
    """The operand; of an int beyond 64 bits, which has no arrays beside it, NumPy makes a Python object."""
    if type(operand) is int and not -(2**63) <= operand < 2**64:
        raise tracer.error(f"NumPy's number of {operand}", "an int beyond 64 bits is an object there", "Use a float.")
    return operand


def filling(tracer: Tracer, fill: Any, dtype: np.dtype[Any]) -> Value:
    """What np.full writes: a Python integer has to fit, everything else is cast."""
    if weak_type(fill) is int:
        return to_value(tracer, fill, dtype)
    if is_symbolic(fill):
        return tracer.cast(to_value(tracer, fill), dtype)
    with np.errstate(all="ignore"):
        return tracer.constant(np.asarray(fill).astype(dtype), dtype)


def _check_run_int(tracer: Tracer, operand: RunScalar, dtype: np.dtype[Any]) -> None:
    """That a Python int of the run fits, as NumPy asks."""
    limits = np.iinfo(dtype)
    for number, beyond, comparison in (
        (int(limits.min), operand.low < limits.min, "greater_equal"),
        (int(limits.max), operand.high > limits.max, "less_equal"),
    ):
        if beyond:
            bound = tracer.constant(number, INT64)
            truth = tracer.add(comparison, (operand.value, bound), {}, BOOL, ())
            tracer.check(truth, f"a Python int out of bounds for {dtype}")


def check_python_float(tracer: Tracer, operand: Any, dtype: np.dtype[Any]) -> None:
    """A Python float that becomes an integer raises where it does not fit, a complex number in any element of real ones."""
    if (weak_type(operand) is complex or "complex" in getattr(operand, "kinds", ())) and dtype.kind in "iuf":
        kind = "float" if dtype.kind == "f" else "int"
        raise TypeError(f"{kind}() argument must be a string or a real number, not 'complex'")
    if weak_type(operand) is float:
        _check_integer(tracer, operand, FLOAT64, dtype)


def check_stored(tracer: Tracer, operand: Any, dtype: np.dtype[Any]) -> None:
    """A number that is stored into elements of another type goes through Python's: it raises where it does not fit.

    Arrays, also those of no dimensions, are cast instead, and so are NumPy's numbers on their way to unsigned elements."""
    check_python_float(tracer, operand, dtype)
    if isinstance(operand, SymArray) and operand.is_scalar and dtype.kind == "i":
        _check_integer(tracer, operand, operand.dtype, dtype)
    elif isinstance(operand, np.generic):
        np.zeros(1, dtype)[0] = operand


def _check_integer(tracer: Tracer, operand: Any, source: np.dtype[Any], dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "iu" or source.kind not in "iufc" or np.can_cast(source, dtype, "safe"):
        return
    if not isinstance(operand, Symbolic):
        dtype.type(operand)  # which raises
        return
    limits = np.iinfo(dtype)
    value = to_value(tracer, operand)
    if source.kind == "c":
        source = np.dtype(f"f{source.itemsize // 2}")
        value = tracer.add("real", (value,), {}, source, value.shape)
    message = f"a number out of bounds for {dtype}"
    if source.kind == "f":
        # What lies between is cut off; the ends are exact as floats of 64 bits, and a NaN is in no range.
        exact = tracer.cast(value, FLOAT64)
        below = ("greater_equal", float(limits.min)) if dtype.itemsize == 8 else ("greater", float(limits.min) - 1)
        ends: list[tuple[str, Any]] = [below, ("less", float(limits.max) + 1)]
        numbers = [(name, tracer.constant(np.float64(end), FLOAT64), exact) for name, end in ends]
    else:
        own = np.iinfo(source)
        numbers = []
        if own.min < limits.min:
            numbers.append(("greater_equal", tracer.constant(source.type(limits.min), source), value))
        if own.max > limits.max:
            numbers.append(("less_equal", tracer.constant(source.type(limits.max), source), value))
    for name, end, number in numbers:
        tracer.check(tracer.add(name, (number, end), {}, BOOL, ()), message)


def check_fits(tracer: Tracer, operand: SymInt, dtype: np.dtype[Any]) -> None:
    limits = np.iinfo(dtype)
    message = f"Python integer out of bounds for {dtype}"
    if limits.min > np.iinfo(np.int64).min:
        tracer.require(">=", operand.size, int(limits.min), message, OverflowError)
    if limits.max < np.iinfo(np.int64).max:
        tracer.require("<=", operand.size, int(limits.max), message, OverflowError)


def shape_text(tracer: Tracer, shape: Sequence[Size]) -> str:
    """As NumPy's messages have it, in the recorded call."""
    return str(tuple(map(tracer.value_of, shape))).replace(" ", "")


def broadcast_shapes(tracer: Tracer, shapes: Sequence[tuple[Size, ...]]) -> tuple[Size, ...]:
    """NumPy's broadcasting; extents that must be equal become the same under a guard."""
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[Size] = []
    for axis in range(rank):
        extents = []
        for shape in shapes:
            k = axis - (rank - len(shape))
            extent = tracer.resolve(shape[k]) if k >= 0 else _ONE
            if extent != _ONE and extent not in extents:
                extents.append(extent)
        result.append(extents[0] if len(extents) == 1 else _one_extent(tracer, extents, shapes))
    return tuple(tracer.resolve(size) for size in result)


def _one_extent(tracer: Tracer, extents: list[Size], shapes: Sequence[tuple[Size, ...]]) -> Size:
    """What different extents of one axis become beside each other; the literal 1 is not among them.

    Whether one of them is 1 is asked here alone: an array's own axis may have any length, and beside literal ones too."""
    symbols = {symbol for extent in extents for symbol in extent.symbols()}
    if len({tracer.value_of(extent) for extent in extents}) == 1 and tracer.loops.keys().isdisjoint(symbols):
        for extent in extents[1:]:
            tracer.unify(extents[0], extent, "operands could not be broadcast together")
        return tracer.resolve(extents[0]) if extents else _ONE
    found = _ONE
    for extent in map(tracer.resolve, extents):
        if extent == found or is_one(tracer, extent):
            continue
        if is_one(tracer, found):
            found = extent
            continue
        if tracer.value_of(extent) != tracer.value_of(found) and not tracer.is_of_data(extent - found):
            tracer.refuse_unknown(extent, found)
            texts = " ".join(shape_text(tracer, shape) for shape in shapes)
            raise ValueError(f"operands could not be broadcast together with shapes {texts} ")
        message = "operands could not be broadcast together"
        try:
            tracer.unify(found, extent, message)
        except TraceError:
            if (least := tracer.least_of_data(found, extent, message)) is None:
                raise
            found = least
        found = tracer.resolve(found)
    return found


def within(tracer: Tracer, value: Value, shape: Sequence[Size]) -> Value:
    """`value` without what lies beyond the extents of `shape`, which data decide: the program checks that it is nothing."""
    cut = sizes_within(tracer, value.shape, shape)
    if cut is None:
        return value
    return tracer.add("index", (value,), {"index": [WHOLE] * len(cut)}, value.dtype, cut)


def sizes_within(tracer: Tracer, sizes: Sequence[Size], shape: Sequence[Size]) -> list[Size] | None:
    """As many elements as are left of an array of these sizes then; None where that is all of it."""
    mine = [tracer.resolve(size) for size in sizes]
    wanted = [tracer.resolve(size) for size in shape[len(shape) - len(mine) :]]
    cut = [w if m not in (w, _ONE) and tracer.is_of_data(w - m) else m for m, w in zip(mine, wanted, strict=True)]
    return None if cut == mine else cut


def fits_into(tracer: Tracer, shape: tuple[Size, ...], target: Sequence[Size]) -> bool:
    """Whether `shape` broadcasts to exactly `target`; where that differs from call to call, a guard is kept."""
    found = broadcast_shapes(tracer, [shape, tuple(target)])
    if len(found) != len(target):
        return False
    pairs = [(tracer.resolve(a), tracer.resolve(b)) for a, b in zip(found, target, strict=True)]
    if any(tracer.value_of(a) != tracer.value_of(b) and not tracer.is_of_data(a - b) for a, b in pairs):
        return False
    return all(tracer.decide("==", a, b) for a, b in pairs)


def is_one(tracer: Tracer, extent: Size) -> bool:
    """Whether an extent is 1 (then it is the literal 1 from here on)."""
    extent = tracer.resolve(extent)
    if str(extent) in tracer.reads and (most := tracer.extreme(extent, True)) is not None and most == _ONE:
        tracer.unify(extent, _ONE, "an array of no elements")  # 0 or 1: the program checks that it is 1
        return True
    if not extent.is_constant and tracer.value_of(extent) == 1:
        # What a loop's index is in is 1 by chance: where it has to be equal to another extent, that is asked there.
        return bool(tracer.decide_if_same_in_all_iterations("==", extent, 1))
    return extent.is_constant and extent.constant_part == 1


def broadcast(tracer: Tracer, value: Value, shape: tuple[Size, ...]) -> Value:
    """`value` in exactly `shape`."""
    value = within(tracer, value, shape)
    mine = tuple(tracer.resolve(size) for size in value.shape)
    if mine == tuple(tracer.resolve(size) for size in shape):
        return value
    return tracer.add("broadcast_to", (value,), {}, value.dtype, shape)


def chosen(tracer: Tracer, value: Value, truth: Value | None, otherwise: Any) -> Value:
    """`value` with `otherwise` in place of what is not chosen: nothing of that shows, NaN neither."""
    if truth is None:
        return value
    other = tracer.constant(otherwise, value.dtype)
    return tracer.add("where", (truth, value, other), {}, value.dtype, value.shape)


@lru_cache(maxsize=4096)
def resolve_ufunc(
    ufunc: np.ufunc, inputs: tuple[Any, ...], dtype: np.dtype[Any] | None, casting: Any
) -> tuple[np.dtype[Any], ...]:
    """The dtypes of the loop that NumPy would run; Python numbers are given as int or float."""
    dtypes = (*inputs, *(None,) * ufunc.nout)
    if dtype is None:
        return ufunc.resolve_dtypes(dtypes, casting=casting)
    signature = (None,) * ufunc.nin + (dtype,) * ufunc.nout
    return ufunc.resolve_dtypes(dtypes, signature=signature, casting=casting)
