"""Functions that go along an axis, each result from those before it, and statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..operands import COMPLEX128, FLOAT64
from ..stage_rows import Gives, Like, row
from .dtypes import along, broadcast, summed, trial, without_axes


@row(np.cumsum, np.cumprod)
def _cumulated(a: Like, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
    return Gives(summed(a, dtype), along(a, axis) if a.ndim else (1,))


@row(np.ediff1d, source_first=True)
def _ediff1d(ary: Like, to_end: Any = None, to_begin: Any = None) -> Any:
    more = sum(Like(ary.tracer, one).size for one in (to_end, to_begin) if one is not None)
    return Gives(ary.dtype, (max(0, ary.size - 1) + more,))


@row(np.interp)
def _interp(x: Like, xp: Like, fp: Like, left: Any = None, right: Any = None, period: Any = None) -> Any:
    return Gives(COMPLEX128 if fp.dtype.kind == "c" else FLOAT64, x.shape)


@row(np.average, source_first=True)
def _average(
    a: Like, axis: Any = None, weights: Like | None = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    dtypes = [a.dtype] if weights is None else [a.dtype, weights.dtype]
    dtype = np.result_type(*dtypes, *[FLOAT64] * (a.dtype.kind in "biu"))
    mean = Gives(dtype, without_axes(a, axis, keepdims))
    return (mean, mean) if returned else mean


@row(np.nanvar, np.nanstd, source_first=True)
def _nanvar(  # noqa: PLR0917
    a: Like, axis: Any = None, dtype: Any = None, out: None = None, ddof: Any = 0, keepdims: bool = False, *,
    where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    found = np.dtype(dtype) if dtype is not None and a.dtype.kind in "fc" else None
    return Gives(found or trial(np.nanvar, a, dtype=dtype).dtype, without_axes(a, axis, keepdims))


@row(np.geomspace, source_first=True)
def _geomspace(  # noqa: PLR0917
    start: Like, stop: Like, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    ends = list(broadcast(start.tracer, start.shape, stop.shape))
    found = np.dtype(dtype) if dtype is not None else trial(np.geomspace, start, stop, 2).dtype
    ends.insert(range(len(ends) + 1)[axis], num)
    return Gives(found, ends)
