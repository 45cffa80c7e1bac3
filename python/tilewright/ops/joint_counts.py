"""np.histogram2d and np.histogramdd of equal bins: which bin each point is in, as for one axis, and counts of these."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..symbolic.arrays import SymArray
from ..symbolic.located import LEAVE_IT_OUT
from ..symbolic.registry import rule
from ..symbolic.scalars import SymInt, size_of
from ..symbolic.storage import Storage
from ..symbolic.tracer import Tracer
from .as_loops import followed
from .counts import (
    BINS_IN_FLOATS,
    MOST_BINS_OF_PARTS,
    PARTS,
    counts_of,
    ends_of,
    even_edges,
    given_ends,
    places_in_floats,
)
from .operands import FLOAT64, INT64
from .shapes import as_array
from .stage_rows import Gives
from .stages import add_stage

_MOST_AXES = 4  # of points in a matrix, whose columns a kernel knows by their number


def _refusal(tracer: Tracer, name: str) -> Exception:
    return tracer.error(
        f"np.{name}()",
        f"kernels know equal bins alone, of points with up to {_MOST_AXES} numbers, floats or integers of up to 32 bits",
        LEAVE_IT_OUT,
    )


def _columns(tracer: Tracer, name: str, sample: Any) -> list[SymArray]:
    """The numbers of all points along each axis, in the dtype that NumPy would give the whole."""
    if type(sample) in (list, tuple):
        columns = [as_array(tracer, one) for one in sample]
    else:
        points = as_array(tracer, sample)
        known = range(1, _MOST_AXES + 1) if points.ndim == 2 else ()
        count = next((k for k in known if tracer.decide("==", points.sizes[1], k)), 0)
        columns = [points[:, k] for k in range(count)]
    if not columns or any(one.ndim != 1 for one in columns):
        raise _refusal(tracer, name)
    for one in columns[1:]:
        tracer.match(one.sizes[0], columns[0].sizes[0], "x and y must have the same length.")
    if tracer.is_of_data(columns[0].sizes[0]) or tracer.decide("==", columns[0].sizes[0], 0):
        raise _refusal(tracer, name)
    dtype = np.result_type(*(one.dtype for one in columns))
    if dtype.kind in "iu" and dtype.itemsize <= 4:
        dtype = FLOAT64
    if dtype not in (np.float32, np.float64):
        raise _refusal(tracer, name)
    return [one.astype(dtype) for one in columns]


def _is_count(bins: Any) -> bool:
    return isinstance(bins, (int, SymInt)) and not isinstance(bins, bool)


def _joined(columns: Any, bins: Any) -> Any:
    """The bin of each point among all, their number where it is in none along some axis."""
    at, is_in, total = columns[0], columns[0] < bins[0], bins[0]
    for column, count in zip(columns[1:], bins[1:], strict=True):
        at, is_in, total = at * count + column, is_in & (column < count), total * count
    return np.where(is_in, at, total)


def _densities(counts: Any, edges: Any) -> Any:
    total = counts.sum()
    for k, one in enumerate(edges):
        widths = np.diff(one)
        counts = counts / widths.reshape((1,) * k + (len(one) - 1,) + (1,) * (len(edges) - 1 - k))
    return counts / total


def _counted_by_numpy(tracer: Tracer, at: Any, total: Any, weights: Any, name: str) -> Any:
    operands, dtype = [at], INT64
    if weights is not None:
        added = as_array(tracer, weights)
        if added.ndim != 1 or added.dtype.kind not in "iuf":
            raise _refusal(tracer, name)
        tracer.match(added.sizes[0], at.sizes[0], "The weights and list don't have the same length.")
        operands, dtype = [at, added], FLOAT64
    gives = Gives(dtype, (total + 1,))
    return add_stage(tracer, "numpy.bincount", np.bincount, operands, {"minlength": total + 1}, gives)[:total]


def _counted(tracer: Tracer, name: str, sample: Any, bins: Any, given: Any, density: Any, weights: Any) -> Any:
    columns = _columns(tracer, name, sample)
    each = list(bins) if type(bins) in (list, tuple) else [bins] * len(columns)
    ranges = [None] * len(columns) if given is None else list(given)
    if (
        len(each) != len(columns)
        or len(ranges) != len(columns)
        or not all(map(_is_count, each))
        or density not in (None, False, True)
    ):
        raise _refusal(tracer, name)
    is_float32 = columns[0].dtype != FLOAT64
    if is_float32 and any(one is not None for one in ranges):
        raise _refusal(tracer, name)  # edges are of float64, then
    for k, count in enumerate(each):
        if count < 1:
            raise ValueError(f"`bins[{k}]` must be positive, when an integer")
        if not count < BINS_IN_FLOATS:
            raise _refusal(tracer, name)
    with tracer.composite(name):
        edges, places = [], []
        for x, count, ends in zip(columns, each, ranges, strict=True):
            if ends is None:
                first, last = followed(tracer, name, ends_of, x)
                tracer.check(np.isfinite(last - first).read(), f"np.{name}() of what has no finite ends")
            else:
                first, last = given_ends(tracer, name, ends)
            edge = as_array(tracer, followed(tracer, name, even_edges, first, last, count + 1, x.dtype))
            rises: Any = np.all(edge[:-1] < edge[1:])
            tracer.check(rises.read(), f"np.{name}() of more bins than numbers")
            edges.append(edge)
            places.append(followed(tracer, name, places_in_floats, x, first, last, count).astype(INT64))
        total = each[0]
        for count in each[1:]:
            total = total * count
        at = followed(tracer, name, _joined, places, each)
        if weights is None and tracer.decide("<=", size_of(total), MOST_BINS_OF_PARTS):
            counts = followed(tracer, name, counts_of, at.astype(np.int16), total, PARTS)
        else:
            counts = _counted_by_numpy(tracer, at, total, weights, name)
        counts = counts.astype(FLOAT64).reshape(tuple(each))
        if density:
            return followed(tracer, name, _densities, counts, edges), edges
        return SymArray(tracer, Storage(counts.read())), edges  # NumPy's is a view that leaves the outer bins out


@rule(np.histogramdd)
def histogramdd(
    tracer: Tracer, sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None  # noqa: A002
) -> Any:  # fmt: skip
    return _counted(tracer, "histogramdd", sample, bins, range, density, weights)


@rule(np.histogram2d)
def histogram2d(  # noqa: PLR0917
    tracer: Tracer, x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None  # noqa: A002
) -> Any:  # fmt: skip
    counts, edges = _counted(tracer, "histogram2d", [x, y], bins, range, density, weights)
    return counts, edges[0], edges[1]
