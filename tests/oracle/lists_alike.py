"""Whether two results are alike: of the same types, lists and numbers too."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def same(ours: Any, expected: Any, exact: bool = False) -> None:
    """`exact`: to the last bit, but for NaNs; else within the roundings of short sums."""
    assert type(ours) is type(expected)
    if isinstance(expected, (list, tuple)):
        assert len(ours) == len(expected)
        for one, other in zip(ours, expected, strict=True):
            same(one, other, exact)
    elif isinstance(expected, dict):
        assert list(ours) == list(expected)
        for key, value in expected.items():
            same(ours[key], value, exact)
    elif isinstance(expected, np.ndarray):
        assert (ours.dtype, ours.shape) == (expected.dtype, expected.shape)
        if exact:
            np.testing.assert_array_equal(ours, expected)
        else:
            np.testing.assert_allclose(ours, expected, rtol=1e-12)
    elif exact and isinstance(expected, (float, np.floating)) and not math.isnan(expected):
        assert (ours, math.copysign(1, ours)) == (expected, math.copysign(1, expected))
    elif isinstance(expected, (float, np.floating)):
        assert np.isclose(ours, expected, rtol=1e-12, atol=1e-14, equal_nan=True)
    else:
        assert ours == expected, (ours, expected)
