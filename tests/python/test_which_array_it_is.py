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


def swapped_and_written(one, x, n):
    for _ in range(n):
        one.w, one.u = one.u, one.w
        one.w[1:-1] += x * one.u[2:]
        one.u = np.minimum(one.v, one.w)


def swapped_and_written_with_an_else(one, x, n):
    for _ in range(n):
        one.w, one.u = one.u, one.w
        one.w[1:-1] += x * one.u[2:]
        one.u = np.minimum(one.v, one.w)
    else:  # noqa: PLW0120
        one.v[2] = n


def in_a_loop_in_a_loop(one, x, n):
    for i in range(n):
        for _ in range(i):
            one.w = one.v * x
        one.u = one.v * 3


def in_a_loop_that_ends_early(one, x, n):
    for i in range(n):
        for _ in range(i, n - 1):
            one.w = one.w * x
    return one.u * x


def named_before_the_loops(one, x, n):
    a = one.w * 1
    one.v = a
    for i in range(n):
        for _ in range(i):
            a = one.u * x
    one.w = a


@pytest.mark.filterwarnings("ignore::tilewright.FallbackWarning")
@pytest.mark.parametrize(
    "function",
    [
        swapped_and_written,
        swapped_and_written_with_an_else,
        in_a_loop_in_a_loop,
        in_a_loop_that_ends_early,
        named_before_the_loops,
    ],
)
@pytest.mark.parametrize("counts", [(1, 3, 1), (70, 1, 0), (2, 1, 70, 1)])
def test_where_no_iteration_runs_it_is_the_array_that_was_there(function, counts):
    compiled = tilewright.jit(function)
    ours, theirs = Fields(), Fields()
    for n in counts:
        before = [dict(vars(one)) for one in (ours, theirs)]
        given, expected = compiled(ours, 0.5, n), function(theirs, 0.5, n)
        assert seen([before[0], ours, given]) == seen([before[1], theirs, expected])


def views_that_change_places(one, x, n):
    a = one.w * 2
    b = a[::-1]
    for _ in range(n):
        a, b = b, a
    return a, b


def a_view_that_an_iteration_may_replace(one, x, n):
    a = one.w * 2
    b = a[::-1]
    for i in range(n):
        for _ in range(i):
            b = a * x
    return a, b


def a_view_until_a_break(one, x, n):
    a = one.w * 2
    b = a[::-1]
    for i in range(n):
        if one.u[i] > x:
            break
        b = a.copy()
    return a, b


@pytest.mark.filterwarnings("ignore::tilewright.FallbackWarning")
@pytest.mark.parametrize(
    "function", [views_that_change_places, a_view_that_an_iteration_may_replace, a_view_until_a_break]
)
def test_views_stay_views_behind_loops(function):
    compiled = tilewright.jit(function)
    one = Fields()
    for x, n in ((0.5, 3), (-1.0, 2), (0.5, 1), (0.5, 2)):
        assert seen(compiled(one, x, n)) == seen(function(one, x, n))
