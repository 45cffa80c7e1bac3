"""Elementwise work of what is spread out and made flat: done before the reshape, with NumPy's results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright.trace import trace

pytestmark = pytest.mark.fast
A = np.array([[1.0, np.nan, -0.0], [4.0, -5.0, 6.5]])
B = np.array([[0.5, 2.0, -3.0, 1e300], [7.0, -0.0, 9.0, np.inf]])


def nearest(a: Any, b: Any) -> Any:
    d = np.linalg.norm(np.repeat(a, b.shape[1], axis=1) - np.tile(b, (1, a.shape[1])), axis=0)
    return np.argmin(d.reshape(a.shape[1], b.shape[1]), axis=1)


def flat_grid(a: Any, b: Any) -> Any:
    x, y = np.meshgrid(a[0], b[0])
    flat = np.sin(x.ravel()) * y.ravel() + (x.ravel() > 1)
    return flat, flat.reshape(x.shape).sum(axis=1), flat.max()


def sums_of_joined_axes(a: Any, b: Any) -> Any:
    both = np.repeat(a, b.shape[1], axis=1) * np.tile(b, (1, a.shape[1]))
    return both.sum(axis=1), both.sum(), both.any(axis=0), (both > 0).sum(axis=0)


def written_behind(a: Any, b: Any) -> Any:
    flat = np.repeat(a, 2, axis=0) + 1.0
    other = flat * 2
    flat[0] = b[0, 0]
    return flat, other


def copies(a: Any, b: Any) -> Any:
    return np.repeat(a, 2), np.tile(a, 2), b.repeat(3), np.tile(b, (2, 2)).copy()


def of_another_shape(a: Any, b: Any) -> Any:
    return np.repeat(a[0], 2) + np.tile(a[0], 2) + np.arange(6.0) + b[0, 0]


@pytest.mark.parametrize(
    "function", [nearest, flat_grid, sums_of_joined_axes, written_behind, copies, of_another_shape]
)
@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (3, 1)])
def test_results_are_numpys(function: Callable[..., Any], shape: tuple[int, int]) -> None:
    a, b = A[:, : shape[0]], B[:, : shape[1]]
    if function is of_another_shape and shape[0] < A.shape[1]:
        pytest.skip("of three columns")
    expected = function(a.copy(), b.copy())
    given = tilewright.jit(function, strict=True)(a.copy(), b.copy())
    for mine, theirs in zip(given, expected, strict=True):
        assert np.asarray(mine).dtype == np.asarray(theirs).dtype
        np.testing.assert_allclose(mine, theirs, rtol=1e-14)


def test_the_reshape_comes_last() -> None:
    text = trace(nearest, (A, B), {}).program_text
    assert text.count("= reshape(") == 2  # noqa: PLR2004  (those that add an axis to be repeated along)
    assert "sum(" in text


def test_axes_that_a_reshape_joins_are_reduced_behind_it() -> None:
    text = trace(sums_of_joined_axes, (A, B), {}).program_text
    assert "a.1*b.1] = reshape" in text
