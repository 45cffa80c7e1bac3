"""Sums over the rows of a matrix, weighed by what is computed from each row: the matrix is read once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile


def gradient(x, w):
    return x.T @ np.exp(-(x @ w))


def rectified(x, w):
    p = x @ w
    return np.where(p > 0, p, 0.0) @ x + w


def distances(x, w):
    return (x * np.abs(x - w).sum(axis=1)[:, None]).sum(axis=0)


@pytest.mark.parametrize("function", [gradient, rectified, distances])
def test_weighed_rows_are_numpys(function: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    compiled = tilewright.jit(function, strict=True)
    # The first call decides over the schedule: a matrix of more than a cache, then rows that fill no block, and few.
    for rows, columns in ((2048, 512), (1025, 4097), (3, 300), (0, 300)):
        x, w = rng.random((rows, columns)) - 0.5, (rng.random(columns) - 0.5) / 10
        for matrix in (x, x[::-1]):
            np.testing.assert_allclose(compiled(matrix, w), function(matrix, w), rtol=1e-9, atol=1e-9)
    assert ", ro)" in compiled.explain(source=False)
