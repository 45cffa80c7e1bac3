"""Dtypes of the other byte order: nothing of theirs is compiled, and none of it is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright.errors import TraceError

pytestmark = pytest.mark.compile


def converted(x):
    return x.astype(">i2").tobytes(), x * 2


def seen_as_bytes(x):
    return x.astype(">i4").view(np.uint8), x * 2


def made(x):
    z = np.zeros(len(x), ">i4")
    z += 1
    return z.view("<i4"), np.ones(3, ">i2"), np.full(3, 2, ">f4"), np.asarray(x, ">f8"), x * 2


def joined(x):
    return np.concatenate([x, x], dtype=">f8"), np.linspace(0, 1, 3, dtype=">f8"), x * 2


def asked_for(x):
    kind = x.astype(">f8").dtype
    return kind.str, kind == np.float64, np.empty_like(x, dtype=">f8").dtype.byteorder, x * 2


def swapped(x):
    return x.astype(">i2").byteswap().view("<i2"), x * 2


def read(x, text=b"\0\1\0\2"):
    return np.frombuffer(text, ">i2"), np.frombuffer(text, ">i2") + 1, x * 2


@pytest.mark.parametrize("function", [converted, seen_as_bytes, made, joined, asked_for, swapped, read])
def test_byte_orders_are_kept(function: Any) -> None:
    x, compiled = np.arange(5.0), tilewright.jit(function)
    for _ in range(2):
        for one, other in zip(compiled(x), function(x), strict=True):
            assert type(one) is type(other)
            assert getattr(one, "dtype", None) == getattr(other, "dtype", None)
            np.testing.assert_array_equal(one, other)


def summed(x):
    return x.sum(dtype=">f8") + x


def test_a_sum_in_another_byte_order_raises_as_numpys() -> None:
    for function in (summed, tilewright.jit(summed)):
        with pytest.raises(TypeError, match="byte order"):
            function(np.arange(5.0))


def test_strict_says_so() -> None:
    with pytest.raises(TraceError, match="byte-swapped arrays are not compiled"):
        tilewright.jit(lambda x: np.zeros(len(x), ">i4") + x, strict="kernels")(np.arange(5.0))
