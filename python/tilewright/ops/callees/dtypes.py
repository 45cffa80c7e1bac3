"""Dtypes and shapes that several rows share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ...symbolic.scalars import SymInt, SymScalar, size_of
from ..operands import COMPLEX128, FLOAT64, broadcast_shapes
from ..stage_rows import Like


def inexact(*arrays: Like) -> np.dtype[Any]:
    """What linear algebra computes in: numbers of 32 bits a half where all arrays are, else of 64."""
    is_complex = any(a.dtype.kind == "c" for a in arrays)
    if all(a.dtype in (np.float32, np.complex64) for a in arrays):
        return np.dtype(np.complex64 if is_complex else np.float32)
    return COMPLEX128 if is_complex else FLOAT64


def real_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def summed(a: Like, dtype: Any = None) -> np.dtype[Any]:
    """What sums and products of its elements are kept in."""
    if dtype is not None:
        return np.dtype(dtype)
    small = a.dtype.kind in "biu" and a.dtype.itemsize < 8
    return np.dtype(np.uint64 if a.dtype.kind == "u" else np.int64) if small else a.dtype


def averaged(a: Like) -> np.dtype[Any]:
    """What means and medians are kept in."""
    return a.dtype if a.dtype.kind in "fc" else FLOAT64


def common(*arrays: Like) -> np.dtype[Any]:
    return np.result_type(*(a.dtype for a in arrays))


def trial(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What NumPy's function gives, its dtypes that is, for ones in place of the arrays: two in each axis.

    Raises where NumPy does."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function(*map(_ones, args), **{name: _ones(value) for name, value in kwargs.items()})


def _ones(value: Any) -> Any:
    if type(value) in (tuple, list):
        return type(value)(map(_ones, value))
    held = value.value if isinstance(value, Like) else value
    if isinstance(held, SymInt):
        return 1
    if isinstance(held, SymScalar):
        return type(held.hint)(1)
    if not isinstance(value, Like) or isinstance(held, (bool, int, float, complex)):
        return held
    return np.ones((2,) * value.ndim, value.dtype)[()]


def broadcast(tracer: Any, *shapes: Sequence[Any]) -> tuple[Any, ...]:
    """The shape of arrays of these shapes beside each other."""
    sizes = [tuple(map(size_of, shape)) for shape in shapes]
    return tuple(SymInt(tracer, n) for n in broadcast_shapes(tracer, sizes))


def without_axes(a: Like, axis: Any, keepdims: bool = False) -> list[Any]:
    """The shape behind a function that takes all elements along one axis or more."""
    gone = normalize_axis_tuple(range(a.ndim) if axis is None else axis, a.ndim)
    return [1 if k in gone else n for k, n in enumerate(a.shape) if keepdims or k not in gone]


def along(a: Like, axis: Any) -> tuple[Any, ...]:
    """The shape behind a function that works along one axis; None: along all elements in one row."""
    if axis is None:
        return (a.size,)
    normalize_axis_index(axis, a.ndim)
    return a.shape


def with_axis(a: Like, axis: int, extent: Any) -> tuple[Any, ...]:
    """The shape with another extent in one axis."""
    return with_extents(a, axis, (extent,))


def with_extents(a: Like, axis: int, extents: Sequence[Any]) -> tuple[Any, ...]:
    """The shape with other extents in place of one axis."""
    axis = normalize_axis_index(axis, a.ndim)
    return (*a.shape[:axis], *extents, *a.shape[axis + 1 :])


def extent_of(a: Like, axis: int) -> Any:
    return a.shape[normalize_axis_index(axis, a.ndim)]


def diagonal_of(a: Like, offset: Any, axis1: int, axis2: int) -> tuple[list[Any], Any]:
    """The shape without two axes, and the extent of the diagonal of these."""
    first, second = normalize_axis_tuple((axis1, axis2), a.ndim)
    rows, columns = (a.shape[k] - (abs(offset) if is_cut else 0)
                     for k, is_cut in ((first, offset < 0), (second, offset > 0)))  # fmt: skip
    outer = [n for k, n in enumerate(a.shape) if k not in (first, second)]
    return outer, min(rows, columns)
