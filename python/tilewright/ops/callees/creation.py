"""Arrays of extents that the data decide: memory of no known size is Python's to make."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..operands import FLOAT64
from ..stage_rows import Gives, Like, is_sized_by_data, row, told_by_result


def _gives(shape: Any, dtype: Any, order: str, like: Any) -> Gives | None:
    if not is_sized_by_data(shape) or order != "C" or like is not None:
        return None  # of sizes there are rules
    return Gives(np.dtype(FLOAT64 if dtype is None else dtype), told_by_result(shape), is_in_c_order=True)


@row(np.zeros, np.ones, np.empty)
def _constant(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None) -> Any:
    return _gives(shape, dtype, order, like)


@row(np.full)
def _full(
    shape: Any, fill_value: Like, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None
) -> Any:
    return _gives(shape, fill_value.dtype if dtype is None else dtype, order, like)
