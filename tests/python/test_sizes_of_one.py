"""Sizes from integer arguments that are 0 or 1: the program of all other sizes, unless broadcasting stretches them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.fast

SIZES = (0, 1, 2, 3, 7)


def image(a, b, nx, ny, iterations):
    x = np.linspace(a, b, nx, dtype=np.float32)
    y = np.linspace(b, a, ny)
    z = x * y[:, None]
    m = np.zeros(z.shape, dtype=int)
    for n in range(iterations):
        alive = np.abs(z) < 2.0
        m[alive] = n
        z[alive] = z[alive] ** 2 + x.sum()
    return z, m, x, y


def ramps(a, b, n, k):
    return np.linspace(a, b, n), np.linspace(a, b, n, endpoint=False), np.linspace(a, b, k, dtype=int)


def columns(n, k):
    a = np.zeros((n, 1))
    a[:, 0] = np.arange(n) + 1.0
    b = np.ones((1, k)) * 2
    b += np.arange(k)
    return a * b, (a + b).sum(axis=0), np.broadcast_to(a, (n, k)) + 0


def into_literal(n):
    a = np.zeros((3, 1))
    a[:, :] = np.ones(n)
    return a


def stretched(n, k):
    return np.arange(n) * 2.0 + np.arange(k)


def same_bits(got: Any, expected: Any) -> None:
    for one, other in zip(got, expected, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("first", [(1, 1), (5, 3)])
def test_an_image_of_any_size_is_one_program(first: tuple[int, int]) -> None:
    compiled = tilewright.jit(image, strict=True)
    sizes = [first, *((nx, ny) for nx in SIZES for ny in SIZES)]
    for nx, ny in sizes:
        got, expected = compiled(-2.0, 0.75, nx, ny, 9), image(-2.0, 0.75, nx, ny, 9)
        for one, other in zip(got, expected, strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            np.testing.assert_allclose(one, other, rtol=1e-5)
    assert len(compiled.specializations) == 1


@pytest.mark.parametrize("first", [(1, 1), (6, 4)])
@pytest.mark.parametrize("function", [ramps, columns])
def test_steps_and_stretched_axes_of_any_size_are_one_program(function: Any, first: tuple[int, int]) -> None:
    compiled = tilewright.jit(function, strict=True)
    limits = (0.1, 7.3) if function is ramps else ()
    for n, k in [first, *((n, k) for n in SIZES for k in SIZES)]:
        same_bits(compiled(*limits, n, k), function(*limits, n, k))
    assert len(compiled.specializations) == 1


def test_what_fits_because_it_is_one_is_no_answer_for_other_sizes() -> None:
    compiled = tilewright.jit(into_literal, strict=True)
    same_bits([compiled(1)], [into_literal(1)])
    for n in (2, 3, 0):
        with pytest.raises(ValueError, match="broadcast"):
            compiled(n)


def test_two_axes_of_unknown_size_that_meet_ask_which_one_is_stretched() -> None:
    for first in SIZES:
        compiled = tilewright.jit(stretched, strict=True)
        for n, k in [(first, first), (1, 5), (5, 1), (1, 1), (4, 4), (0, 1), (1, 0), (0, 0)]:
            same_bits([compiled(n, k)], [stretched(n, k)])
        with pytest.raises(ValueError, match="broadcast"):
            compiled(2, 3)
