"""Sorting along a few elements: a fixed sequence of exchanges for all rows at once, each a minimum and a maximum.

Long axes, whose lengths a program does not know, are NumPy's to sort (callees/order.py)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ..symbolic.arrays import SymArray
from ..symbolic.graph import WHOLE, Value
from ..symbolic.registry import rule
from ..symbolic.sizes import Size
from ..symbolic.trace_limits import MAX_SHORT_ITERATIONS
from ..symbolic.tracer import Tracer
from .creation import join
from .operands import BOOL, FLOAT64, chosen
from .reductions import finish
from .shapes import as_array, normalize_axis

_MOST_SORTED = 16  # elements: of 20, exchanges take half a minute to compile
_FEWEST_ROWS = 16  # of the recorded call, for which an array's own length becomes one of the program

# The fewest exchanges known that leave the median of 9 in the middle (Paeth, Median Finding on a 3 x 3 Grid, 1990).
_MEDIAN_OF_9 = (
    (1, 2), (4, 5), (7, 8), (0, 1), (3, 4), (6, 7), (1, 2), (4, 5), (7, 8), (0, 3), (5, 8), (4, 7), (3, 6), (1, 4), (2, 5),
    (4, 7), (4, 2), (6, 4), (4, 2),
)  # fmt: skip


@cache
def exchanges(count: int) -> tuple[tuple[int, int], ...]:
    """Pairs of places, of which the first gets the smaller element: Batcher's merge of odd and even places."""
    pairs = []
    run = 1
    while run < count:
        step = run
        while step >= 1:
            for first in range(step % run, count - step, 2 * step):
                for low in range(first, min(first + step, count - step)):
                    if low // (2 * run) == (low + step) // (2 * run):
                        pairs.append((low, low + step))
            step //= 2
        run *= 2
    return tuple(pairs)


def _refusal(tracer: Tracer, name: str) -> Exception:
    return tracer.error(
        f"np.{name}()",
        f"kernels sort along axes of at most {_MOST_SORTED} elements, a known number, and no complex ones",
        "Leave it out of the compiled function.",
    )


def _along_few(tracer: Tracer, array: SymArray, axes: Sequence[int], name: str) -> list[Value]:
    """The elements that lie along some axes, in their order, each for all rows."""
    if array.dtype.kind not in "biuf" or array.dtype == np.float16 or not axes:
        raise _refusal(tracer, name)
    sizes = [tracer.resolve(array.sizes[axis]) for axis in axes]
    if not all(size.is_constant for size in sizes):
        rows = [tracer.value_of(size) for k, size in enumerate(array.sizes) if k not in axes]
        changes = any(tracer.is_of_data(size) or not tracer.loops.keys().isdisjoint(size.symbols()) for size in sizes)
        if changes or not rows or np.prod(rows) < _FEWEST_ROWS:
            raise _refusal(tracer, name)
        if any(not 2 <= tracer.value_of(size) <= MAX_SHORT_ITERATIONS for size in sizes if not size.is_constant):
            raise _refusal(tracer, name)
        for size in sizes:
            tracer.fix(size)
    extents = [tracer.value_of(tracer.resolve(size)) for size in sizes]
    if not 1 <= np.prod(extents) <= _MOST_SORTED:
        raise _refusal(tracer, name)
    value = array.read()
    shape = [tracer.resolve(size) for k, size in enumerate(array.sizes) if k not in axes]
    elements = []
    for place in np.ndindex(*extents):
        items: list[Any] = [WHOLE] * array.ndim
        for axis, k in zip(axes, place, strict=True):
            items[axis] = Size.constant(k)
        stacked = _stacked(value, items)
        elements.append(stacked or tracer.add("index", (value,), {"index": items}, array.dtype, shape))
    return elements


def _stacked(value: Value, items: Sequence[Any]) -> Value | None:
    """What np.stack() has put where `items` point; None where the value is no stack along these axes."""
    while value.operation == "update":
        written: list[Any] = value.attributes["index"]
        for there, asked in zip(written, items, strict=True):
            is_place = isinstance(there, Size) and there.is_constant
            if not (there is WHOLE if asked is WHOLE else is_place):
                return None
        if written == list(items):
            return value.operands[1]
        value = value.operands[0]
    return None


def _exchanged(tracer: Tracer, elements: list[Value], pairs: Sequence[tuple[int, int]]) -> list[Value]:
    """The elements after the exchanges. Equal ones keep their places, so that neither of 0.0 and -0.0 is lost; a NaN is
    not less than anything, and keeps its place too."""
    placed = list(elements)
    for low, high in pairs:
        a, b = placed[low], placed[high]
        swapped = tracer.add("less", (b, a), {}, BOOL, a.shape)
        placed[low] = tracer.add("where", (swapped, b, a), {}, a.dtype, a.shape)
        placed[high] = tracer.add("where", (swapped, a, b), {}, a.dtype, a.shape)
    return placed


def _isnan(tracer: Tracer, value: Value) -> Value:
    return tracer.add("isnan", (value,), {}, BOOL, value.shape)


def _sorted(tracer: Tracer, elements: list[Value]) -> list[Value]:
    """In NumPy's order: a NaN is behind all numbers.

    Infinity takes its place while the numbers are exchanged, and as many of the last are NaN afterwards as there were."""
    dtype, count = elements[0].dtype, len(elements)
    if dtype.kind != "f" or count == 1:
        return _exchanged(tracer, elements, exchanges(count))
    numbers, nans = [], None
    for value in elements:
        is_nan = _isnan(tracer, value)
        numbers.append(chosen(tracer, value, tracer.add("logical_not", (is_nan,), {}, BOOL, value.shape), np.inf))
        # Counted in numbers as wide as the elements: vectors of other widths are packed and spread.
        one = tracer.cast(is_nan, dtype)
        nans = one if nans is None else tracer.add("add", (nans, one), {}, dtype, value.shape)
    assert nans is not None
    placed = _exchanged(tracer, numbers, exchanges(count))
    return [chosen(tracer, value, tracer.truth("less", nans, count - k), np.nan) for k, value in enumerate(placed)]


def _sort_along(tracer: Tracer, array: SymArray, axis: Any, order: Any) -> SymArray:
    if order is not None or axis is None or not array.ndim:
        raise _refusal(tracer, "sort")
    k = normalize_axis(axis, array.ndim)
    with tracer.composite("sort"):
        placed = _sorted(tracer, _along_few(tracer, array, [k], "sort"))
        return join(tracer, [SymArray.fresh(tracer, value, is_scalar=False) for value in placed], k)


@rule(np.sort)
def sort(
    tracer: Tracer, a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> SymArray:  # fmt: skip
    _check_kind(tracer, kind, stable)
    return _sort_along(tracer, as_array(tracer, a), axis, order)


@rule(np.ndarray.sort)
def sort_in_place(
    tracer: Tracer, a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> None:  # fmt: skip
    _check_kind(tracer, kind, stable)
    a.write(_sort_along(tracer, a, axis, order).read())


def _check_kind(tracer: Tracer, kind: Any, stable: Any) -> None:
    """Whatever the algorithm, the values are the same; what is wrong here NumPy says."""
    known = ("quicksort", "mergesort", "heapsort", "stable")
    if (kind is not None and kind not in known) or stable not in (None, True, False):
        raise _refusal(tracer, "sort")
    if kind is not None and stable is not None:
        raise _refusal(tracer, "sort")


@rule(np.median)
def median(
    tracer: Tracer, a: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, keepdims: Any = False
) -> Any:
    """The middle element, or the mean of the middle two, by the steps of NumPy's mean; NaN where there is one."""
    array = as_array(tracer, a)
    if overwrite_input or out is not None:
        raise _refusal(tracer, "median")
    axes = sorted(range(array.ndim) if axis is None else normalize_axis_tuple(axis, array.ndim))
    with tracer.composite("median"):
        elements = _along_few(tracer, array, axes, "median")
        count = len(elements)
        placed = _exchanged(tracer, elements, _MEDIAN_OF_9 if count == 9 else exchanges(count))
        kept = array.dtype if array.dtype.kind == "f" else FLOAT64
        total = tracer.constant(0.0, kept)
        for value in placed[(count - 1) // 2 : count // 2 + 1]:
            total = tracer.add("add", (total, tracer.cast(value, kept)), {}, kept, value.shape)
        if count % 2 == 0:
            total = tracer.add("divide", (total, tracer.constant(2, kept)), {}, kept, total.shape)
        if kept == array.dtype:
            is_nan = _isnan(tracer, elements[0])
            for value in elements[1:]:
                is_nan = tracer.add("logical_or", (is_nan, _isnan(tracer, value)), {}, BOOL, value.shape)
            total = chosen(tracer, total, tracer.add("logical_not", (is_nan,), {}, BOOL, total.shape), np.nan)
        return finish(tracer, total, axes, keepdims, None, "median")
