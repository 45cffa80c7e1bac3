"""Whether two results are alike: of the same types, lists and numbers too."""

from __future__ import annotations

from typing import Any

import numpy as np


def same(ours: Any, expected: Any) -> None:
    assert type(ours) is type(expected)
    if isinstance(expected, (list, tuple)):
        assert len(ours) == len(expected)
        for one, other in zip(ours, expected, strict=True):
            same(one, other)
    elif isinstance(expected, dict):
        assert ours.keys() == expected.keys()
        for key, value in expected.items():
            same(ours[key], value)
    elif isinstance(expected, np.ndarray):
        assert (ours.dtype, ours.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(ours, expected, rtol=1e-12)
    elif isinstance(expected, (float, np.floating)):
        assert np.isclose(ours, expected, rtol=1e-12, atol=1e-14, equal_nan=True)
    else:
        assert ours == expected
