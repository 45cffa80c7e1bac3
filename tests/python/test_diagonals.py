"""np.diagonal, np.trace, np.diag and np.diagflat, as NumPy has them: views of what is written meanwhile, too."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.compile


def same(got, wanted):
    assert type(got) is type(wanted)
    if isinstance(wanted, tuple):
        for one, other in zip(got, wanted, strict=True):
            same(one, other)
        return
    assert (np.asarray(got).dtype, np.shape(got)) == (np.asarray(wanted).dtype, np.shape(wanted))
    np.testing.assert_array_equal(got, wanted)


COMPILED = {
    function: tilewright.jit(function, strict="kernels")
    for function in (
        lambda a, k: np.diagonal(a, k) * 2,
        lambda a, k: np.diagonal(a.T, k) + np.diagonal(a, -k)[:0].sum(),
        lambda a, k: np.trace(a, k) * 1,
        lambda a, k: a.trace(offset=k) + a.diagonal(k).sum(),
        lambda a, k: np.diag(a, k) + 1,
        lambda a, k: np.diag(a[0], k),
        lambda a, k: np.diagflat(a[:2], k),
        lambda a, k: np.diagonal(np.stack((a, a + 1, a)), k, 1, 2) * 1,
        lambda a, k: np.diagonal(np.stack((a, a + 1), axis=-1), k) * 1,
    )
}
LAYOUTS = [
    lambda a: a,
    np.asfortranarray,
    lambda a: a[::-1, ::-1],
    lambda a: np.repeat(a, 2, axis=1)[:, ::2],
]


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from(list(COMPILED)),
    st.sampled_from([(1, 1), (3, 4), (5, 2)]),
    st.integers(-5, 5),
    st.sampled_from(["f8", "?", "c16"]),
    st.sampled_from(LAYOUTS),
)
def test_diagonals_are_kernels(function, shape, k, dtype, layout):
    a = layout((np.arange(shape[0] * shape[1]).reshape(shape) % 7).astype(dtype))
    same(COMPILED[function](a, k), function(a, k))


def read_behind_writes(a):
    d = np.diagonal(a)
    e = d[1:]
    before = d * 1
    a[0, 0] = 77
    a += 1
    return before, d * 2, e + before[1:]


def read_in_a_loop(a):
    d = np.diagonal(a)
    total = d[0] * 0
    for i in range(a.shape[0]):
        a[i % 2, i % 2] += i
        total = total + d.sum()
    return total, d + 0


def read_behind_a_branch(a):
    d = np.diagonal(a, 1)
    if a[0, 0] > 2:
        a[0, 1] = 9
    else:
        a[1, 2] = 4
    return d * 2


def read_while_data_say(a):
    b = a * 2
    d = np.diagonal(b)
    count = 0
    while b[0, 0] < 50:
        b[0, 0] += 7
        b[1, 1] += d[0]
        count += 1
    return d.sum(), b, count


def windows_behind_writes(a):
    w = np.lib.stride_tricks.sliding_window_view(a, (2, 2))
    before = w.sum(axis=(2, 3))
    a[1] = 5
    return before, w.sum(axis=(2, 3))


@pytest.mark.parametrize(
    "function",
    [read_behind_writes, read_in_a_loop, read_behind_a_branch, read_while_data_say, windows_behind_writes],
)
def test_a_view_shows_what_was_written(function):
    compiled = tilewright.jit(function, strict="kernels")
    for a in (np.arange(12.0).reshape(3, 4), np.arange(3, 15).reshape(4, 3), np.arange(12.0).reshape(3, 4)[::-1]):
        ours, theirs = a.copy(), a.copy()
        same(compiled(ours), function(theirs))
        np.testing.assert_array_equal(ours, theirs)


def test_a_returned_diagonal_is_a_view_that_nobody_may_write():
    def returned(a):
        return np.diagonal(a, 1)

    a = np.arange(12.0).reshape(3, 4)
    got = tilewright.jit(returned, strict=True)(a)
    a[0, 1] = -5
    assert got[0] == -5
    assert np.shares_memory(got, a)
    assert not got.flags.writeable


@pytest.mark.parametrize(
    "function",
    [
        lambda a: np.diagonal(a[0]),
        lambda a: np.diagonal(a, 0, 1, 1),
        lambda a: np.diagonal(a, 0, 0, 5),
        lambda a: np.diag(a[None]),
        lambda a: np.trace(a[0]),
        lambda a: np.diagonal(a).__setitem__(0, 1),
    ],
)
def test_errors_are_numpys(function):
    a = np.arange(12.0).reshape(3, 4)
    with pytest.raises(Exception) as wanted:  # noqa: PT011  (whichever it is)
        function(a)
    with pytest.raises(wanted.type, match=r".") as got:
        tilewright.jit(function)(a)
    assert str(got.value) == str(wanted.value)


def test_an_empty_diagonal_matrix():
    def made(v):
        return np.diag(v, 2), np.diagonal(np.zeros((3, 2)), 5)

    same(tilewright.jit(made, strict=True)(np.zeros(0)), made(np.zeros(0)))
