"""NumPy's functions of elements that are no ufuncs: where, clip, nan_to_num, isclose, the parts of complex numbers."""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ..symbolic.arrays import SymArray
from ..symbolic.graph import Value
from ..symbolic.located import LEAVE_IT_OUT
from ..symbolic.number import refuse_kinds
from ..symbolic.registry import FUNCTIONS, rule
from ..symbolic.scalars import SymInt, SymScalar
from ..symbolic.storage import Storage
from ..symbolic.tracer import Tracer
from .elementwise import apply_ufunc, common_dtype, copied
from .operands import (
    BOOL,
    NO_VALUE,
    broadcast_shapes,
    dtype_of,
    fits_into,
    number_of_numpy,
    operand_of,
    shape_of,
    to_value,
    weak_type,
    within,
)

# The ufunc behind np.clip has no public name.
_CLIP: np.ufunc = getattr(np, "_core").umath.clip  # noqa: B009


@rule(np.where)
def where(tracer: Tracer, condition: Any, *choices: Any) -> Any:
    if not choices:
        return FUNCTIONS[np.nonzero](tracer, condition)
    if len(choices) != 2:
        raise ValueError("either both or neither of x and y should be given")
    test = operand_of(tracer, condition)
    x, y = (operand_of(tracer, choice) for choice in choices)
    dtype = common_dtype(x, y)
    shape = broadcast_shapes(tracer, [shape_of(test), shape_of(x), shape_of(y)])
    values = [to_value(tracer, test, BOOL), _converted(tracer, x, dtype), _converted(tracer, y, dtype)]
    values = [within(tracer, value, shape) for value in values]
    # np.where returns an array, 0-d too.
    return SymArray.fresh(tracer, tracer.add("where", values, {}, dtype, shape), is_scalar=False)


def _converted(tracer: Tracer, operand: Any, dtype: np.dtype[Any]) -> Value:
    """The operand as np.where takes it: in some versions of NumPy a Python integer becomes an int64 first, and wraps."""
    if dtype.kind in "iu" and weak_type(operand) is int and _where_wraps():
        limits = np.iinfo(dtype)
        fits = isinstance(operand, int) and limits.min <= operand <= limits.max
        return to_value(tracer, operand, dtype) if fits else tracer.cast(to_value(tracer, operand), dtype)
    return to_value(tracer, operand, dtype)


@lru_cache(maxsize=1)
def _where_wraps() -> bool:
    try:
        np.where(True, np.uint8(0), 256)
    except OverflowError:
        return False
    return True


@rule(np.clip)
def clip(
    tracer: Tracer, a: Any, a_min: Any = NO_VALUE, a_max: Any = NO_VALUE, out: Any = None, *,
    min: Any = NO_VALUE, max: Any = NO_VALUE, **others: Any,
) -> Any:  # fmt: skip
    low: Any
    high: Any
    if a_min is NO_VALUE and a_max is NO_VALUE:
        low, high = (None if bound is NO_VALUE else bound for bound in (min, max))
    elif a_min is NO_VALUE or a_max is NO_VALUE:
        missing = "a_min" if a_min is NO_VALUE else "a_max"
        raise TypeError(f"clip() missing 1 required positional argument: '{missing}'")
    elif min is not NO_VALUE or max is not NO_VALUE:
        raise ValueError("Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden.")
    else:
        low, high = a_min, a_max
    array = number_of_numpy(tracer, operand_of(tracer, a))
    if weak_type(array):  # becomes an array first, with a dtype that does not adapt to the bounds
        array = SymArray.fresh(tracer, to_value(tracer, array))
    dtype = dtype_of(array)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        low = None if type(low) in (int, SymInt) and low <= int(limits.min) else low
        # An int of the run has 64 bits: it is below the largest uint64.
        comparable = type(high) is int or (type(high) is SymInt and dtype != np.uint64)
        high = None if comparable and high >= int(limits.max) else high
    by_one = np.minimum if low is None else np.maximum
    bounds = [bound for bound in (low, high) if bound is not None]
    with tracer.composite("clip"):
        return apply_ufunc(tracer, (np.positive, by_one, _CLIP)[len(bounds)], (array, *bounds), out, **others)


def _finite(tracer: Tracer, value: Value, nan: Any, posinf: Any, neginf: Any) -> Value:
    """Real values with NaN and infinities replaced."""
    dtype, limits = value.dtype, np.finfo(value.dtype)
    inf = tracer.constant(math.inf, dtype)
    minus_inf = tracer.constant(-math.inf, dtype)
    replacements = [
        (tracer.add("isnan", (value,), {}, BOOL, value.shape), nan),
        (tracer.add("equal", (value, inf), {}, BOOL, value.shape), limits.max if posinf is None else posinf),
        (tracer.add("equal", (value, minus_inf), {}, BOOL, value.shape), limits.min if neginf is None else neginf),
    ]
    result = value
    for test, replacement in replacements:
        operand = operand_of(tracer, replacement)
        if weak_type(operand) is None and not np.can_cast(dtype_of(operand), dtype, "same_kind"):
            raise TypeError(
                f"Cannot cast scalar from {dtype_of(operand)!r} to {dtype!r} according to the rule 'same_kind'"
            )
        if not fits_into(tracer, shape_of(operand), value.shape):
            raise ValueError("could not broadcast input array")
        chosen = within(tracer, to_value(tracer, operand, dtype), value.shape)
        result = tracer.add("where", (test, chosen, result), {}, dtype, value.shape, "nan_to_num")
    return result


@rule(np.nan_to_num)
def nan_to_num(
    tracer: Tracer, x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    array = operand_of(tracer, x)
    dtype = dtype_of(array)
    value = to_value(tracer, array)
    if dtype.kind == "f":
        value = _finite(tracer, value, nan, posinf, neginf)
    elif dtype.kind == "c":
        real = np.dtype(f"f{dtype.itemsize // 2}")
        parts = [tracer.add(part, (value,), {}, real, value.shape) for part in ("real", "imag")]
        parts = [_finite(tracer, part, nan, posinf, neginf) for part in parts]
        value = tracer.add("complex", parts, {}, dtype, value.shape, "nan_to_num")
    if not copy and isinstance(x, SymArray):
        x.write(value)
        return x
    return SymArray(tracer, Storage(copied(tracer, value)), is_scalar=not value.shape)


def _is_infinite(infinity: float, tracer: Tracer, x: Any, out: Any = None) -> Any:
    number = number_of_numpy(tracer, x)
    if (dtype := dtype_of(operand_of(tracer, number))).kind == "c":
        raise TypeError(f"This operation is not supported for {dtype} values because it would be ambiguous.")
    return apply_ufunc(tracer, np.equal, (number, infinity), out)


rule(np.isposinf)(partial(_is_infinite, math.inf))
rule(np.isneginf)(partial(_is_infinite, -math.inf))


@rule(np.isclose)
def isclose(tracer: Tracer, a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    for tolerance in (rtol, atol):
        if isinstance(tolerance, (int, float)) and not math.isfinite(tolerance):
            raise tracer.error("np.isclose()", "NumPy warns of a tolerance that is not finite", LEAVE_IT_OUT)
        elif (
            isinstance(tolerance, (SymScalar, SymArray)) and not shape_of(tolerance) and dtype_of(tolerance).kind == "f"
        ):
            is_finite = apply_ufunc(tracer, np.isfinite, (tolerance,))
            tracer.check(to_value(tracer, is_finite, BOOL), "a tolerance that is not finite")
    with tracer.composite("isclose"):
        # Python's integers become Python's floats, which leave the other side its dtype.
        x, y = operand_of(tracer, a), operand_of(tracer, float(b) if isinstance(b, int) else b)
        if weak_type(y) is int:
            y = y * 1.0
        elif weak_type(y) is None and dtype_of(y).kind != "f":
            y = SymArray.fresh(tracer, to_value(tracer, y, np.result_type(dtype_of(y), 1.0)))
        limit = atol + rtol * abs(y)
        near = apply_ufunc(tracer, np.less_equal, (apply_ufunc(tracer, np.absolute, (x - y,)), limit))
        result = (near & apply_ufunc(tracer, np.isfinite, (y,))) | apply_ufunc(tracer, np.equal, (x, y))
        if equal_nan:
            result = result | (apply_ufunc(tracer, np.isnan, (x,)) & apply_ufunc(tracer, np.isnan, (y,)))
        return result


def _part(name: str, tracer: Tracer, val: Any) -> Any:
    """As NumPy has it: the attribute of what has one, else that of the array which it becomes."""
    refuse_kinds(val, f".{name}")
    if isinstance(val, (np.generic, bool, int, float, complex)):
        return getattr(val, name)
    if isinstance(val, np.ndarray) and not val.ndim:
        number = operand_of(tracer, getattr(val, name))
        return SymArray.fresh(tracer, to_value(tracer, number), is_scalar=False)
    return getattr(operand_of(tracer, val), name)


rule(np.real)(partial(_part, "real"))
rule(np.imag)(partial(_part, "imag"))


@rule(np.angle)
def angle(tracer: Tracer, z: Any, deg: bool = False) -> Any:
    array = number_of_numpy(tracer, operand_of(tracer, z))
    with tracer.composite("angle"):
        parts = (array.imag, array.real) if dtype_of(array).kind == "c" else (0, array)
        result = apply_ufunc(tracer, np.arctan2, parts)
        return result * (180 / math.pi) if deg else result
