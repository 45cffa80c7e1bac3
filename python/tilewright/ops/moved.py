"""The same elements in other places, as gathers: what reads them computes where they come from."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..symbolic.arrays import SymArray
from ..symbolic.from_data import gather, is_run_int, value_of_int
from ..symbolic.graph import INT64, Value
from ..symbolic.located import LEAVE_IT_OUT
from ..symbolic.registry import rule
from ..symbolic.scalars import SymInt
from ..symbolic.sizes import Size
from ..symbolic.tracer import Tracer
from .elementwise import copied
from .shapes import as_array, broadcast_to, normalize_axis


def _places(tracer: Tracer, shift: Value, size: Size, is_forward: bool) -> Value:
    """Where the elements of an axis come from that is rolled; `is_forward`: by few places, not by nearly all.

    translator/stages/positions.cpp knows this form, and reads vectors where the side named first holds.
    """
    extent = SymInt(tracer, size).as_value()
    around = tracer.add("remainder", (shift, extent), {}, INT64, ())
    at = tracer.add("iota", (), {"axis": 0}, INT64, (size,))
    before = tracer.add("subtract", (at, around), {}, INT64, (size,))
    beyond = tracer.add("subtract", (around, extent), {}, INT64, ())
    behind = tracer.add("subtract", (at, beyond), {}, INT64, (size,))
    named_first = ("greater_equal", before, behind) if is_forward else ("less", behind, before)
    truth = tracer.truth(named_first[0], at, around)
    places = tracer.add("where", (truth, *named_first[1:]), {}, INT64, (size,))
    for one in (around, before, behind, places):
        one.call_name = ""  # computed where it is read, however often
    return places


def _pairs(shift: Any, axis: Any) -> list[tuple[Any, Any]] | None:
    """The shifts, each with its axis, as np.roll broadcasts them; None where there is no rule."""
    shifts = list(shift) if type(shift) in (tuple, list) else [shift]
    axes = list(axis) if type(axis) in (tuple, list) else [axis]
    if not all(type(one) is int or isinstance(one, (np.integer, SymInt)) or is_run_int(one) for one in shifts):
        return None
    if not all(type(one) is int for one in axes):
        return None
    count = max(len(shifts), len(axes))
    if not (shifts and axes) or {len(shifts), len(axes)} - {1, count}:
        return None
    return list(zip(shifts * (count // len(shifts)), axes * (count // len(axes)), strict=True))


@rule(np.roll)
def roll(tracer: Tracer, a: Any, shift: Any, axis: Any = None) -> Any:
    """In one piece with what reads it, also where data say how far: as slices it would be stores, one for each part."""
    array = as_array(tracer, a)
    pairs = _pairs(shift, 0 if axis is None else axis)
    if pairs is None or any(tracer.is_of_data(size) for size in array.sizes):
        raise tracer.error(
            "np.roll()", "kernels know integers as shifts, of arrays whose sizes no data decide", LEAVE_IT_OUT
        )
    result = array.reshape(-1) if axis is None else array
    for one, k in pairs:
        axis_k = normalize_axis(k, result.ndim)
        is_forward = not (type(one) is int or isinstance(one, np.integer)) or bool(one >= 0)
        at = _places(tracer, value_of_int(tracer, one), tracer.resolve(result.sizes[axis_k]), is_forward)
        with tracer.composite("roll"):
            result = gather(result, at, axis_k, is_inside=True)
    if pairs:
        result.storage.c_order = axis is None or array.keeps_order_of_axes()
    return result.reshape(array.shape) if axis is None else result


def _repeated(tracer: Tracer, name: str, array: SymArray, times: list[Any], as_whole: bool) -> Any:
    """Each axis so many times: as a whole (0 1 2 0 1 2), or each element for itself (0 0 1 1 2 2)."""
    is_known = all(type(k) is int or isinstance(k, SymInt) for k in times)
    is_once = [type(k) is int and k == 1 for k in times]
    # NumPy keeps the order of the axes of what is there once.
    if not is_known or all(is_once) or any(type(k) is int and k < 0 for k in times):
        raise tracer.error(f"np.{name}()", "kernels know how many times as integers", LEAVE_IT_OUT)
    one = Size.constant(1)
    # Extents: of the array and of its repetitions with an axis for the times, and of the result.
    apart, seen, extents = [], [], []
    for n, size, k, once in zip(array.shape, array.sizes, times, is_once, strict=True):
        if size == one or once:
            apart.append(n)
            seen.append(n if once else k)
            extents.append(seen[-1])
        else:
            apart += [1, n] if as_whole else [n, 1]
            seen += [k, n] if as_whole else [n, k]
            extents.append(n * k)
    with tracer.composite(name):
        whole = array if len(apart) == array.ndim else array.reshape(tuple(apart))
        many = broadcast_to(tracer, whole, tuple(seen))
        for size in many.sizes:
            tracer.require(">=", size, 0, "negative dimensions are not allowed", ValueError)
        made = SymArray.fresh(tracer, copied(tracer, many.read()), is_scalar=False, c_order=True)
        return made if len(seen) == len(extents) else made.reshape(tuple(extents))


@rule(np.tile)
def tile(tracer: Tracer, A: Any, reps: Any) -> Any:  # noqa: N803
    array = as_array(tracer, A)
    times = list(reps) if type(reps) in (tuple, list) else [reps]
    rank = max(array.ndim, len(times))
    whole = array.reshape((*(1,) * (rank - array.ndim), *array.shape))
    return _repeated(tracer, "tile", whole, [*(1,) * (rank - len(times)), *times], as_whole=True)


@rule(np.repeat)
def repeat(tracer: Tracer, a: Any, repeats: Any, axis: Any = None) -> Any:
    array = as_array(tracer, a)
    if axis is None:
        array, axis = array.reshape(-1), 0
    k = normalize_axis(axis, array.ndim)
    times = [repeats if own == k else 1 for own in range(array.ndim)]
    return _repeated(tracer, "repeat", array, times, as_whole=False)
