"""Results beside those of plain Python: types, dtypes and values, of tuples and lists item by item."""

from __future__ import annotations

from typing import Any

import numpy as np


def same(given: Any, expected: Any, rtol: float = 0) -> None:
    """Fails unless both are alike; arrays and numbers may differ by a relative `rtol`."""
    assert type(given) is type(expected), (given, expected)
    if isinstance(expected, (tuple, list)):
        for one, other in zip(given, expected, strict=True):
            same(one, other, rtol)
        return
    assert np.asarray(given).dtype == np.asarray(expected).dtype
    if rtol:
        np.testing.assert_allclose(given, expected, rtol=rtol)
    else:
        np.testing.assert_array_equal(given, expected)
