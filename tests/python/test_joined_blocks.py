"""np.kron, np.block, np.isin and np.setdiff1d as kernels."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile

ARRAYS = [
    np.arange(6).reshape(2, 3),
    np.array([[-0.0, np.nan], [np.inf, 1.0]]).T,
    np.ones((1, 3), bool),
]
KERNELS = [
    lambda a: np.kron(a, a),
    lambda a: np.kron(a[0], a),
    lambda a: np.kron(a, a[0]) * 2,
    lambda a: np.kron(np.eye(2), a),
    lambda a: np.kron(a, 2),
    lambda a: np.kron(2.5, a),
    lambda a: np.block([[a, a + 1], [a, np.zeros_like(a)]]),
    lambda a: np.block([a, a]),
    lambda a: np.block([[a[0]], [a[0]]]),
    lambda a: np.block([[a, a[:, :1]], [a[:1], np.ones((1, 1))]]),
    lambda a: np.block([[np.eye(a.shape[0]), a], [np.zeros((a.shape[1], a.shape[0])), np.eye(a.shape[1])]]),
    lambda a: np.isin(a, a[0], invert=True),
    lambda a: np.isin(a[0], a),
]


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("number", range(len(KERNELS)))
def test_blocks_are_kernels(number):
    function = KERNELS[number]
    compiled = tilewright.jit(function, strict="kernels")
    for a in ARRAYS:
        got, wanted = compiled(a), function(a)
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_array_equal(got, wanted)


FOUND = [
    lambda a: np.isin(a, [1, 2, 40]),
    lambda a: np.isin(a, []),
    lambda a: np.isin(a, np.arange(500)),
    lambda a: a[np.isin(a, [0, 4, 5.5])],
    lambda a: np.isin(a[0, 0], [1, 2]),
    lambda a: np.setdiff1d(np.arange(1, 10), a),
    lambda a: np.setdiff1d(a, [2, 3]),
    lambda a: np.setdiff1d(a, a[0]).size,
    lambda a: [int(x) for x in np.setdiff1d(np.arange(5), a[0].real)],
    lambda a: np.setdiff1d(np.arange(0), a),
    lambda a: np.setdiff1d(np.arange(10), a[:0]),
    lambda a: np.setdiff1d(np.arange(200), np.arange(0, 200, 2) + a.size),
    lambda a: np.setdiff1d(np.arange(5)[::-1], a[0]),
    lambda a: np.setdiff1d(a, a[:1], assume_unique=True),
]


@pytest.mark.parametrize("number", range(len(FOUND)))
def test_what_is_found(number):
    function = FOUND[number]
    compiled = tilewright.jit(function, strict=True)
    for a in ARRAYS:
        got, wanted = compiled(a), function(a)
        assert type(got) is type(wanted)
        assert np.asarray(got).dtype == np.asarray(wanted).dtype
        np.testing.assert_array_equal(got, wanted)


def first(a):
    d = a[a > 3]
    d[0] = 99
    return d


def parts(a):
    d = a[a > 3]
    d[1:3] += 5
    d[-1] = 0
    return d.sum(), d


def computed(a):
    d = a[a > 3] * 2
    d[::2] = -1
    return d, a


def positions(a):
    i = np.flatnonzero(a > 3)
    i[0] = 2
    return i, a[i]


def both(a):
    rows = np.nonzero(a > 3)[0]
    rows[0] = 1
    return rows


def in_a_loop(a):
    d = a[a > 3]
    for i in range(len(d)):
        d[i] = d[i] * i
    return d


def of_two(a):
    d, e = a[a > 3], a[a > 3]
    d[0] = 7
    return d - e, a


def sorted_first(a):
    d = a[a > 3]
    d.sort()
    d[0] = 2
    return d


def under_its_own_mask(a):
    d = a[a > 3]
    d[d > 5] = np.arange((d > 5).sum())
    return d


def difference(a):
    d = np.setdiff1d(np.arange(10), a)
    d[:1] = 99
    return d


@pytest.mark.parametrize(
    "function",
    [first, parts, computed, positions, both, in_a_loop, of_two, sorted_first, under_its_own_mask, difference],
)
def test_what_a_mask_picks_out_may_be_written(function):
    compiled = tilewright.jit(function, strict=True)
    for a in (np.arange(12.0)[::-1] - 2,):
        ours, theirs = a.copy(), a.copy()
        got, wanted = compiled(ours), function(theirs)
        for one, other in zip(*((x if isinstance(x, tuple) else (x,)) for x in (got, wanted)), strict=True):
            assert np.asarray(one).dtype == np.asarray(other).dtype
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(ours, theirs)
