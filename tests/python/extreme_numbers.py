"""Whole numbers and bools whose extremes are frequent, for tests of any dtype."""

from __future__ import annotations

from typing import Any

import numpy as np


def extreme_numbers(dtype: Any, shape: Any, rng: np.random.Generator) -> np.ndarray:
    """Of bool or an integer dtype: a fifth of the integers are the largest one."""
    if dtype == "bool":
        return rng.random(shape) < 0.5
    limits = np.iinfo(dtype)
    values = rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    values[rng.random(shape) < 0.2] = limits.max
    return values
