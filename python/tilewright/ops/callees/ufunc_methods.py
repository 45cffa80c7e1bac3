"""np.maximum.accumulate and its like: rows of the methods of every ufunc."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...symbolic.scalars import SymInt
from ..operands import broadcast_shapes, resolve_ufunc, weak_type
from ..stages import METHOD_ROWS, Gives, Like
from .dtypes import with_axis, without_axes


def _call(  # noqa: PLR0917
    ufunc: np.ufunc, *arrays: Like, dtype: Any = None, casting: str = "same_kind", where: Any = True, order: str = "K",
    subok: bool = True,
) -> Any:  # fmt: skip
    tracer = arrays[0].tracer
    kinds = tuple(weak_type(a.value) or a.dtype for a in arrays)
    dtypes = resolve_ufunc(ufunc, kinds, None if dtype is None else np.dtype(dtype), casting)
    masks = [] if where is True else [Like(tracer, where).sizes]
    sizes = broadcast_shapes(tracer, [*(a.sizes for a in arrays), *masks])
    shape = [SymInt(tracer, n) for n in sizes]
    results = [Gives(one, shape) for one in dtypes[ufunc.nin :]]
    return None if ufunc.signature else results[0] if len(results) == 1 else tuple(results)


def _reduced_dtype(ufunc: np.ufunc, a: Like, dtype: Any) -> np.dtype[Any]:
    if dtype is not None:
        return np.dtype(dtype)
    return ufunc.resolve_dtypes((None, a.dtype, None), reduction=True)[-1]


def _accumulate(ufunc: np.ufunc, array: Like, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
    return Gives(_reduced_dtype(ufunc, array, dtype), array.shape)


def _reduce(  # noqa: PLR0917
    ufunc: np.ufunc, array: Like, axis: Any = 0, dtype: Any = None, out: None = None, keepdims: bool = False,
    initial: Any = None, where: Any = True,
) -> Any:  # fmt: skip
    return Gives(_reduced_dtype(ufunc, array, dtype), without_axes(array, axis, keepdims))


def _reduceat(ufunc: np.ufunc, array: Like, indices: Like, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
    return Gives(_reduced_dtype(ufunc, array, dtype), with_axis(array, axis, indices.shape[0]))


METHOD_ROWS.update(__call__=_call, accumulate=_accumulate, reduce=_reduce, reduceat=_reduceat)
