"""Histograms of equal bins: kernels say which bin each element is in, by NumPy's own arithmetic, and count; many bins NumPy counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..symbolic.arrays import SymArray
from ..symbolic.number import Symbolic
from ..symbolic.registry import rule
from ..symbolic.scalars import SymInt, size_of
from ..symbolic.tracer import Tracer
from .as_loops import clamped, followed, inside, refusal
from .operands import FLOAT64, INT64
from .shapes import as_array
from .stage_rows import Gives
from .stages import add_stage

_LARGEST_EDGE = 2**53  # of Python integers that are floats as they are
BINS_IN_FLOATS = 2**24  # float32 has all integers up to it


def _places(x: Any, edges: Any, first: Any, last: Any, bins: Any) -> Any:
    """The bin of each element, `bins` where it is in none."""
    scaled = (x - first) / np.subtract(last, first) * bins
    is_in = (x >= first) & (x <= last)
    at = np.where(is_in, scaled, 0).astype(np.int64)
    at = np.where(at == bins, bins - 1, at)
    # The quotient is within some ULP of the edges, which decide.
    at = np.where(x < inside(edges, at), at - 1, at)
    at = np.where((x >= inside(edges, at + 1)) & (at != bins - 1), at + 1, at)
    return np.where(is_in, at, bins)


def places_in_floats(x: Any, first: Any, last: Any, bins: Any) -> Any:
    """The same of fewer bins than floats count: vector code throughout, since nothing is looked up. Edges are computed
    as np.linspace computes them (the last one never decides); a step of 0 has no edges that rise."""
    extent = np.subtract(last, first)
    step = extent / bins
    is_in = (x >= first) & (x <= last)
    at = np.minimum(np.floor((x - first) / extent * bins), bins - 1)
    at = np.where(x < (at * step + first).astype(x.dtype), at - 1, at)
    at = np.where((x >= ((at + 1) * step + first).astype(x.dtype)) & (at != bins - 1), at + 1, at)
    return np.where(is_in, at, bins).astype(np.int32)  # processors have vectors of this cast


# Each part of the elements has counts of its own, in the caches: then parts run in parallel. Integers add up to the same in
# any order.
PARTS = 16
MOST_BINS_OF_PARTS = 1024


def counts_of(places: Any, bins: Any, parts: Any) -> Any:
    """How many places are each number below `bins`. Places of what fails a check, infinities say, may be any number."""
    counts = np.zeros((parts, bins + 1), np.int64)
    size = (len(places) + parts - 1) // parts
    for part in range(parts):
        for i in range(part * size, min(len(places), (part + 1) * size)):
            counts[part, clamped(places[i], bins + 1)] += 1
    return counts.sum(axis=0)[:bins]


# NumPy adds up the weights of so many elements, and then the sums of these.
_BLOCK = 65536


def _sums_of_blocks(places: Any, weights: Any, bins: Any, block: Any) -> Any:
    """Of each block of elements, the sums of the weights at each place below `bins`: blocks run in parallel."""
    blocks = (len(places) + block - 1) // block
    sums = np.zeros((blocks, bins + 1))
    for part in range(blocks):
        for i in range(part * block, min(len(places), (part + 1) * block)):
            sums[part, clamped(places[i], bins + 1)] += weights[i]
    return sums[:, :bins]


def ends_of(x: Any) -> Any:
    first, last = np.min(x), np.max(x)
    is_one = first == last
    return np.where(is_one, first - 0.5, first)[()], np.where(is_one, last + 0.5, last)[()]


def even_edges(first: Any, last: Any, count: Any, dtype: Any) -> Any:
    return np.linspace(first, last, count, dtype=dtype)


def _densities(counts: Any, edges: Any) -> Any:
    return counts / np.diff(edges).astype(np.float64) / counts.sum()


def given_ends(tracer: Tracer, name: str, given: Any) -> tuple[float, float]:
    first, last = given
    for end in (first, last):
        if isinstance(end, Symbolic) or not isinstance(end, (int, float)) or isinstance(end, (bool, np.generic)):
            raise refusal(tracer, name, "between ends that the source does not give as numbers")
        if not math.isfinite(end) or abs(end) > _LARGEST_EDGE:
            raise refusal(tracer, name, f"between ends as large as {end}")
    if first > last:
        raise ValueError("max must be larger than min in range parameter.")
    return (first - 0.5, last + 0.5) if first == last else (float(first), float(last))


def _weights(tracer: Tracer, weights: Any, array: SymArray) -> Any:
    """One after the other, of the shape of the array."""
    given = as_array(tracer, weights)
    if given.dtype.kind not in "iuf" or given.dtype.itemsize < 4:
        raise refusal(tracer, "histogram", f"with weights of {given.dtype}")
    if given.ndim != array.ndim:
        raise ValueError("weights should have the same shape as a.")
    for a, b in zip(given.sizes, array.sizes, strict=True):
        tracer.match(a, b, "weights should have the same shape as a.")
    return np.ravel(given)  # type: ignore[call-overload]  # one of ours


@rule(np.histogram)
def histogram(
    tracer: Tracer, a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None  # noqa: A002
) -> Any:  # fmt: skip
    array = as_array(tracer, a)
    is_counted = isinstance(bins, (int, SymInt)) and not isinstance(bins, bool)
    if not is_counted or density not in (None, False, True):
        raise refusal(tracer, "histogram", "but with a number of equal bins")
    added = None if weights is None else _weights(tracer, weights, array)
    if added is not None and not tracer.decide("<=", size_of(bins), MOST_BINS_OF_PARTS):
        raise refusal(tracer, "histogram", f"with weights in more than {MOST_BINS_OF_PARTS:,} bins")
    is_short = array.dtype.kind in "iu" and array.dtype.itemsize <= 4
    if not is_short and array.dtype not in (np.float32, np.float64):
        raise refusal(tracer, "histogram", f"of {array.dtype}")
    if tracer.is_of_data(total := tracer.total(array.sizes)) or tracer.decide("==", total, 0):
        raise refusal(tracer, "histogram", "of no elements, or as many as the data decide")
    if bins < 1:
        raise ValueError("`bins` must be positive, when an integer")
    with tracer.composite("histogram"):
        x = np.ravel(array)  # type: ignore[call-overload]  # one of ours
        x = x.astype(FLOAT64) if is_short else x
        if range is None:
            first, last = followed(tracer, "histogram", ends_of, x)
            tracer.check(np.isfinite(last - first).read(), "np.histogram() of what has no finite ends")
        else:
            first, last = given_ends(tracer, "histogram", range)
        edges = as_array(tracer, followed(tracer, "histogram", even_edges, first, last, bins + 1, x.dtype))
        rises: Any = np.all(edges[:-1] < edges[1:])
        tracer.check(rises.read(), "np.histogram() of more bins than numbers")
        has_parts = tracer.decide("<=", size_of(bins), MOST_BINS_OF_PARTS)
        if bins < BINS_IN_FLOATS:
            places = followed(tracer, "histogram", places_in_floats, x, first, last, bins)
            # They go through memory: writing and reading them takes as long as all else.
            places = places.astype(np.int16 if has_parts else INT64)
        else:
            places = followed(tracer, "histogram", _places, x, edges, first, last, bins)
        if added is not None:
            sums = followed(tracer, "histogram", _sums_of_blocks, places, added.astype(FLOAT64), bins, _BLOCK)
            counts = np.sum(sums.astype(added.dtype), axis=0, dtype=added.dtype)
        elif has_parts:
            counts = followed(tracer, "histogram", counts_of, places, bins, PARTS)
        else:
            gives = Gives(INT64, (bins + 1,))
            counts = add_stage(tracer, "numpy.bincount", np.bincount, [places], {"minlength": bins + 1}, gives)[:bins]
        if density:
            counts = followed(tracer, "histogram", _densities, counts, edges)
        return counts, edges
