"""Sorting and ranks. What overwrites its input leaves it in an order of NumPy's own: such a call has no row."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..operands import INT64
from ..stage_rows import FromData, Gives, Like, row
from .dtypes import along, averaged, trial, with_axis, without_axes


@row(np.sort)
def _sort(a: Like, axis: Any = -1, kind: Any = None, order: None = None, *, stable: Any = None) -> Any:
    return Gives(a.dtype, along(a, axis))


@row(np.sort_complex)
def _sort_complex(a: Like) -> Any:
    is_short = a.dtype.kind in "iu" and a.dtype.itemsize < 4
    return Gives(a.dtype if a.dtype.kind == "c" else np.complex64 if is_short else np.complex128, along(a, -1))


@row(np.argsort)
def _argsort(a: Like, axis: Any = -1, kind: Any = None, order: None = None, *, stable: Any = None) -> Any:
    return Gives(INT64, along(a, axis) if a.ndim else (1,))


@row(np.partition)
def _partition(a: Like, kth: Any, axis: Any = -1, kind: str = "introselect", order: None = None) -> Any:
    return Gives(a.dtype, along(a, axis))


@row(np.argpartition)
def _argpartition(a: Like, kth: Any, axis: Any = -1, kind: str = "introselect", order: None = None) -> Any:
    return Gives(INT64, along(a, axis) if a.ndim else (1,))


@row(np.ndarray.sort, writes="a")
def _sort_in_place(a: Like, axis: int = -1, kind: Any = None, order: None = None, *, stable: Any = None) -> Any:
    return along(a, axis)


@row(np.ndarray.partition, writes="a")
def _partition_in_place(a: Like, kth: Any, axis: int = -1, kind: str = "introselect", order: None = None) -> Any:
    return along(a, axis)


@row(np.lexsort)
def _lexsort(keys: Any, axis: int = -1) -> Any:
    if type(keys) in (tuple, list):
        shapes = [getattr(key, "shape", ()) for key in keys]
        return Gives(INT64, shapes[0]) if shapes[0] else None
    return Gives(INT64, keys.shape[1:]) if keys.ndim > 1 else None


@row(np.median)
def _median(a: Like, axis: Any = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    return None if overwrite_input else Gives(averaged(a), without_axes(a, axis, keepdims))


@row(np.nanmedian)
def _nanmedian(
    a: Like, axis: Any = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    return None if overwrite_input else Gives(trial(np.nanmedian, a).dtype, without_axes(a, axis, keepdims))


def _quantiles(function: Any) -> None:
    """np.percentile and its like."""

    @row(function)
    def quantile(  # noqa: PLR0917
        a: Like, q: Like, axis: Any = None, out: None = None, overwrite_input: bool = False, method: str = "linear",
        keepdims: bool = False, *, weights: Like | None = None,
    ) -> Any:  # fmt: skip
        if overwrite_input:
            return None
        if function in (np.nanpercentile, np.nanquantile) and a.size == 0:
            # Of none NumPy takes the mean, and forgets q.
            return Gives(trial(np.nanmean, a).dtype, without_axes(a, axis, keepdims))
        others = {} if weights is None else {"weights": Like(a.tracer, np.ones((2,) * a.ndim, weights.dtype))}
        tried = trial(function, a, q, method=method, **others)
        shape = (*q.shape, *without_axes(a, axis, keepdims))
        return Gives(tried.dtype, shape, is_array=isinstance(tried, np.ndarray))


for _function in (np.percentile, np.quantile, np.nanpercentile, np.nanquantile):
    _quantiles(_function)


@row(np.nanargmax, np.nanargmin, source_first=True)
def _nanargmax(a: Like, axis: Any = None, out: None = None, *, keepdims: bool = False) -> Any:
    return Gives(INT64, without_axes(a, axis, keepdims))


@row(np.unique)
def _unique(  # noqa: PLR0917
    ar: Like, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: Any = None,
    *, equal_nan: bool = True, sorted: bool = True,
) -> Any:  # fmt: skip
    n = FromData(ar.size if axis is None else ar.shape[axis])
    results = [Gives(ar.dtype, (n,) if axis is None else with_axis(ar, axis, n))]
    results += [Gives(INT64, (n,))] * bool(return_index)
    results += [Gives(INT64, ar.shape if axis is None else (ar.shape[axis],), is_array=True)] * bool(return_inverse)
    results += [Gives(INT64, (n,))] * bool(return_counts)
    return results[0] if len(results) == 1 else tuple(results)
