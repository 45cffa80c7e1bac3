"""Reductions with options that no rule takes: where=, initial=, complex numbers in order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..operands import INT64
from ..stage_rows import Gives, Like, row
from .dtypes import trial, without_axes


@row(np.max, np.amax, np.min, np.amin)
def _extreme(
    a: Like, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    return Gives(a.dtype, without_axes(a, axis, keepdims))


@row(np.argmax, np.argmin)
def _arg_extreme(a: Like, axis: Any = None, out: None = None, *, keepdims: bool = False) -> Any:
    return Gives(INT64, without_axes(a, axis, keepdims))


@row(np.ptp)
def _ptp(a: Like, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
    return Gives(a.dtype, without_axes(a, axis, keepdims))


def _summed(  # noqa: PLR0917
    function: Callable[..., Any], a: Like, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False,
    initial: Any = None, where: Any = True,
) -> Any:  # fmt: skip
    return Gives(trial(function, a, None, dtype).dtype, without_axes(a, axis, keepdims))


row(np.sum)(partial(_summed, np.sum))
row(np.prod)(partial(_summed, np.prod))
