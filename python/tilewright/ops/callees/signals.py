"""Filters and windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..operands import FLOAT64
from ..stage_rows import Gives, Like, row
from .dtypes import common


@row(np.convolve)
def _convolve(a: Like, v: Like, mode: str = "full") -> Any:
    n, m = a.size, v.size
    longest, shortest = (n, m) if n >= m else (m, n)
    sizes = {"full": n + m - 1, "same": longest, "valid": longest - shortest + 1}
    fits = a.ndim <= 1 and v.ndim <= 1 and mode in sizes
    return Gives(common(a, v), (sizes[mode],)) if fits else None


@row(np.correlate)
def _correlate(a: Like, v: Like, mode: str = "valid") -> Any:
    return _convolve(a, v, mode)


@row(np.i0)
def _i0(x: Like) -> Any:
    return Gives(x.dtype if x.dtype.kind == "f" else FLOAT64, x.shape, is_array=True)


@row(np.bartlett, np.blackman, np.hamming, np.hanning)
def _window(M: Any) -> Any:  # noqa: N803
    return Gives(FLOAT64, (M,))


@row(np.kaiser)
def _kaiser(M: Any, beta: Any) -> Any:  # noqa: N803
    return Gives(FLOAT64, (M,))


@row(np.corrcoef, source_first=True)
def _corrcoef(x: Like, y: None = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """Of complex numbers NumPy writes into parts of its result."""
    if x.ndim != 2 or dtype is not None:
        return None
    count = x.shape[0 if rowvar else 1]
    return Gives(np.result_type(x.dtype, FLOAT64), (count, count))
