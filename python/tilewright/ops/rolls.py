"""np.roll by what only the run knows, as an index of a loop: a part of the array beside itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..symbolic.arrays import SymArray, before_regions
from ..symbolic.from_data import size_from_data, value_of_int
from ..symbolic.graph import INT64, WHOLE, Slice
from ..symbolic.registry import rule
from ..symbolic.scalars import RunScalar, SymInt
from ..symbolic.sizes import Size
from ..symbolic.tracer import Tracer
from .as_loops import followed
from .shapes import as_array, normalize_axis


@rule(np.roll)
def roll(tracer: Tracer, a: Any, shift: Any, axis: Any = None) -> Any:
    by_axis = axis is not None
    shifts, axes = (list(one) if isinstance(one, (list, tuple)) else [one] for one in (shift, axis))
    if not any(_is_of_the_run(tracer, one) for one in shifts) or (not by_axis and len(shifts) > 1):
        # Two slices of sizes that are known.
        return followed(tracer, "roll", getattr(np.roll, "__wrapped__", np.roll), a, shift, axis)
    array = as_array(tracer, a)
    whole = array if by_axis else array.reshape(-1)
    steps, along = np.broadcast_arrays(np.empty(len(shifts)), np.empty(len(axes)))  # or NumPy's own error
    shifts, axes = (one * len(steps) if len(one) == 1 else one for one in (shifts, axes))
    by: dict[int, Any] = {}
    for step, where in zip(shifts, axes if by_axis else [0] * len(along), strict=True):
        k = normalize_axis(where, whole.ndim)
        by[k] = by[k] + step if k in by else step
    whole = _rolled(tracer, whole, by)
    return whole if by_axis else whole.reshape(array.shape)


def _is_of_the_run(tracer: Tracer, shift: Any) -> bool:
    if isinstance(shift, SymInt):
        return not tracer.loops.keys().isdisjoint(tracer.resolve(shift.size).symbols())
    is_integer = isinstance(shift, RunScalar) and shift.is_int
    return is_integer or (isinstance(shift, SymArray) and not shift.sizes and shift.dtype.kind in "iu")


def _rolled(tracer: Tracer, array: SymArray, by: dict[int, Any]) -> SymArray:
    if not all(tracer.decide(">=", array.sizes[k], 1) for k in by):
        return array.copy()
    with before_regions(array) as before:
        repeated: Any = before
        for k in by:
            repeated = np.concatenate([repeated, repeated], k)
    items = [WHOLE] * array.ndim
    for k, shift in by.items():
        extent = tracer.resolve(array.sizes[k])
        negative = tracer.add("negative", (value_of_int(tracer, shift),), {}, INT64, ())
        first = tracer.add("remainder", (negative, SymInt(tracer, extent).as_value()), {}, INT64, ())
        items[k] = Slice(size_from_data(tracer, first, "k", Size.constant(0), extent - 1), 1)
    value = tracer.add("index", (repeated.read(),), {"index": items}, array.dtype, array.sizes)
    return SymArray.fresh(tracer, value, is_scalar=False)
