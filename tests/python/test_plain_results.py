"""Arrays and numbers of NumPy's that a function returns beside what it computes, and that no argument went into."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.fast
TABLE = np.arange(4.0)
X = np.arange(3.0)


def windows(x: Any) -> Any:
    h = np.hanning(8)
    h[0] = -0.0
    return h, h, x + 1


def in_a_dict(x: Any) -> Any:
    return {"frequencies": np.fft.fftfreq(8), "n": np.int32(4), "mean": x.mean(), "phases": [np.exp(1j * np.arange(3))]}


def numbers(x: Any) -> Any:
    return np.float64("nan"), np.float64(-0.0), np.bool_(True), np.float16(1.5), np.int8(-3), x + 1


def empty(x: Any) -> Any:
    return np.hanning(0), np.hamming(1), np.array([[1, 2], [3, 4]]).T, x.sum()


def of_a_size(x: Any) -> Any:
    return np.hanning(5)[1:], np.linspace(0, 1, len(x)), x * 2


def the_table_itself(x: Any) -> Any:
    return TABLE, x + TABLE[0]


def flatten(value: Any) -> list[Any]:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else None
    return [value] if parts is None else [part for one in parts for part in flatten(one)]


@pytest.mark.parametrize("function", [windows, in_a_dict, numbers, empty, of_a_size, the_table_itself])
def test_each_call_makes_them_anew(function: Callable[..., Any]) -> None:
    compiled = tilewright.jit(function, strict=True)
    for _ in range(3):
        given, expected = flatten(compiled(X.copy())), flatten(function(X.copy()))
        for one, other in zip(given, expected, strict=True):
            assert type(one) is type(other)
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-15)
            if one.dtype.kind == "f":
                np.testing.assert_array_equal(np.signbit(one), np.signbit(other))
        assert (given[0] is given[1]) == (expected[0] is expected[1])
        if function is not the_table_itself and isinstance(given[0], np.ndarray) and given[0].size:
            given[0][...] = 99  # which no later call sees
    if function is the_table_itself:
        assert given[0] is TABLE


def views_of_one(x: Any) -> Any:
    h = np.hanning(8)
    return h, h[::2], x + 1


def of_longer_numbers(x: Any) -> Any:
    return np.longdouble(2), x + 1


@pytest.mark.parametrize("function", [views_of_one, of_longer_numbers])
def test_what_no_program_holds_is_numpys(function: Callable[..., Any]) -> None:
    with pytest.raises(tilewright.TraceError, match="no array or number of the call is computed into"):
        tilewright.jit(function, strict=True)(X)
    given = tilewright.jit(function)(X)
    assert isinstance(given[0], np.ndarray) == np.shares_memory(given[0], given[1])
