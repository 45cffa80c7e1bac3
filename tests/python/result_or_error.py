"""What a function gives, or the class of what it raises; results that are alike to the bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def result(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except Exception as error:  # noqa: BLE001
        return type(error)


def same(got: Any, wanted: Any) -> None:
    """Fails unless both are the same array, or the same class of an error."""
    if isinstance(wanted, type):
        assert got is wanted
        return
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(got, wanted)
