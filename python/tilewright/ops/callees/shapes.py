"""The same elements in other places."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...structure import OF
from ...symbolic.scalars import SymInt
from ..operands import BOOL, listed
from ..stage_rows import FromData, Gives, Like, row
from .dtypes import broadcast, common, diagonal_of, extent_of, trial, with_axis, with_extents


@row(np.roll, source_first=True)
def _roll(a: Like, shift: Any, axis: Any = None) -> Any:
    return Gives(a.dtype, a.shape, is_array=True)


@row(np.pad)
def _pad(array: Like, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Any:
    if callable(mode) or not array.ndim:
        return None
    if type(pad_width) is dict:
        given: Any = [(0, 0)] * array.ndim
        for axis, pair in pad_width.items():
            given[axis] = pair if type(pair) is tuple else (pair, pair)
    else:
        widths = listed(pad_width)
        given = widths if type(widths) in (tuple, list) else (widths, widths)
        if type(given[0]) not in (tuple, list):
            given = [(given[0], given[-1])]
    pairs = list(given) * array.ndim if len(given) == 1 else given
    extents = [n + pair[0] + pair[-1] for n, pair in zip(array.shape, pairs, strict=True)]
    return Gives(array.dtype, extents, is_in_c_order=array.is_in_c_order)


@row(np.tile)
def _tile(A: Like, reps: Any) -> Any:  # noqa: N803
    reps = listed(reps)
    times = tuple(reps) if type(reps) in (tuple, list) else (reps,)
    rank = max(A.ndim, len(times))
    shape = (*(1,) * (rank - A.ndim), *A.shape)
    extents = [n * k for n, k in zip(shape, (*(1,) * (rank - len(times)), *times), strict=True)]
    return Gives(A.dtype, extents, is_array=True)


@row(np.repeat)
def _repeat(a: Like, repeats: Like, axis: Any = None) -> Any:
    total = a.size if axis is None else extent_of(a, axis)
    times = listed(repeats.value) if not isinstance(repeats.value, np.generic) else repeats.value.item()
    extent = total * times if isinstance(times, (int, SymInt)) else FromData()
    return Gives(a.dtype, (extent,) if axis is None else with_axis(a, axis, extent))


@row(np.take)
def _take(a: Like, indices: Like, axis: Any = None, out: None = None, mode: str = "raise") -> Any:
    return Gives(a.dtype, indices.shape if axis is None else with_extents(a, axis, indices.shape))


@row(np.take_along_axis, source_first=True)
def _take_along_axis(arr: Like, indices: Like, axis: Any = -1) -> Any:
    if axis is None:
        return Gives(arr.dtype, indices.shape)
    axis = range(arr.ndim)[axis]
    outer = broadcast(arr.tracer, *((*x.shape[:axis], *x.shape[axis + 1 :]) for x in (arr, indices)))
    return Gives(arr.dtype, (*outer[:axis], indices.shape[axis], *outer[axis:]))


@row(np.choose)
def _choose(a: Like, choices: Any, out: None = None, mode: str = "raise") -> Any:
    if type(choices) not in (tuple, list):
        held = Like(a.tracer, choices)
        return Gives(held.dtype, broadcast(a.tracer, a.shape, held.shape[1:]))
    among = [Like(a.tracer, one) for one in choices]
    return Gives(trial(np.choose, 0, among).dtype, broadcast(a.tracer, a.shape, *(one.shape for one in among)))


@row(np.compress)
def _compress(condition: Like, a: Like, axis: Any = None, out: None = None) -> Any:
    if axis is None:
        return Gives(a.dtype, (FromData(a.size),))
    return Gives(a.dtype, with_axis(a, axis, FromData(extent_of(a, axis))))


@row(np.extract)
def _extract(condition: Like, arr: Like) -> Any:
    return Gives(arr.dtype, (FromData(arr.size),))


@row(np.delete, source_first=True)
def _delete(arr: Like, obj: Any, axis: Any = None) -> Any:
    total = arr.size if axis is None else extent_of(arr, axis)
    is_one = isinstance(obj, (int, SymInt)) and type(obj) is not bool
    extent = total - 1 if is_one else FromData(total)
    return Gives(arr.dtype, (extent,) if axis is None else with_axis(arr, axis, extent))


@row(np.insert)
def _insert(arr: Like, obj: Any, values: Like, axis: Any = None) -> Any:
    total, rank = (arr.size, 1) if axis is None else (extent_of(arr, axis), arr.ndim)
    if values.ndim > rank:
        return None
    padded = (*(1,) * (rank - values.ndim), *values.shape)
    if isinstance(obj, slice):
        more: Any = FromData()
    elif isinstance(obj, (int, SymInt)):
        more = padded[0]
    else:
        places = Like(arr.tracer, obj)
        if places.ndim != 1:
            return None
        more = FromData() if places.dtype == BOOL else padded[axis or 0] if places.size == 1 else places.size
    extent = FromData() if isinstance(more, FromData) else total + more
    return Gives(arr.dtype, (extent,) if axis is None else with_axis(arr, axis, extent))


@row(np.block)
def _block(arrays: Any) -> Any:
    leaves, depth = _leaves_of(arrays)
    tracer = next(leaf.tracer for leaf in leaves if hasattr(leaf, "tracer"))
    held = [Like(tracer, leaf) for leaf in leaves]
    rank = max([depth, *(a.ndim for a in held)])
    return Gives(common(*held), _joined(tracer, arrays, rank, depth), is_array=True)


def _leaves_of(arrays: Any) -> tuple[list[Any], int]:
    if type(arrays) is not list:
        return [arrays], 0
    parts = [_leaves_of(part) for part in arrays]
    return [leaf for leaves, _ in parts for leaf in leaves], 1 + parts[0][1]


def _joined(tracer: Any, arrays: Any, rank: int, depth: int) -> list[Any]:
    """The shape of the arrays, side by side along the axis that is `depth` from the last."""
    if type(arrays) is not list:
        shape = Like(tracer, arrays).shape
        return [*(1,) * (rank - len(shape)), *shape]
    parts = [_joined(tracer, part, rank, depth - 1) for part in arrays]
    return [sum(part[k] for part in parts) if k == rank - depth else parts[0][k] for k in range(rank)]


@row(np.diagonal)
def _diagonal(a: Like, offset: Any = 0, axis1: int = 0, axis2: int = 1) -> Any:
    outer, extent = diagonal_of(a, offset, axis1, axis2)
    step = f"{OF}.diagonal({{0}}, {axis1}, {axis2})"
    return Gives(
        a.dtype,
        (*outer, extent),
        view_of=a,
        view_name="diagonal()",
        is_writeable=False,
        view_step=step,
        view_sizes=(offset,),
    )


@row(np.linalg.diagonal)
def _linalg_diagonal(x: Like, /, *, offset: Any = 0) -> Any:
    return _diagonal(x, offset, -2, -1)


@row(np.diag)
def _diag(v: Like, k: Any = 0) -> Any:
    if v.ndim == 2:
        return _diagonal(v, k)
    return Gives(v.dtype, (v.size + abs(k),) * 2) if v.ndim == 1 else None


@row(np.diagflat)
def _diagflat(v: Like, k: Any = 0) -> Any:
    return Gives(v.dtype, (v.size + abs(k),) * 2)


@row(np.tri)
def _tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, *, like: None = None) -> Any:  # noqa: N803
    return Gives(np.dtype(dtype), (N, N if M is None else M))


@row(np.tril, np.triu)
def _triangle(m: Like, k: Any = 0) -> Any:
    return Gives(m.dtype, m.shape if m.ndim > 1 else (*m.shape, *m.shape))


@row(np.indices)
def _indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    shape, rank = tuple(dimensions), len(dimensions)
    if not sparse:
        return Gives(np.dtype(dtype), (rank, *shape))
    return tuple(Gives(np.dtype(dtype), [n if k == axis else 1 for k, n in enumerate(shape)]) for axis in range(rank))


@row(np.packbits)
def _packbits(a: Like, /, axis: Any = None, bitorder: str = "big") -> Any:
    extent = ((a.size if axis is None else extent_of(a, axis)) + 7) // 8
    return Gives(np.uint8, (extent,) if axis is None else with_axis(a, axis, extent))


@row(np.unpackbits)
def _unpackbits(a: Like, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> Any:
    extent = (a.size if axis is None else extent_of(a, axis)) * 8
    if count is not None:
        extent = count if count >= 0 else extent + count
    return Gives(np.uint8, (extent,) if axis is None else with_axis(a, axis, extent))


@row(np.array_equiv, source_first=True)
def _array_equiv(a1: Like, a2: Like) -> Any:
    return Gives(BOOL, (), bool)


@row(np.ndarray.byteswap)
def _byteswap(a: Like, inplace: bool = False) -> Any:
    """The bytes of each element in the other order."""
    return None if inplace else Gives(a.dtype, a.shape, is_array=True)


@row(np.ndarray.view)
def _view(a: Like, dtype: Any) -> Any:
    """The same bits as numbers of another type of that size."""
    given = np.dtype(dtype)
    fits = a.ndim > 0 and given.itemsize == a.dtype.itemsize and given.kind in "iufb" and a.dtype.kind in "iufb"
    step = f"{OF}.view({given.str!r})"
    return Gives(given, a.shape, view_of=a, view_name="view()", view_step=step) if fits else None
