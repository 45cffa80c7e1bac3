"""Where elements are, and how many: searches, counts, histograms."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..operands import FLOAT64, INT64
from ..stage_rows import FromData, Gives, Like, row
from .dtypes import broadcast, trial


@row(np.searchsorted)
def _searchsorted(a: Like, v: Like, side: str = "left", sorter: Any = None) -> Any:
    return Gives(INT64, v.shape)


@row(np.digitize)
def _digitize(x: Like, bins: Like, right: bool = False) -> Any:
    return Gives(INT64, x.shape)


@row(np.bincount)
def _bincount(x: Like, /, weights: Any = None, minlength: Any = 0) -> Any:
    is_int = weights is None or x.size == 0  # of none NumPy forgets the weights
    return Gives(INT64 if is_int else FLOAT64, (FromData(),))


def _count_of(a: Like, bins: Any) -> Any:
    """How many bins there are."""
    if type(bins) is str:
        return FromData()
    edges = Like(a.tracer, bins)
    return edges.value if edges.ndim == 0 else edges.shape[0] - 1


def _tried(a: Like, bins: Any) -> Any:
    """Bins of the same dtype that NumPy takes with ones."""
    if type(bins) is str:
        return bins
    edges = Like(a.tracer, bins)
    return np.arange(3).astype(edges.dtype) if edges.ndim else 2


def _range_of(value: Any) -> Any:
    return value if value is None else (0, type(trial(max, *value))(4))


@row(np.histogram)
def _histogram(a: Like, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:  # noqa: A002
    count = _count_of(a, bins)
    flat = _flat(a)
    others = None if weights is None else _flat(Like(a.tracer, weights))
    tried = trial(np.histogram, flat, _tried(a, bins), _range_of(range), density, others)
    return Gives(tried[0].dtype, (count,)), Gives(tried[1].dtype, (count + 1,))


def _flat(a: Like, sample: Like | None = None) -> Any:
    """A vector of its dtype; `sample`: which has none where that one has none."""
    return np.ones(2 if sample is None or sample.size != 0 else 0, a.dtype)


@row(np.histogram_bin_edges)
def _histogram_bin_edges(a: Like, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:  # noqa: A002
    dtype = trial(np.histogram_bin_edges, _flat(a), _tried(a, bins), _range_of(range)).dtype
    return Gives(dtype, (_count_of(a, bins) + 1,)) if type(bins) is not str else Gives(dtype, (FromData(),))


@row(np.histogramdd)
def _histogramdd(
    sample: Like, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None  # noqa: A002
) -> Any:  # fmt: skip
    if type(sample.value) in (tuple, list):
        return None  # a coordinate each
    rank = 1 if sample.ndim < 2 else sample.shape[1].__index__()
    each = list(bins) if type(bins) in (tuple, list) else [bins] * rank
    counts = [_count_of(sample, one) for one in each]
    ranges = None if range is None else [_range_of(one) for one in range]
    count = 2 if sample.size != 0 else 0
    tried = trial(np.histogramdd, np.ones((count, rank), sample.dtype), [_tried(sample, one) for one in each], ranges)
    edges = [Gives(one.dtype, (n + 1,)) for one, n in zip(tried[1], counts, strict=True)]
    return Gives(FLOAT64, counts), type(tried[1])(edges)


@row(np.histogram2d)
def _histogram2d(  # noqa: PLR0917
    x: Like, y: Like, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None  # noqa: A002
) -> Any:  # fmt: skip
    pair = list(bins) if type(bins) in (tuple, list) and len(bins) == 2 else [bins, bins]
    counts = [_count_of(x, one) for one in pair]
    ranges = None if range is None else [_range_of(one) for one in range]
    tried = trial(np.histogram2d, _flat(x, x), _flat(y, x), [_tried(x, one) for one in pair], ranges)
    return Gives(FLOAT64, counts), *(Gives(one.dtype, (n + 1,)) for one, n in zip(tried[1:], counts, strict=True))


@row(np.flatnonzero, source_first=True)
def _flatnonzero(a: Like) -> Any:
    return Gives(INT64, (FromData(a.size),))


@row(np.argwhere)
def _argwhere(a: Like) -> Any:
    return Gives(INT64, (FromData(a.size), a.ndim))


@row(np.ravel_multi_index)
def _ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    if type(multi_index) not in (tuple, list):
        return Gives(INT64, multi_index.shape[1:])
    tracer = next(one.tracer for one in multi_index if hasattr(one, "tracer"))
    return Gives(INT64, broadcast(tracer, *(Like(tracer, one).shape for one in multi_index)))


@row(np.unravel_index)
def _unravel_index(indices: Like, shape: Any, order: str = "C") -> Any:
    rank = len(shape) if type(shape) in (tuple, list) else 1
    return tuple(Gives(INT64, indices.shape) for _ in range(rank))


@row(np.tril_indices, np.triu_indices)
def _triangle_indices(n: Any, k: Any = 0, m: Any = None) -> Any:
    count = FromData(n * (n if m is None else m))
    return Gives(INT64, (count,)), Gives(INT64, (count,))
