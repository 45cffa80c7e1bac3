"""Arrays as sets of numbers: how many there are the data decide."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..operands import BOOL, INT64
from ..stage_rows import FromData, Gives, Like, row
from .dtypes import common


@row(np.union1d, source_first=True)
def _union1d(ar1: Like, ar2: Like) -> Any:
    return Gives(common(ar1, ar2), (FromData(ar1.size + ar2.size),))


@row(np.intersect1d, source_first=True)
def _intersect1d(ar1: Like, ar2: Like, assume_unique: bool = False, return_indices: bool = False) -> Any:
    n = FromData(ar1.size + ar2.size)  # what is assumed may be wrong
    both = Gives(common(ar1, ar2), (n,))
    return (both, Gives(INT64, (n,)), Gives(INT64, (n,))) if return_indices else both


@row(np.setdiff1d)
def _setdiff1d(ar1: Like, ar2: Like, assume_unique: bool = False) -> Any:
    return Gives(ar1.dtype, (FromData(ar1.size),))


@row(np.setxor1d)
def _setxor1d(ar1: Like, ar2: Like, assume_unique: bool = False) -> Any:
    return Gives(common(ar1, ar2), (FromData(ar1.size + ar2.size),))


@row(np.isin, source_first=True)
def _isin(
    element: Like, test_elements: Like, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Any:
    return Gives(BOOL, element.shape, is_array=True)


@row(np.array_equal, source_first=True)
def _array_equal(a1: Like, a2: Like, equal_nan: bool = False) -> Any:
    return Gives(BOOL, (), bool)
