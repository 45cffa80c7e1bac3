"""Blocks of elements are far longer than some arrays: what lies behind their end is neither written nor waited for."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile


def joined(x, n):
    return np.concatenate([x[:n], x * 2, x[: n // 2]])


def steps(x, count):
    kept = x[x > 0]
    total = np.zeros(len(kept), bool)
    for k in range(count):
        total = total | (kept > k) & (kept < k + 0.5)
    return total, kept


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "bool"])
def test_lengths_around_vectors_and_blocks(dtype):
    compiled = tilewright.jit(joined, strict=True)
    for size in (0, 1, 7, 8, 9, 31, 65, 1000, 32767, 32769, 65535, 65536, 65537, 131080):
        x = (np.arange(size) % 100).astype(dtype)
        for n in (0, 1, 5, size):
            np.testing.assert_array_equal(compiled(x, n), joined(x, n))


@pytest.mark.parametrize("size", [3, 500, 40_000, 200_000])
def test_lengths_that_data_decide(size):
    x = np.random.default_rng(size).normal(size=size)
    for got, wanted in zip(tilewright.jit(steps, strict=True)(x, 40), steps(x, 40), strict=True):
        np.testing.assert_array_equal(got, wanted)
