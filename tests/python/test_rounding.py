"""How far an answer may be from NumPy's: arrays that carry the error of another order of their sums along."""

from __future__ import annotations

import numpy as np
import pytest
from tilewright import rounding

pytestmark = pytest.mark.compile


def forces(pos, mass):
    dx = pos[:, 0] - pos[:, 0][:, None]
    inverse = (dx**2 + 0.01) ** -1.5
    return (dx * inverse) @ mass, (dx * inverse).sum(axis=1)


def test_the_tolerance_follows_from_the_terms_and_not_from_their_sum():
    rng = np.random.default_rng(3)
    pos, mass = rng.standard_normal((2000, 3)), np.full(2000, 0.01)
    exact = forces(pos.astype(np.longdouble), mass.astype(np.longdouble))
    moved = forces(rounding.wrapped(pos), rounding.wrapped(mass))
    numpy = forces(pos, mass)
    for right, other, ours in zip(exact, moved, numpy, strict=True):
        assert type(other) is rounding.Rounded
        error = np.abs(np.asarray(ours) - right.astype(float)).max()
        assert error < np.abs(np.asarray(other) - ours).max() < 1000 * error


@pytest.mark.parametrize(
    "function",
    [
        np.sum, np.mean, np.std, np.linalg.norm, np.exp, lambda x: x @ x.T, lambda x: np.dot(x, x.T), lambda x: x.dot(x.T),
        lambda x: np.einsum("ij,kj->ik", x, x), lambda x: np.einsum("ij,ij", x, x), lambda x: np.tensordot(x, x, 2),
        lambda x: np.inner(x, x), lambda x: np.vdot(x, x), lambda x: np.cumsum(x, axis=1), lambda x: np.prod(x, axis=1),
        lambda x: x.sum(axis=0, keepdims=True), lambda x: np.power(x, 1.7), lambda x: np.add.reduce(x, 1, out=np.empty(40)),
    ],
)  # fmt: skip
def test_every_way_to_add_up_is_moved_a_little(function):
    x = np.random.default_rng(1).random((40, 50))
    right, moved = np.asarray(function(x)), np.asarray(function(rounding.wrapped(x)))
    assert right.dtype == moved.dtype
    assert right.shape == moved.shape
    assert not np.array_equal(right, moved)
    np.testing.assert_allclose(moved, right, rtol=1e-13)


@pytest.mark.parametrize("function", [np.add, np.multiply, np.divide, np.subtract, np.maximum])
def test_what_is_numpys_to_the_bit_stays(function):
    x = rounding.wrapped(np.random.default_rng(1).random((40, 50)))
    assert np.array_equal(function(x, x + 1), function(rounding.bare(x), rounding.bare(x) + 1))
    y = x.copy()
    y += 1
    y[::2] = 0
    assert type(y) is rounding.Rounded


def test_functions_of_integers_round_as_the_float_that_numpy_takes():
    x = np.arange(1, 100, dtype=np.uint16)
    out = np.full(x.shape, 2.5)
    out -= np.arctan2(rounding.wrapped(x), x)
    error = np.abs(out - (2.5 - np.arctan2(x, x)))
    assert 1e-7 < error.max() < 1e-6
    assert np.array_equal(rounding.wrapped(x) * 3 + np.arange(99)[rounding.wrapped(x) - 1], x * 3 + np.arange(99))
