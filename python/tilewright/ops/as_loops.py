"""NumPy functions as the loops that compute them: Python functions that are traced in the place of NumPy's C code.

A rule looks whether its loop computes what NumPy does with these arguments, to the bit where NumPy's order is known; all
else is a stage. Loops of a program become vector code over rows, results or queries, in parallel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..symbolic.arrays import SymArray
from ..symbolic.from_data import clamped_position, gather, inside_position, value_of_int
from ..symbolic.located import LEAVE_IT_OUT
from ..symbolic.refusals import CalleeNotSeen
from ..symbolic.registry import provides, rule
from ..symbolic.scalars import SymInt, size_of
from ..symbolic.tracer import Tracer
from .operands import FLOAT64, INT64, NO_VALUE, check_dtype, full, is_symbolic
from .reductions import reduction_dtype
from .shapes import as_array, normalize_axis

# Their results have the dtype of what they are given, and any order of operands but NumPy's would show.
_ACCUMULATED = (np.add, np.multiply, np.maximum, np.minimum)


def refusal(tracer: Tracer, name: str, why: str) -> Exception:
    return tracer.error(f"np.{name}()", f"no kernel computes it {why}", LEAVE_IT_OUT)


def followed(tracer: Tracer, name: str, function: Any, *args: Any) -> Any:
    """What a Python function gives, traced."""
    if tracer.follow is None:
        raise refusal(tracer, name, "without the function's source")
    with tracer.composite(name):
        try:
            return tracer.follow(function, list(args), {})
        except CalleeNotSeen as error:
            raise tracer.error(f"np.{name}()", f"in it {error.what}, and NumPy calls it where nobody looks") from None


def inside(array: Any, positions: Any) -> Any:
    """array[positions] of positions that are inside of it."""
    return array[positions]


@rule(inside)
def _inside(tracer: Tracer, array: Any, positions: Any) -> SymArray:
    return gather(array, as_array(tracer, positions).read(), 0, is_inside=True)


def clamped(position: Any, extent: Any) -> Any:
    """A position in an axis of so many elements, the nearest one where it is outside: nothing checks it."""
    return min(max(position, 0), extent - 1)


@rule(clamped)
def _clamped(tracer: Tracer, position: Any, extent: Any) -> SymInt:
    return SymInt(tracer, clamped_position(tracer, value_of_int(tracer, position), size_of(extent)))


def checked_before(position: Any, extent: Any) -> Any:
    """A position in an axis, from its end where it is negative: what is outside was found before."""
    return position + extent if position < 0 else position


@rule(checked_before)
def _checked_before(tracer: Tracer, position: Any, extent: Any) -> SymInt:
    return SymInt(tracer, inside_position(tracer, value_of_int(tracer, position), size_of(extent)))


# ---- scans


def _rows_accumulated(ufunc: np.ufunc, a: Any, axis: int) -> Any:
    out = np.empty(a.shape, a.dtype)
    rows, results = np.moveaxis(a, axis, 0), np.moveaxis(out, axis, 0)
    results[:1] = rows[:1]
    for i in range(1, rows.shape[0]):
        results[i] = ufunc(results[i - 1], rows[i])
    return out


def _accumulated(ufunc: np.ufunc, a: Any, neutral: Any) -> Any:
    out = np.empty(a.shape, a.dtype)
    last = neutral
    for i in range(a.shape[0]):
        last = ufunc(last, a[i])
        out[i] = last
    return out


def _neutral(ufunc: np.ufunc, dtype: np.dtype[Any]) -> Any:
    """What leaves the other operand as it is, the sign of a zero too."""
    if ufunc is np.multiply:
        return dtype.type(1)
    if ufunc is np.add:
        return dtype.type(-0.0)
    if dtype.kind == "f":
        return dtype.type(np.inf if ufunc is np.minimum else -np.inf)
    limits = np.iinfo(dtype)
    return dtype.type(limits.max if ufunc is np.minimum else limits.min)


def accumulate(
    tracer: Tracer, ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> SymArray:
    """ufunc.accumulate along an axis that is not the last: whole rows at a time, in NumPy's order. Of a vector, one by one in
    a loop, whose iterations would wait for Python; elsewhere two passes of all threads or NumPy's own call are as fast."""
    name = f"{ufunc.__name__}.accumulate"
    held = as_array(tracer, array)
    is_vector = held.ndim == 1 and len(tracer.blocks) > 1
    takes_axis = is_vector or (axis is not None and held.ndim > 1)
    if ufunc not in _ACCUMULATED or out is not None or not takes_axis:
        raise refusal(tracer, name, "but of add, multiply, maximum and minimum along an axis of several")
    k = normalize_axis(axis or 0, held.ndim)
    if (k == held.ndim - 1 and not is_vector) or held.dtype.kind not in "biuf":
        raise refusal(tracer, name, "along the last axis, nor of complex numbers")
    if dtype is None:
        kept = reduction_dtype(held.dtype) if ufunc in (np.add, np.multiply) else held.dtype
    else:
        kept = check_dtype(tracer, dtype)
    if kept.kind not in "iuf":
        raise refusal(tracer, name, f"in {kept}")
    moved = held if held.dtype == kept else held.astype(kept)
    if is_vector:
        return followed(tracer, name, _accumulated, ufunc, moved, _neutral(ufunc, kept))  # type: ignore[no-any-return]
    made: SymArray = followed(tracer, name, _rows_accumulated, ufunc, moved, k)
    made.storage.c_order = held.keeps_order_of_axes()
    return made


def _register_scan(function: Any, ufunc: np.ufunc) -> None:
    @rule(function)
    def scan(tracer: Tracer, a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> SymArray:
        return accumulate(tracer, ufunc, a, axis, dtype, out)


_register_scan(np.cumsum, np.add)
_register_scan(np.cumprod, np.multiply)


# ---- functions of vectors


def _along(function: Any, a: Any, axis: int, args: Any, options: Any) -> Any:
    last = np.moveaxis(a, axis, -1)
    rows = last.reshape(-1, last.shape[-1])
    first = np.asanyarray(function(rows[0], *args, **options))
    out = np.zeros((rows.shape[0], *first.shape), first.dtype)
    for i in range(rows.shape[0]):
        out[i] = function(rows[i], *args, **options)
    results = out.reshape(last.shape[:-1] + first.shape)
    outer = last.ndim - 1
    return np.moveaxis(results, tuple(range(outer, results.ndim)), tuple(range(axis, axis + first.ndim)))


@rule(np.apply_along_axis)
def apply_along_axis(tracer: Tracer, func1d: Any, axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """A loop over the vectors along an axis; the dtype of all results is that of the first, as in NumPy."""
    array = as_array(tracer, arr)
    k = normalize_axis(axis, array.ndim)
    for n, size in enumerate(array.sizes):
        if n != k:
            tracer.require(">=", size, 1, "Cannot apply_along_axis when any iteration dimensions are 0", ValueError)
    return followed(tracer, "apply_along_axis", _along, func1d, array, k, args, kwargs)


# ---- reductions


def _largest_number(a: Any, axis: Any, keepdims: Any) -> Any:
    found = np.max(np.where(np.isnan(a), -np.inf, a), axis=axis, keepdims=keepdims)
    if np.any(found == -np.inf):
        raise ValueError("of elements that are all NaN the result is NaN")
    return found


def _smallest_number(a: Any, axis: Any, keepdims: Any) -> Any:
    found = np.min(np.where(np.isnan(a), np.inf, a), axis=axis, keepdims=keepdims)
    if np.any(found == np.inf):
        raise ValueError("of elements that are all NaN the result is NaN")
    return found


_OF_NUMBERS = {np.fmax: _largest_number, np.fmin: _smallest_number}


@provides
def reduced_by_loop(tracer: Tracer, ufunc: np.ufunc, given: Mapping[str, Any]) -> Any:
    """fmax.reduce and fmin.reduce of floats; `given`: the parameters of ufunc.reduce. Where a result may be NaN, or an
    infinity in the place of NaN, NumPy runs the call."""
    name = f"{ufunc.__name__}.reduce"
    asked = {key for key, value in given.items() if value is not None and value is not NO_VALUE}
    if ufunc not in _OF_NUMBERS or not asked <= {"array", "axis", "keepdims"} or tracer.checked is None:
        raise refusal(tracer, name, "with these options")
    array = as_array(tracer, given["array"])
    if array.dtype.kind != "f":
        raise refusal(tracer, name, f"of {array.dtype}")
    return followed(tracer, name, _OF_NUMBERS[ufunc], array, given.get("axis", 0), given.get("keepdims", False))


# ---- searches


def _places(a: Any, v: Any, before: Any) -> Any:
    """How many elements of a sorted array stand before each of v: the same halves for all of them."""
    at = np.zeros(v.shape, np.int64)
    length = a.shape[0]
    while length > 1:
        half = length // 2
        at = np.where(before(inside(a, at + (half - 1)), v), at + half, at)
        length -= half
    return at + before(inside(a, at), v)


# NaN is behind all numbers.
def _less(x: Any, key: Any) -> Any:
    return (x < key) | (np.isnan(key) & ~np.isnan(x))


def _less_or_equal(x: Any, key: Any) -> Any:
    return (x <= key) | np.isnan(key)


def _less_number(x: Any, key: Any) -> Any:
    return x < key


def _less_or_equal_number(x: Any, key: Any) -> Any:
    return x <= key


@rule(np.searchsorted)
def searchsorted(tracer: Tracer, a: Any, v: Any, side: str = "left", sorter: Any = None) -> SymArray:
    array, keys = as_array(tracer, a), as_array(tracer, v)
    if sorter is not None or side not in ("left", "right") or array.ndim != 1 or not keys.ndim:
        raise refusal(tracer, "searchsorted", "but of arrays in a vector, without a sorter")
    kept = np.promote_types(array.dtype, keys.dtype)
    if kept.kind not in "biuf":
        raise refusal(tracer, "searchsorted", f"in {kept}")
    if tracer.is_of_data(array.sizes[0]):
        raise refusal(tracer, "searchsorted", "in as many elements as the data decide")
    if tracer.decide("==", array.sizes[0], 0):
        return SymArray.fresh(tracer, full(tracer, 0, INT64, keys.sizes), is_scalar=False)
    array, keys = (one if one.dtype == kept else one.astype(kept) for one in (array, keys))
    has_nan = kept.kind == "f"
    less = _less if has_nan else _less_number
    less_or_equal = _less_or_equal if has_nan else _less_or_equal_number
    return followed(  # type: ignore[no-any-return]
        tracer, "searchsorted", _places, array, keys, less if side == "left" else less_or_equal
    )


def _digitized(x: Any, bins: Any, side: Any) -> Any:
    falls = bins[0] > bins[-1]
    found = np.searchsorted(np.where(falls, bins[::-1], bins), x, side)
    return np.where(falls, bins.shape[0] - found, found)


@rule(np.digitize)
def digitize(tracer: Tracer, x: Any, bins: Any, right: Any = False) -> SymArray:
    keys, edges = as_array(tracer, x), as_array(tracer, bins)
    if not keys.ndim or edges.ndim != 1 or is_symbolic(right) or keys.dtype.kind == "c" or edges.dtype.kind == "c":
        raise refusal(tracer, "digitize", "but of arrays in a vector of edges")
    if tracer.is_of_data(edges.sizes[0]) or tracer.decide("==", edges.sizes[0], 0):
        raise refusal(tracer, "digitize", "in no edges, or as many as the data decide")
    ordered = followed(tracer, "digitize", _in_order, edges)
    tracer.check(ordered.read(), "edges of np.digitize() that neither rise nor fall")
    return followed(  # type: ignore[no-any-return]
        tracer, "digitize", _digitized, keys, edges, "left" if right else "right"
    )


def _in_order(bins: Any) -> Any:
    rises = np.where(bins[0] > bins[-1], bins[::-1], bins)
    return np.all(rises[1:] >= rises[:-1])


# ---- interpolation


def _interpolated(x: Any, xp: Any, fp: Any, left: Any, right: Any, before: Any) -> Any:
    """As np.interp's C code has it: a NaN that an infinity makes from one side may be a number from the other."""
    last = xp.shape[0] - 1
    at = _places(xp, x, before) - 1
    begin = np.minimum(np.maximum(at, 0), last - 1)
    x0, x1, f0, f1 = inside(xp, begin), inside(xp, begin + 1), inside(fp, begin), inside(fp, begin + 1)
    slope = (f1 - f0) / (x1 - x0)
    y, back = slope * (x - x0) + f0, slope * (x - x1) + f1
    y = np.where(np.isnan(y), np.where(np.isnan(back) & (f0 == f1), f0, back), y)
    y = np.where(x == x0, f0, y)
    y = np.where(at >= last, fp[last], y)
    y = np.where(x < xp[0], left, np.where(x > xp[last], right, y))
    return np.where(np.isnan(x), x, y)


def _of_one_point(x: Any, xp: Any, fp: Any, left: Any, right: Any) -> Any:
    return np.where(x < xp[0], left, np.where(x > xp[0], right, fp[0]))


def _rises(points: Any) -> Any:
    return np.all(points[1:] >= points[:-1])


@rule(np.interp)
def interp(tracer: Tracer, x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Of points that rise: what others give depends on the order in which NumPy searches."""
    keys, points, values = as_array(tracer, x), as_array(tracer, xp), as_array(tracer, fp)
    ends = [end for end in (left, right) if end is not None]
    is_known = period is None and all(type(end) in (int, float) for end in ends) and keys.ndim > 0
    if not is_known or points.ndim != 1 or values.ndim != 1:
        raise refusal(tracer, "interp", "but of arrays between points in a vector, with numbers beyond its ends")
    if any(one.dtype.kind not in "biuf" for one in (keys, points, values)):
        raise refusal(tracer, "interp", "of complex numbers")
    is_of_data = any(tracer.is_of_data(one.sizes[0]) for one in (points, values))
    if is_of_data and tracer.resolve(points.sizes[0]) == tracer.resolve(values.sizes[0]):
        count = points.shape[0].as_value()
        tracer.check(tracer.truth("greater_equal", count, 2), "np.interp() between fewer than two points")
    elif is_of_data or tracer.decide("==", points.sizes[0], 0):
        raise refusal(tracer, "interp", "between no points, or numbers of points of which each data decide")
    else:
        tracer.match(points.sizes[0], values.sizes[0], "fp and xp are not of the same length.")
    keys, points, values = (one if one.dtype == FLOAT64 else one.astype(FLOAT64) for one in (keys, points, values))
    left = values[0] if left is None else float(left)
    right = values[-1] if right is None else float(right)
    if not is_of_data and tracer.decide("==", points.sizes[0], 1):
        return followed(tracer, "interp", _of_one_point, keys, points, values, left, right)
    tracer.check(followed(tracer, "interp", _rises, points).read(), "points of np.interp() that do not rise")
    return followed(tracer, "interp", _interpolated, keys, points, values, left, right, _less_or_equal_number)


# ---- filters


def _all_sums(a: Any, v: Any) -> Any:
    """All sums of products; v is no longer than a, and finite: beside the ends of a its numbers are multiplied by zero."""
    taps, n = v.shape[0], a.shape[0]
    padded = np.zeros(n + 2 * (taps - 1), a.dtype)
    padded[taps - 1 : taps - 1 + n] = a
    return _sums_inside(padded, v)


def _sums_inside(a: Any, v: Any) -> Any:
    """Those in which all of v takes part. Sixteen products are added one by one, then these sums: so many roundings fewer.
    (The number stands in the code, since globals are values of the call.)"""
    taps = v.shape[0]
    count = a.shape[0] - taps + 1
    total, part = np.zeros(count, a.dtype), np.zeros(count, a.dtype)
    for k in range(taps):
        product = a[taps - 1 - k : taps - 1 - k + count] * v[k]
        if k % 16 == 0:
            total, part = total + part, product
        else:
            part = part + product
    return total + part


def _are_finite(v: Any) -> Any:
    """Said by a sum, since searches allow other roundings than NumPy's where a program has one (tolerance.py): these sums
    of products are loops, which otherwise have NumPy's very bits."""
    return np.sum(v - v) == 0


@rule(np.convolve)
def convolve(tracer: Tracer, a: Any, v: Any, mode: str = "full") -> SymArray:
    return _products_summed(tracer, "convolve", a, v, mode)


def _products_summed(tracer: Tracer, name: str, a: Any, v: Any, mode: str) -> SymArray:
    signal, taps = as_array(tracer, a), as_array(tracer, v)
    if signal.ndim != 1 or taps.ndim != 1 or mode not in ("full", "same", "valid"):
        raise refusal(tracer, name, "but of vectors")
    kept = np.promote_types(signal.dtype, taps.dtype)
    if kept.kind not in "iuf":
        raise refusal(tracer, name, f"in {kept}")
    if any(tracer.is_of_data(one.sizes[0]) or tracer.decide("==", one.sizes[0], 0) for one in (signal, taps)):
        raise refusal(tracer, name, "of no elements, or as many as the data decide")
    if tracer.decide("<", signal.sizes[0], taps.sizes[0]):
        signal, taps = taps, signal
    wide = np.dtype(np.float32) if kept == np.float16 else kept  # NumPy adds products of float16 in float32
    signal, taps = (one if one.dtype == wide else one.astype(wide) for one in (signal, taps))
    n, m = signal.shape[0], taps.shape[0]
    if wide.kind == "f":
        finite = followed(tracer, name, _are_finite, taps)
        tracer.check(finite.read(), f"numbers of np.{name}()'s shorter argument that are not finite")
    if mode == "valid":
        sums = followed(tracer, name, _sums_inside, signal, taps)
    else:
        sums = followed(tracer, name, _all_sums, signal, taps)
        sums = sums if mode == "full" else sums[(m - 1) // 2 : (m - 1) // 2 + n].copy()
    return sums if wide == kept else sums.astype(kept)  # type: ignore[no-any-return]


@rule(np.correlate)
def correlate(tracer: Tracer, a: Any, v: Any, mode: str = "valid") -> SymArray:
    """As np.correlate() has it: of a longer v, what the two give the other way round, backwards."""
    one, other = as_array(tracer, a), as_array(tracer, v)
    known = one.ndim == other.ndim == 1 and not any(tracer.is_of_data(each.sizes[0]) for each in (one, other))
    if known and tracer.decide("<", one.sizes[0], other.sizes[0]):
        return _products_summed(tracer, "correlate", other, one[::-1], mode)[::-1].copy()  # type: ignore[no-any-return]
    return _products_summed(tracer, "correlate", one, other[::-1], mode)
