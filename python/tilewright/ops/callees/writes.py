"""Functions that write one of their arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..stage_rows import Like, method_row, row


@row(np.put, np.ndarray.put, writes="a")
def _put(a: Like, ind: Any, v: Any, mode: str = "raise") -> Any:
    return a


@row(np.place, writes="arr")
def _place(arr: Like, mask: Any, vals: Any) -> Any:
    return arr


@row(np.putmask, writes="a")
def _putmask(a: Like, /, mask: Any, values: Any) -> Any:
    return a


@row(np.fill_diagonal, writes="a")
def _fill_diagonal(a: Like, val: Any, wrap: bool = False) -> Any:
    return a


@row(np.put_along_axis, writes="arr", source_first=True)
def _put_along_axis(arr: Like, indices: Any, values: Any, axis: Any) -> Any:
    return None if axis is None else arr  # without an axis NumPy refuses arrays with gaps


@method_row("at", writes="a")
def _at(ufunc: np.ufunc, a: Like, indices: Any, b: Any = None, /) -> Any:
    return a
