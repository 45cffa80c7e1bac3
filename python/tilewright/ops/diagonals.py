"""Diagonals of matrices, as gathers: what reads one computes where its elements lie."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..structure import OF
from ..symbolic.arrays import SymArray
from ..symbolic.from_data import gather
from ..symbolic.located import LEAVE_IT_OUT
from ..symbolic.registry import rule
from ..symbolic.scalars import SymInt, size_of
from ..symbolic.storage import Shown
from ..symbolic.tracer import Tracer
from .as_loops import followed, inside
from .creation import arange
from .parts import overlapping
from .shapes import as_array, moveaxis, normalize_axis, reshape_value


def _offset(tracer: Tracer, name: str, offset: Any) -> Any:
    if isinstance(offset, (int, np.integer, SymInt)) and not isinstance(offset, bool):
        return offset.__index__() if isinstance(offset, np.integer) else offset
    raise tracer.error(
        f"np.{name}() with {type(offset).__name__} as the diagonal", "kernels know integers", LEAVE_IT_OUT
    )


@rule(np.diagonal)
def diagonal(tracer: Tracer, a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> SymArray:
    """NumPy's is a view, which nobody may write into."""
    array, offset = as_array(tracer, a), _offset(tracer, "diagonal", offset)
    if array.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    first, second = normalize_axis(axis1, array.ndim), normalize_axis(axis2, array.ndim)
    if first == second:
        raise ValueError("axis1 and axis2 cannot be the same")
    matrices = moveaxis(tracer, array, (first, second), (-2, -1))
    *outer, rows, columns = matrices.shape
    is_above = offset >= 0
    count = max(min(rows, columns - offset) if is_above else min(rows + offset, columns), 0)
    begin = offset if is_above else -offset * columns
    sizes = (*matrices.sizes[:-2], tracer.total(matrices.sizes[-2:]))

    def gathered() -> SymArray:
        with tracer.composite("diagonal"):
            flat = SymArray.fresh(tracer, reshape_value(tracer, matrices.read(), sizes), is_scalar=False)
            places = arange(tracer, count) * (columns + 1) + begin
            return gather(flat, places.read(), len(outer), is_inside=True)

    view = overlapping(array, "diagonal()", gathered)
    view.storage.read_only = True
    step = f"numpy.diagonal({OF}, {{0}}, {first}, {second})"
    view.storage.shown = Shown(array, tracer.blocks[-1], step, (size_of(offset),))
    return view


@rule(np.trace)
def trace(
    tracer: Tracer, a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None
) -> Any:
    if out is not None:
        raise tracer.error("np.trace(out=…)", "kernels give a result of their own", LEAVE_IT_OUT)
    return np.sum(diagonal(tracer, a, offset, axis1, axis2), axis=-1, dtype=dtype)


def _matrix_of(v: Any, k: Any, zero: Any) -> Any:
    n = v.shape[0] + abs(k)
    rows, columns = np.arange(n)[:, None], np.arange(n)
    along = np.minimum(rows if k >= 0 else columns, v.shape[0] - 1)
    return np.where(columns == rows + k, inside(v, along), zero)


@rule(np.diag)
def diag(tracer: Tracer, v: Any, k: Any = 0) -> Any:
    array, k = as_array(tracer, v), _offset(tracer, "diag", k)
    if array.ndim == 2:
        return diagonal(tracer, array, k)
    if array.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    if array.shape[0] == 0:
        raise tracer.error("np.diag() of an empty array", "its kernel reads a first element", LEAVE_IT_OUT)
    return followed(tracer, "diag", _matrix_of, array, k, array.dtype.type(0))


@rule(np.diagflat)
def diagflat(tracer: Tracer, v: Any, k: Any = 0) -> Any:
    return diag(tracer, as_array(tracer, v).reshape(-1), k)
