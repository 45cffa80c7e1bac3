"""Sums over windows of arrays: each axis of a window is short, and elements of the result are neighbours in memory."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from numpy.lib.stride_tricks import sliding_window_view
from strictly import check

pytestmark = pytest.mark.compile

IMAGE = 0.5 + np.random.default_rng(8).random((70, 90))


def filtered(image, window):
    return np.einsum("ijkl,kl->ij", sliding_window_view(image, window.shape), window)


def mean_and_spread(image, window):
    views = sliding_window_view(image, window.shape)
    return views.mean(axis=(2, 3)), views.std(axis=(-1, -2)), (views * window).prod(axis=(2, 3))


def in_three_axes(image, window):
    views = sliding_window_view(image.reshape(7, 10, 90), (3, *window.shape))
    return views.sum(axis=(3, 4, 5)), (views * window).sum(axis=(-1, -2, -3))


@pytest.mark.parametrize("shape", [(7, 9), (9, 1), (2, 40), (10, 10)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", [filtered, mean_and_spread, in_three_axes])
def test_sums_over_windows(function, dtype, shape):
    image = IMAGE.astype(dtype)
    window = (0.5 + np.random.default_rng(9).random(shape)).astype(dtype)
    image[3, 4] = np.nan
    compiled = tilewright.jit(function, strict=True)
    theirs = function(image, window)
    for _ in range(2):
        ours = compiled(image, window)
        for one, other in [(ours, theirs)] if function is filtered else zip(ours, theirs, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-11 if dtype is np.float64 else 1e-4, equal_nan=True)


def test_each_axis_of_a_window_is_a_sum_of_its_own():
    compiled = check(filtered, IMAGE, np.ones((11, 11)), bits=False)
    stages = compiled.explain(source=False)
    assert "{axes=[3]}" in stages
    assert "lanes" not in stages.partition("stages:")[2].partition("variants")[0]
