"""Polynomials by their coefficients, the highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..operands import FLOAT64, INT64
from ..stage_rows import FromData, Gives, Like, row
from .dtypes import common, trial


def _vector(a: Like) -> Like:
    return a if a.ndim else Like(a.tracer, np.ones(1, a.dtype))


@row(np.polyadd, np.polysub)
def _polyadd(a1: Like, a2: Like) -> Any:
    if a1.ndim != 1 or a2.ndim != 1:
        return None
    return Gives(np.result_type(a1.dtype, a2.dtype), (max(a1.size, a2.size),))


@row(np.polymul)
def _polymul(a1: Like, a2: Like) -> Any:
    """Zeros in front are left out."""
    if a1.ndim != 1 or a2.ndim != 1:
        return None
    return Gives(trial(np.polymul, a1, a2).dtype, (FromData(a1.size + a2.size),))


@row(np.polydiv)
def _polydiv(u: Like, v: Like) -> Any:
    if u.ndim != 1 or v.ndim != 1:
        return None
    dtype = trial(np.polydiv, u, v)[0].dtype
    return Gives(dtype, (max(1, u.size - v.size + 1),)), Gives(dtype, (FromData(u.size),))


@row(np.polyder)
def _polyder(p: Like, m: int = 1) -> Any:
    m = m.__index__()
    if p.ndim != 1 or m < 1:
        return None
    dtype = p.dtype
    for _ in range(m):
        dtype = np.result_type(dtype, INT64)
    return Gives(dtype, (p.size - m,))


@row(np.polyint)
def _polyint(p: Like, m: int = 1, k: Any = None) -> Any:
    m = m.__index__()
    if p.ndim != 1 or m < 1:
        return None
    return Gives(trial(np.polyint, p, m, k).dtype, (p.size + m,))


@row(np.polyfit)
def _polyfit(x: Like, y: Like, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False) -> Any:
    """numpy.linalg.lstsq() of a Vandermonde matrix."""
    degree = deg.__index__()
    if full or cov or x.ndim != 1 or y.ndim not in (1, 2) or degree < 0:
        return None
    weights = [] if w is None else [Like(x.tracer, w)]
    dtype = np.result_type(common(x, y, *weights), FLOAT64)
    return Gives(dtype, (degree + 1, *y.shape[1:]))
