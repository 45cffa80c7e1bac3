"""Functions that NumPy writes in terms of others and that its own source cannot be followed through."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..symbolic.arrays import SymArray
from ..symbolic.registry import rule
from ..symbolic.scalars import SymInt, SymScalar
from ..symbolic.sizes import Size
from ..symbolic.storage import Storage
from ..symbolic.tracer import Tracer
from .elementwise import apply_ufunc, common_dtype, copied, store_exactly
from .linalg import product
from .operands import (
    BOOL,
    INT64,
    broadcast,
    broadcast_shapes,
    dtype_of,
    filling,
    fits_into,
    is_symbolic,
    operand_of,
    shape_of,
    to_value,
    weak_type,
)
from .shapes import as_array, reshape_value


@rule(np.round, np.around)
def round_rule(tracer: Tracer, a: Any, decimals: Any = 0, out: Any = None) -> Any:
    array = as_array(tracer, a)
    places = decimals.__index__()
    with tracer.composite("round"):
        if array.dtype.kind in "biu":
            if places < 0 or (places and array.dtype == BOOL):
                raise tracer.error(f"np.round(decimals={places}) of {array.dtype}", "there is no rule for it",
                                   "Convert it with astype(float).")  # fmt: skip
            if array.dtype == BOOL:
                array = array.astype(np.float16)  # as NumPy's rint has it
            result: Any = SymArray(tracer, Storage(copied(tracer, array.read())), is_scalar=not array.sizes)
        elif array.dtype.kind == "c":
            parts = [round_rule(tracer, part, places) for part in (array.real, array.imag)]
            value = tracer.add("complex", [part.read() for part in parts], {}, array.dtype, array.read().shape, "round")
            result = SymArray(tracer, Storage(value), is_scalar=not array.sizes)
        elif places == 0:
            result = apply_ufunc(tracer, np.rint, (array,))
        else:
            factor = float(10 ** abs(places))
            scale, unscale = (np.multiply, np.true_divide) if places > 0 else (np.true_divide, np.multiply)
            scaled = apply_ufunc(tracer, np.rint, (apply_ufunc(tracer, scale, (array, factor)),))
            result = apply_ufunc(tracer, unscale, (scaled, factor))
        return result if out is None else store_exactly(tracer, "round", result, out)


@rule(np.min_scalar_type)
def min_scalar_type(tracer: Tracer, a: Any, /) -> Any:
    if not isinstance(a, SymArray) or not a.sizes:
        raise tracer.error(
            "np.min_scalar_type() of a number of the run", "its value decides", "Use the dtype that is meant."
        )
    return a.dtype


@rule(np.select)
def select(tracer: Tracer, condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not condlist:
        raise ValueError("select with an empty condition list is not possible")
    choices = [operand_of(tracer, choice) for choice in (*choicelist, default)]
    dtype = common_dtype(*choices)
    tests = [operand_of(tracer, condition) for condition in condlist]
    if any(dtype_of(test) != BOOL for test in tests):
        raise TypeError("invalid entry in condlist: should be boolean ndarray")
    with tracer.composite("select"):
        result = to_value(tracer, choices[-1], dtype)
        for test, choice in zip(reversed(tests), reversed(choices[:-1]), strict=True):
            shape = broadcast_shapes(tracer, [shape_of(test), shape_of(choice), result.shape])
            values = (to_value(tracer, test, BOOL), to_value(tracer, choice, dtype), result)
            result = tracer.add("where", values, {}, dtype, shape)
        return SymArray.fresh(tracer, result, is_scalar=False)


@rule(np.meshgrid)
def meshgrid(tracer: Tracer, *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    if not copy:
        raise tracer.error(
            "np.meshgrid(copy=False)", "its results are views that overlap themselves", "Leave copy out."
        )
    order = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        order[:2] = [1, 0]
    parts = []
    for position, x in enumerate(xi):
        flat = as_array(tracer, x).reshape(-1)
        key = tuple(slice(None) if axis == order[position] else None for axis in range(len(xi)))
        parts.append(flat[key])
    if sparse:
        return tuple(SymArray.fresh(tracer, copied(tracer, part.read()), is_scalar=False) for part in parts)
    shape = broadcast_shapes(tracer, [part.sizes for part in parts])
    return tuple(SymArray.fresh(tracer, broadcast(tracer, part.read(), shape), is_scalar=False) for part in parts)


def _triangle(lower: bool, tracer: Tracer, m: Any, k: Any = 0) -> Any:
    array = as_array(tracer, m)
    if array.ndim < 2:
        raise tracer.error("a triangle of a vector", "there is no rule for it", "Use a matrix.")
    rows, columns = (tracer.resolve(size) for size in array.sizes[-2:])
    row = tracer.add("iota", (), {"axis": 0}, INT64, (rows, Size.constant(1)))
    column = tracer.add("iota", (), {"axis": 1}, INT64, (Size.constant(1), columns))
    limit = tracer.add("add", (row, to_value(tracer, k, INT64)), {}, INT64, row.shape)
    inside = tracer.add("less_equal" if lower else "greater_equal", (column, limit), {}, BOOL, (rows, columns))
    zero = tracer.constant(0, array.dtype)
    name = "tril" if lower else "triu"
    return SymArray.fresh(tracer, tracer.add("where", (inside, array.read(), zero), {}, array.dtype, array.sizes, name))


rule(np.tril)(partial(_triangle, True))
rule(np.triu)(partial(_triangle, False))


@rule(np.tensordot)
def tensordot(tracer: Tracer, a: Any, b: Any, axes: Any = 2) -> Any:
    x, y = as_array(tracer, a), as_array(tracer, b)
    if isinstance(axes, (tuple, list)):
        left, right = (list(part) if isinstance(part, (tuple, list)) else [part] for part in axes)
    else:
        count = axes.__index__()
        left, right = list(range(x.ndim - count, x.ndim)), list(range(count))
    left, right = [k % x.ndim for k in left], [k % y.ndim for k in right]
    if len(left) != len(right):
        raise ValueError("shape-mismatch for sum")
    for i, j in zip(left, right, strict=True):
        tracer.match(x.sizes[i], y.sizes[j], "shape-mismatch for sum")
    kept_x = [k for k in range(x.ndim) if k not in left]
    kept_y = [k for k in range(y.ndim) if k not in right]
    with tracer.composite("tensordot"):
        rows = x.transpose(kept_x + left)
        columns = y.transpose(right + kept_y)
        inner = tracer.total([x.sizes[k] for k in left])
        outer_x = [x.sizes[k] for k in kept_x]
        outer_y = [y.sizes[k] for k in kept_y]

        def with_shape(array: SymArray, shape: list[Size]) -> SymArray:
            return SymArray.fresh(tracer, reshape_value(tracer, array.read(), shape), is_scalar=False)

        left_matrix = with_shape(rows, [tracer.total(outer_x), inner])
        right_matrix = with_shape(columns, [inner, tracer.total(outer_y)])
        result = product(tracer, left_matrix, right_matrix, "tensordot")
        return with_shape(result, [tracer.resolve(size) for size in outer_x + outer_y])


@rule(np.result_type)
def result_type(tracer: Tracer, *arrays_and_dtypes: Any) -> Any:
    parts = [
        (type(x.hint)(0) if isinstance(x, (SymInt, SymScalar)) else x.dtype if isinstance(x, SymArray) else x)
        for x in arrays_and_dtypes
    ]
    return np.result_type(*parts)


@rule(np.can_cast)
def can_cast(tracer: Tracer, from_: Any, to: Any, casting: Any = "safe") -> bool:
    return np.can_cast(from_.dtype if isinstance(from_, SymArray) else from_, to, casting)


@rule(np.isscalar)
def isscalar(tracer: Tracer, element: Any) -> bool:
    if isinstance(element, SymArray):
        return element.is_scalar
    return isinstance(element, (SymInt, SymScalar)) or np.isscalar(element)


@rule(np.iterable)
def iterable(tracer: Tracer, y: Any) -> bool:
    if isinstance(y, SymArray):
        return y.ndim > 0
    return not isinstance(y, (SymInt, SymScalar)) and bool(np.iterable(y))


@rule(np.ma.isMaskedArray)
def is_masked(tracer: Tracer, x: Any) -> bool:
    """What is traced is an array of no other class."""
    return False if is_symbolic(x) else bool(np.ma.isMaskedArray(x))


@rule(np.iscomplexobj)
def iscomplexobj(tracer: Tracer, x: Any) -> bool:
    return dtype_of(operand_of(tracer, x)).kind == "c" if is_symbolic(x) else bool(np.iscomplexobj(x))


@rule(np.isrealobj)
def isrealobj(tracer: Tracer, x: Any) -> bool:
    return not iscomplexobj(tracer, x)


@rule(np.copyto)
def copyto(tracer: Tracer, dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if not isinstance(dst, SymArray):
        raise tracer.error("np.copyto into an array made outside of the trace", "writes to it would be lost",
                           "Make the array inside of the function with np.empty.")  # fmt: skip
    if dst.is_scalar:
        raise TypeError(f"copyto() argument 1 must be a numpy.ndarray, not numpy.{dst.dtype.type.__name__}")
    if dst is src and where is True:
        return  # before NumPy looks whether it may write
    source = operand_of(tracer, src)
    adapts = weak_type(source) is int and dst.dtype.kind in "iu"
    if not adapts and not np.can_cast(dtype_of(source), dst.dtype, casting):  # type: ignore[arg-type]
        raise TypeError(
            f"Cannot cast scalar from {dtype_of(source)!r} to {dst.dtype!r} according to the rule '{casting}'"
        )
    old = dst.read()
    new = filling(tracer, source, dst.dtype)
    operands = [shape_of(source)]
    if where is not True:
        if dtype_of(operand_of(tracer, where)) != BOOL:
            raise tracer.error("np.copyto(where=...) of a mask that is not bool", "NumPy refuses it", "Compare it.")
        operands.append(shape_of(operand_of(tracer, where)))
    if not fits_into(tracer, broadcast_shapes(tracer, operands), dst.sizes):
        raise ValueError("could not broadcast input array")
    if where is True:
        dst.write(broadcast(tracer, new, dst.sizes))
        return
    test = to_value(tracer, operand_of(tracer, where), BOOL)
    dst.write(tracer.add("where", (test, new, old), {}, dst.dtype, dst.sizes, "copyto"))


@rule(np.lib.array_utils.normalize_axis_index)
def normalize_axis_index(tracer: Tracer, axis: Any, ndim: Any, msg_prefix: Any = None) -> int:
    """Which axis decides the program."""
    return int(np.lib.array_utils.normalize_axis_index(axis.__index__(), ndim.__index__(), msg_prefix))
