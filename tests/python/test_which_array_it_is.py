"""Which array an attribute or a result is behind loops and branches: a copy is one of its own, and what no iteration sets is the
very array that was there."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from objects_seen import seen

pytestmark = pytest.mark.compile


class Fields:
    def __init__(self):
        self.u, self.v, self.w = np.arange(9.0), np.ones(9), np.arange(9.0) % 3


def copy_behind_a_loop(one, x, n):
    for _ in range(n):
        one.v = one.w - x
    one.u = one.v.copy()
    return one.u


def copy_behind_a_while(one, x, n):
    k = 0
    while k < n and one.u[0] < 50:
        one.v = one.w - x
        k += 1
    one.u = np.array(one.v)
    return one.v


def copy_behind_a_branch(one, x, n):
    one.v = np.zeros_like(one.u)
    if one.w.sum() > x:
        one.v[0] = n
    one.u = one.v.astype(np.float64)
    return one.u


def copies_in_a_list(one, x, n):
    a = one.w * 2
    for i in range(n):
        a = a - x * i
    return [a, a.copy()], {"a": np.copy(a)}, a


def copies_of_what_several_loops_leave(one, x, n):
    a, b = one.w * 2, one.v * 2
    for i in range(n):
        a, b = b - i, a * x
    one.u, one.v = a.copy(), b.copy()
    for _ in range(n):
        b = b + a
    return a, b, b.copy()


@pytest.mark.parametrize(
    "function",
    [
        copy_behind_a_loop,
        copy_behind_a_while,
        copy_behind_a_branch,
        copies_in_a_list,
        copies_of_what_several_loops_leave,
    ],
)
def test_a_copy_is_an_array_of_its_own(function):
    compiled = tilewright.jit(function, strict=function is not copy_behind_a_while)
    ours, theirs = Fields(), Fields()
    for x, n in ((1.0, 2), (50.0, 3), (-2.0, 1), (0.5, 2)):
        before = [dict(vars(one)) for one in (ours, theirs)]
        given, expected = compiled(ours, x, n), function(theirs, x, n)
        assert seen([before[0], ours, given]) == seen([before[1], theirs, expected])
        for one in (ours, theirs):
            one.v[2] += 5  # nobody else sees it
