"""Reductions: sum, prod, max, min, any, all, argmin, argmax and what NumPy builds from them."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..errors import TraceError
from ..light_dataclass import dataclass
from ..operations import REDUCED_BY
from ..symbolic.arrays import SymArray
from ..symbolic.graph import NEWAXIS, Value
from ..symbolic.registry import FUNCTIONS, OPERATIONS, rule, signature
from ..symbolic.scalars import SymInt, int_of
from ..symbolic.sizes import Size
from ..symbolic.tracer import Tracer
from .elementwise import apply_ufunc, store_exactly
from .operands import (
    BOOL,
    FLOAT64,
    INT64,
    NO_VALUE,
    check_dtype,
    chosen,
    dtype_of,
    fits_into,
    full,
    operand_of,
    shape_of,
    to_value,
)
from .shapes import normalize_axes, reshape_value, with_new_axes
from .stages import stage_of

HALF: np.dtype[Any] = np.dtype(np.float16)


def refuse_initial(tracer: Tracer, name: str, initial: Any) -> None:
    if initial is not NO_VALUE:
        raise tracer.error(f"np.{name}(initial=...)", "there is no rule for a start value",
                           "Combine it with the result instead.")  # fmt: skip


@dataclass(frozen=True)
class SomeChosen:
    """A `where=` that chooses an element, which the program checks: reductions without an identity may take it."""

    truth: SymArray


def truth_of(tracer: Tracer, name: str, where: Any, value: Value) -> Value | None:
    """Which elements of `value` a reduction goes over, as a truth that broadcasts to it; None for all of them."""
    if where is NO_VALUE or where is True:
        return None
    operand = where.truth if isinstance(where, SomeChosen) else operand_of(tracer, where)
    if dtype_of(operand) != BOOL:
        raise tracer.error(f"np.{name}(where=...) of {dtype_of(operand)}", "only booleans choose",
                           "Compare it (where=x != 0).")  # fmt: skip
    truth = to_value(tracer, operand)
    if not fits_into(tracer, truth.shape, value.shape):
        raise tracer.error(f"np.{name}(where=...) of another shape", "the mask would make the array larger",
                           "Broadcast the array to the shape of the mask.")  # fmt: skip
    return truth


def identity_of(operation: str, dtype: np.dtype[Any]) -> Any:
    """What changes no maximum or minimum."""
    if dtype == BOOL:
        return operation == "min"
    if dtype.kind == "f":
        return -math.inf if operation == "max" else math.inf
    limits = np.iinfo(dtype)
    return limits.min if operation == "max" else limits.max


def keep_dims(tracer: Tracer, value: Value, axes: Sequence[int]) -> Value:
    """The reduced axes again, with extent 1."""
    items, shape = with_new_axes(value.shape, axes)
    return tracer.add("index", (value,), {"index": items}, value.dtype, shape) if axes else value


def finish(tracer: Tracer, value: Value, axes: Sequence[int], keepdims: Any, out: Any, name: str) -> Any:
    if keepdims is not NO_VALUE:
        operator.index(getattr(keepdims, "hint", keepdims))  # NumPy's bool is none
        value = keep_dims(tracer, value, axes) if keepdims else value
    result = SymArray.fresh(tracer, value)
    return result if out is None else store_exactly(tracer, name, result, out)


def reduce_value(
    tracer: Tracer, operation: str, value: Value, axes: Sequence[int], call_name: str = "", **attributes: Any
) -> Value:
    """The reduction of a value that has the right dtype already."""
    shape = [size for axis, size in enumerate(value.shape) if axis not in axes]
    dtype = BOOL if operation in ("any", "all") else value.dtype
    return tracer.add(operation, (value,), {"axes": list(axes), **attributes}, dtype, shape, call_name or operation)


def _reduced(
    tracer: Tracer, operation: str, value: Value, dtype: np.dtype[Any], axes: Sequence[int], where: Any, identity: Any,
    keepdims: Any, out: Any,
) -> Any:  # fmt: skip
    """The reduction in `dtype` of what `where` chooses, with the identity in place of the rest."""
    truth = truth_of(tracer, operation, where, value)
    total = reduce_value(tracer, operation, chosen(tracer, tracer.cast(value, dtype), truth, identity), axes)
    return finish(tracer, total, axes, keepdims, out, operation)


def _reducing(tracer: Tracer, a: Any, axis: Any) -> tuple[Value, list[int]]:
    """An operand, and the axes that are reduced."""
    value = to_value(tracer, operand_of(tracer, a))
    return value, normalize_axes(axis, len(value.shape))


def reduction_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """What sums and products of integers are kept in."""
    if dtype.kind in "bi" and dtype.itemsize < 8:
        return INT64
    return np.dtype(np.uint64) if dtype.kind == "u" else dtype


def _add_like(
    operation: str, tracer: Tracer, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE, where: Any = NO_VALUE,
) -> Any:  # fmt: skip
    refuse_initial(tracer, operation, initial)
    value, axes = _reducing(tracer, a, axis)
    kept = reduction_dtype(value.dtype) if dtype is None else check_dtype(tracer, dtype)
    if operation == "prod":
        _refuse_complex(tracer, "prod", kept)
    return _reduced(tracer, operation, value, kept, axes, where, 1 if operation == "prod" else 0, keepdims, out)


rule(np.sum)(partial(_add_like, "sum"))
rule(np.prod)(partial(_add_like, "prod"))


def _refuse_complex(tracer: Tracer, name: str, dtype: np.dtype[Any]) -> None:
    if dtype.kind == "c":
        raise tracer.error(f"np.{name} of complex numbers", "there is no kernel for it",
                           "Compute it of their parts.")  # fmt: skip


def _extreme(
    operation: str, ufunc: str, tracer: Tracer, a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE, where: Any = NO_VALUE,
) -> Any:  # fmt: skip
    refuse_initial(tracer, operation, initial)
    value = to_value(tracer, operand_of(tracer, a))
    if where is not NO_VALUE and where is not True and not isinstance(where, SomeChosen):
        raise tracer.error(f"np.{operation}(where=...)", "nothing may be chosen, and it has no identity",
                           f"Take the elements under the mask (x[mask].{operation}()).")  # fmt: skip
    if value.dtype.kind == "c":
        raise tracer.error(f"np.{operation} of complex numbers", "they are not ordered",
                           "Compare their absolute values.")  # fmt: skip
    axes = normalize_axes(axis, len(value.shape))
    message = f"zero-size array to reduction operation {ufunc} which has no identity"
    # Also where the result is empty anyhow.
    for k in axes:
        tracer.require(">=", value.shape[k], 1, message, ValueError)
    kept = [tracer.resolve(size) for k, size in enumerate(value.shape) if k not in axes]
    if any(size.is_constant and size.constant_part == 0 for size in kept):
        empty = full(tracer, 0, value.dtype, kept)
        return finish(tracer, empty, axes, keepdims, out, operation)
    identity = identity_of(operation, value.dtype)
    return _reduced(tracer, operation, value, value.dtype, axes, where, identity, keepdims, out)


rule(np.max, np.amax)(partial(_extreme, "max", "maximum"))
rule(np.min, np.amin)(partial(_extreme, "min", "minimum"))


def _logical(
    operation: str,
    tracer: Tracer,
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    *,
    where: Any = NO_VALUE,
) -> Any:
    value, axes = _reducing(tracer, a, axis)
    return _reduced(tracer, operation, value, BOOL, axes, where, operation == "all", keepdims, out)


rule(np.any)(partial(_logical, "any"))
rule(np.all)(partial(_logical, "all"))


def _arg_extreme(
    operation: str, tracer: Tracer, a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO_VALUE
) -> Any:
    value = to_value(tracer, operand_of(tracer, a))
    rank = len(value.shape)
    keepdims = keepdims if keepdims is NO_VALUE else bool(keepdims)  # of the reductions these alone take anything
    _refuse_complex(tracer, operation, value.dtype)
    message = f"attempt to get {operation} of an empty sequence"
    if axis is None:
        if rank != 1:
            value = reshape_value(tracer, value, (tracer.total(value.shape),))
        axes, reduced = list(range(rank)), 0
    else:
        if isinstance(axis, (tuple, list)):
            raise TypeError(f"'{type(axis).__name__}' object cannot be interpreted as an integer")
        axes = normalize_axes(axis, max(rank, 1))
        if rank == 0:
            value, axes = reshape_value(tracer, value, (Size.constant(1),)), []
        reduced = axes[0] if axes else 0
    tracer.require(">=", value.shape[reduced], 1, message, ValueError)
    shape = [size for k, size in enumerate(value.shape) if k != reduced]
    result = tracer.add(operation, (value,), {"axis": reduced}, INT64, shape, operation)
    if keepdims is not NO_VALUE and keepdims and axis is None:
        items = [NEWAXIS] * rank
        result = tracer.add("index", (result,), {"index": items}, INT64, [Size.constant(1)] * rank)
        keepdims = NO_VALUE
    return finish(tracer, result, axes, keepdims, out, operation)


rule(np.argmin)(partial(_arg_extreme, "argmin"))
rule(np.argmax)(partial(_arg_extreme, "argmax"))


def count_of(tracer: Tracer, value: Value, axes: Sequence[int]) -> Any:
    """How many elements one result reduces, an int or a SymInt."""
    return int_of(tracer, tracer.total(value.shape[axis] for axis in axes))


def _count_chosen(tracer: Tracer, value: Value, truth: Value | None, axes: Sequence[int], keep: bool = False) -> Any:
    """How many elements each result reduces: a number, or with a truth int64 that broadcasts to the result."""
    if truth is None:
        return count_of(tracer, value, axes)
    truth = keep_dims(tracer, truth, range(len(value.shape) - len(truth.shape)))
    count: Any = SymArray.fresh(tracer, reduce_value(tracer, "sum", tracer.cast(truth, INT64), axes))
    if keep:
        count = SymArray.fresh(tracer, keep_dims(tracer, count.read(), axes))
    # Along an axis that the truth does not move along, all or none.
    same = [axis for axis in axes if tracer.resolve(truth.shape[axis]) == Size.constant(1)]
    times = count_of(tracer, value, same)
    return count if type(times) is int and times == 1 else count * np_count(tracer, times)


def _divide_by_count(tracer: Tracer, total: Value, count: Any) -> Value:
    """true_divide(total, np.intp(count), casting="unsafe") in the dtype of total, as in NumPy's _mean."""
    divided = apply_ufunc(tracer, np.true_divide, (SymArray.fresh(tracer, total), np_count(tracer, count))).read()
    return tracer.cast(divided, total.dtype)


def np_count(tracer: Tracer, count: Any) -> Any:
    """np.intp(count): a NumPy integer, which is not weak. What is NumPy's already stays as it is."""
    if isinstance(count, (SymArray, np.float64)):
        return count
    return SymArray.fresh(tracer, count.as_value()) if isinstance(count, SymInt) else np.int64(count)


def _sum_dtype(dtype: np.dtype[Any], asked: Any, tracer: Tracer) -> np.dtype[Any]:
    if asked is not None:
        return check_dtype(tracer, asked)
    return FLOAT64 if dtype.kind in "biu" else dtype


def _mean_of_halves(tracer: Tracer, total: Value, count: Any, is_number: bool) -> Value:
    """What NumPy's _mean makes of a float32 sum of float16; of a number it rounds the quotient, which is a float64, once."""
    divided = apply_ufunc(tracer, np.true_divide, (SymArray.fresh(tracer, total), np_count(tracer, count))).read()
    return tracer.cast(divided if is_number else tracer.cast(divided, total.dtype), HALF)


@rule(np.mean)
def mean(
    tracer: Tracer, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = NO_VALUE, *,
    where: Any = NO_VALUE,
) -> Any:  # fmt: skip
    with tracer.composite("mean"):
        value, axes = _reducing(tracer, a, axis)
        of_halves = value.dtype == HALF and dtype is None
        if of_halves and out is not None:
            raise tracer.error("np.mean(out=...) of float16", "NumPy leaves it the sum in float32 and divides that",
                               "Give it a dtype, or write the result into the array.")  # fmt: skip
        truth = truth_of(tracer, "mean", where, value)
        summed = np.dtype(np.float32) if of_halves else _sum_dtype(value.dtype, dtype, tracer)
        total = reduce_value(tracer, "sum", chosen(tracer, tracer.cast(value, summed), truth, 0), axes)
        count = _count_chosen(tracer, value, truth, axes)
        if of_halves:
            is_number = not total.shape and (keepdims is NO_VALUE or not keepdims)
            result = _mean_of_halves(tracer, total, count, is_number)
        else:
            result = _divide_by_count(tracer, total, count)
        return finish(tracer, result, axes, keepdims, out, "mean")


def _spread(
    name: str, tracer: Tracer, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
    keepdims: Any = NO_VALUE, *, where: Any = NO_VALUE, mean: Any = NO_VALUE, correction: Any = NO_VALUE,
) -> Any:  # fmt: skip
    """np.var, and np.std, which is its root."""
    if correction is not NO_VALUE:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    with tracer.composite(name):
        value, axes = _reducing(tracer, a, axis)
        kept = _sum_dtype(value.dtype, dtype, tracer)
        truth = truth_of(tracer, "var", where, value)
        if mean is NO_VALUE or mean is None:
            all_chosen = chosen(tracer, tracer.cast(value, kept), truth, 0)
            total = keep_dims(tracer, reduce_value(tracer, "sum", all_chosen, axes), axes)
            divisor: Any = _count_chosen(tracer, value, truth, axes, keep=True)
            center: Any = SymArray.fresh(tracer, _divide_by_count(tracer, total, divisor))
        else:
            center = operand_of(tracer, mean)
        difference = apply_ufunc(tracer, np.subtract, (SymArray.fresh(tracer, value), center))
        if difference.dtype.kind == "c":
            parts = [apply_ufunc(tracer, np.square, (part,)) for part in (difference.real, difference.imag)]
            squared = apply_ufunc(tracer, np.add, parts).read()
        else:
            squared = apply_ufunc(tracer, np.square, (difference,)).read()
        squared = tracer.cast(squared, squared.dtype if dtype is None else kept)
        total = reduce_value(tracer, "sum", chosen(tracer, squared, truth, 0), axes)
        divisor = _count_chosen(tracer, value, truth, axes) - ddof
        if isinstance(divisor, SymArray):
            # The degrees of freedom are an array, and a float one with a float ddof.
            divisor = apply_ufunc(tracer, np.maximum, (divisor, 0))
        elif isinstance(divisor, (int, SymInt)):
            divisor = 0 if divisor < 0 else divisor
        else:
            divisor = np.float64(max(float(divisor), 0.0))
        result = _divide_by_count(tracer, total, divisor)
        if name == "std":
            result = tracer.add("sqrt", (result,), {}, result.dtype, result.shape)
        return finish(tracer, result, axes, keepdims, out, name)


rule(np.var)(partial(_spread, "var"))
rule(np.std)(partial(_spread, "std"))


@rule(np.ptp)
def ptp(tracer: Tracer, a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO_VALUE) -> Any:
    with tracer.composite("ptp"):
        high = _extreme("max", "maximum", tracer, a, axis, keepdims=keepdims)
        low = _extreme("min", "minimum", tracer, a, axis, keepdims=keepdims)
        return apply_ufunc(tracer, np.subtract, (high, low), out)


@rule(np.count_nonzero)
def count_nonzero(tracer: Tracer, a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    with tracer.composite("count_nonzero"):
        value, axes = _reducing(tracer, a, axis)
        ones = tracer.cast(tracer.cast(value, BOOL), INT64)
        return finish(tracer, reduce_value(tracer, "sum", ones, axes), axes, keepdims, None, "count_nonzero")


def reduce_ufunc(tracer: Tracer, ufunc: np.ufunc, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """ufunc.reduce(array, axis=0, ...): the NumPy function of that reduction."""
    name = next((name for name, by in REDUCED_BY.items() if getattr(np, by) is ufunc), "")
    names = ("array", "axis", "dtype", "out", "keepdims", "initial", "where")
    given = dict(zip(names, args, strict=False)) | kwargs
    if not name:
        before = tracer.made
        try:
            return OPERATIONS.reduced_by_loop(tracer, ufunc, given)
        except TraceError as error:
            tracer.undone.append(range(before, tracer.made))
            refusal = error
        with tracer.no_kernel(refusal):
            staged = stage_of(tracer, ufunc.reduce, args, kwargs)
        if staged is NotImplemented:
            raise refusal
        return staged
    out = given.get("out")
    call: dict[str, Any] = {key: given[key] for key in ("keepdims", "where", "initial", "dtype") if key in given}
    of_number = not shape_of(operand_of(tracer, given["array"]))  # in which the first axis is none
    call |= {"axis": given.get("axis", None if of_number else 0), "out": out[0] if isinstance(out, tuple) else out}
    handler = FUNCTIONS[getattr(np, name)]
    taken = signature(handler).parameters
    if "initial" not in taken:
        refuse_initial(tracer, f"{ufunc.__name__}.reduce", call.pop("initial", NO_VALUE))
    if "dtype" not in taken and (dtype := call.pop("dtype", None)) is not None:
        own = BOOL if name in ("any", "all") else dtype_of(operand_of(tracer, given["array"]))
        if np.dtype(dtype) != own:
            raise tracer.error(f"np.{ufunc.__name__}.reduce(dtype={np.dtype(dtype)})", f"it reduces to {own} alone",
                               "Convert the array before, or the result.")  # fmt: skip
    if dtype_of(operand_of(tracer, given["array"])).kind == "c" and name in ("max", "min", "prod"):
        return OPERATIONS.call_numpy(tracer, getattr(np, name), [given["array"]], call)
    return handler(tracer, given["array"], **call)
