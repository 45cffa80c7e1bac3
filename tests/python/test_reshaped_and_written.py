"""Writes through a reshape that may be a view or a copy: of an array that nobody reads again, either is right."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from strictly import check

pytestmark = pytest.mark.compile

X = np.random.default_rng(5).random((30, 4))


def pooled_back(x, g):
    d = x * g[:, :, None, :, None]
    r = d.reshape(d.shape[0], d.shape[1] * d.shape[2], d.shape[3] * d.shape[4])
    r[r < 0.3] = 0
    r += 1
    return r * 2


def views_of_it(x):
    d = (x.T * 2).reshape(-1)
    v = d[3:9]
    v[...] = 7
    return d + 1, v


def in_a_loop(x, n):
    t = np.zeros(x.size)
    for i in range(n):
        d = (x.T + i).reshape(-1)
        d[d > 3] -= i
        t = t + d
    return t


def written_by_a_later_loop(x, n):
    d = (x.T * 2).reshape(-1)
    e = d[2:]
    d[0] = 5
    for i in range(n):
        d[i] += e[i] * 0.5
        e[-1] += 1
    return d, e


def before_a_loop_that_writes(x, n):
    d = (x.T * 2).reshape(-1)
    for i in range(n):
        d[i] = 0
    return d


@pytest.mark.parametrize("order", ["C", "F"])
def test_of_an_array_that_nobody_reads_again(order):
    x, g = np.random.default_rng(6).random((3, 4, 2, 5, 2)), np.random.default_rng(7).random((3, 4, 5))
    check(pooled_back, np.asarray(x, order=order), g)
    for function, args in (
        (views_of_it, ()),
        (in_a_loop, (20,)),
        (written_by_a_later_loop, (20,)),
        (before_a_loop_that_writes, (20,)),
    ):
        check(function, np.asarray(X, order=order), *args)


def reads_the_array(x):
    b = x.T * 2
    d = b.reshape(-1)
    d[0] = 5
    return b + d.sum()


def reads_another_view(x):
    b = x.T * 2
    d, e = b.reshape(-1), b.reshape(-1)
    d[0] = 5
    return e + d


def returns_the_array(x):
    b = x.T * 2
    d = b.reshape(-1)
    d[0] = 5
    return b, d


def writes_the_array(x):
    b = x.T * 2
    d = b.reshape(-1)
    d[0] = 5
    b[1, 1] = 3
    return d


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("function", [reads_the_array, reads_another_view, returns_the_array, writes_the_array])
def test_of_an_array_that_is_read_the_layout_decides(function, order):
    x = np.asarray(X, order=order)
    with pytest.raises(tilewright.TraceError, match="a view or a copy depends on the memory layout here"):
        tilewright.jit(function, strict="kernels")(x)
    compiled = tilewright.jit(function)
    for _ in range(3):
        ours, theirs = compiled(x), function(x)
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(one, other)
