"""numpy.linalg, by LAPACK, and products."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg import _linalg as _of_numpy

from ...symbolic.scalars import SymInt
from ..operands import INT64
from ..stage_rows import FromData, Gives, Like, row
from .dtypes import averaged, broadcast, common, inexact, real_of, summed, without_axes


def _named(kind: Any, *results: Gives) -> Any:
    """The named tuple that NumPy gives."""
    return kind(*results)


def _least(one: Any, other: Any) -> Any:
    """The lesser of two extents; where data decide one of them, it is at most the other."""
    for extent, most in ((one, other), (other, one)):
        if isinstance(extent, SymInt) and extent.tracer.is_of_data(extent.size):
            return FromData(most)
    return min(one, other)


_linalg: Any = _of_numpy  # its tuples have what a row gives in the place of arrays


@row(np.linalg.inv)
def _inv(a: Like) -> Any:
    return Gives(inexact(a), a.shape)


@row(np.linalg.cholesky)
def _cholesky(a: Like, /, *, upper: bool = False) -> Any:
    return Gives(inexact(a), a.shape)


@row(np.linalg.det)
def _det(a: Like) -> Any:
    return Gives(inexact(a), a.shape[:-2])


@row(np.linalg.slogdet)
def _slogdet(a: Like) -> Any:
    dtype = inexact(a)
    return _named(_linalg.SlogdetResult, Gives(dtype, a.shape[:-2]), Gives(real_of(dtype), a.shape[:-2]))


@row(np.linalg.eigvalsh)
def _eigvalsh(a: Like, UPLO: str = "L") -> Any:  # noqa: N803
    return Gives(real_of(inexact(a)), a.shape[:-1])


@row(np.linalg.eigh)
def _eigh(a: Like, UPLO: str = "L") -> Any:  # noqa: N803
    dtype = inexact(a)
    return _named(_linalg.EighResult, Gives(real_of(dtype), a.shape[:-1]), Gives(dtype, a.shape))


@row(np.linalg.eigvals)
def _eigvals(a: Like) -> Any:
    """Of real matrices the data decide whether the values are real."""
    return Gives(inexact(a), a.shape[:-1]) if a.dtype.kind == "c" else None


@row(np.linalg.eig)
def _eig(a: Like) -> Any:
    dtype = inexact(a)
    return _named(_linalg.EigResult, Gives(dtype, a.shape[:-1]), Gives(dtype, a.shape)) if a.dtype.kind == "c" else None


@row(np.linalg.pinv)
def _pinv(a: Like, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    dtype = inexact(a)
    if dtype != a.dtype and (a.shape[-1] == 0 or a.shape[-2] == 0):
        dtype = a.dtype
    return Gives(dtype, (*a.shape[:-2], a.shape[-1], a.shape[-2]))


@row(np.linalg.solve)
def _solve(a: Like, b: Like) -> Any:
    outer, inner = (b.shape[:-2], b.shape[-2:]) if b.ndim > 1 else ((), b.shape[-1:])
    return Gives(inexact(a, b), (*broadcast(a.tracer, a.shape[:-2], outer), *inner))


@row(np.linalg.svd)
def _svd(a: Like, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    dtype = inexact(a)
    *outer, rows, columns = a.shape
    least = _least(rows, columns)
    values = Gives(real_of(dtype), (*outer, least))
    if not compute_uv:
        return values
    left, right = (rows, columns) if full_matrices else (least, least)
    return _named(_linalg.SVDResult, Gives(dtype, (*outer, rows, left)), values, Gives(dtype, (*outer, right, columns)))


@row(np.linalg.svdvals)
def _svdvals(x: Like, /) -> Any:
    return Gives(real_of(inexact(x)), (*x.shape[:-2], _least(x.shape[-2], x.shape[-1])))


@row(np.linalg.qr)
def _qr(a: Like, mode: str = "reduced") -> Any:
    dtype = inexact(a)
    *outer, rows, columns = a.shape
    least = _least(rows, columns)
    if mode == "r":
        return Gives(dtype, (*outer, least, columns))
    if mode == "raw":
        return Gives(dtype, (*outer, columns, rows)), Gives(dtype, (*outer, least))
    if mode not in ("reduced", "complete"):
        return None
    inner = rows if mode == "complete" else least
    return _named(_linalg.QRResult, Gives(dtype, (*outer, rows, inner)), Gives(dtype, (*outer, inner, columns)))


@row(np.linalg.lstsq)
def _lstsq(a: Like, b: Like, rcond: Any = None) -> Any:
    dtype = inexact(a, b)
    rows, columns = a.shape
    right = b.shape[1:]
    left_over = Gives(real_of(dtype), (FromData(right[0] if right else 1),))
    solution = Gives(dtype, (columns, *right))
    return (solution, left_over, Gives(np.int32), Gives(real_of(dtype), (_least(rows, columns),)))


@row(np.linalg.matrix_rank)
def _matrix_rank(A: Like, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:  # noqa: N803
    return Gives(INT64, A.shape[:-2]) if A.ndim > 1 else Gives(INT64, (), int)


@row(np.linalg.cond)
def _cond(x: Like, p: Any = None) -> Any:
    return Gives(real_of(inexact(x)), x.shape[:-2])


@row(np.linalg.norm)
def _norm(x: Like, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A002
    return Gives(real_of(averaged(x)), without_axes(x, axis, keepdims))


@row(np.linalg.matrix_power, source_first=True)
def _matrix_power(a: Like, n: int) -> Any:
    if n == 1:
        return None  # the very matrix
    return Gives(inexact(a) if n < 0 else a.dtype, a.shape)


@row(np.linalg.tensorsolve)
def _tensorsolve(a: Like, b: Like, axes: Any = None) -> Any:
    moved = [k % a.ndim for k in axes or ()]
    order = [k for k in range(a.ndim) if k not in moved] + moved
    return Gives(inexact(a, b), [a.shape[k] for k in order[b.ndim :]])


@row(np.linalg.tensorinv)
def _tensorinv(a: Like, ind: int = 2) -> Any:
    return Gives(inexact(a), (*a.shape[ind:], *a.shape[:ind])) if ind > 0 else None


@row(np.kron)
def _kron(a: Like, b: Like) -> Any:
    rank = max(a.ndim, b.ndim)
    first, second = ((1,) * (rank - x.ndim) + x.shape for x in (a, b))
    return Gives(common(a, b), [n * k for n, k in zip(first, second, strict=True)])


@row(np.cross, source_first=True)
def _cross(a: Like, b: Like, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:  # noqa: PLR0917
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis,) * 3
    outer = []
    for x, given in ((a, axisa), (b, axisb)):
        k = range(x.ndim)[given]
        if x.shape[k] != 3:
            return None
        outer.append((*x.shape[:k], *x.shape[k + 1 :]))
    shape = list(broadcast(a.tracer, *outer))
    shape.insert(range(len(shape) + 1)[axisc], 3)
    return Gives(common(a, b), shape)


@row(np.linalg.cross)
def _linalg_cross(x1: Like, x2: Like, /, *, axis: int = -1) -> Any:
    return _cross(x1, x2, axis=axis)


@row(np.linalg.vecdot, source_first=True)
def _vecdot(x1: Like, x2: Like, /, *, axis: int = -1) -> Any:
    first, second = ([n for k, n in enumerate(x.shape) if k != range(x.ndim)[axis]] for x in (x1, x2))
    return Gives(common(x1, x2), broadcast(x1.tracer, first, second))


@row(np.trace)
def _trace(a: Like, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    return Gives(summed(a, dtype), [n for k, n in enumerate(a.shape) if k not in (axis1 % a.ndim, axis2 % a.ndim)])


@row(np.linalg.trace)
def _linalg_trace(x: Like, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return Gives(summed(x, dtype), x.shape[:-2])
