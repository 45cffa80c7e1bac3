"""A loop writes into an array and assigns another one to its name: boundary conditions, then the next step."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright
from strictly import agree, check

pytestmark = pytest.mark.fast

X = np.linspace(-1.0, 2.0, 12)


def edges(u):
    u[0] = u[1]
    u[-1] *= -1


def steps(x, n):
    u = np.zeros(len(x) + 2)
    u[1:-1] = x
    for _ in range(n):
        edges(u)
        u = 0.5 * (np.roll(u, 1) + u)
    return u


def until_settled(x, n):
    u, t = x.copy(), 0.0
    while t < n:
        edges(u)
        dt = min(0.3, n - t)
        new = u.copy()
        new[1:-1] = u[1:-1] + dt * (u[2:] - u[:-2])
        u = new
        t += dt
    return u, t, new


def of_the_caller(x, n):
    u = x
    for k in range(n):
        u[0] = k
        u = u * 2
    return u


def made_under_two_names(x, n):
    v = u = x + 1
    for k in range(n):
        u[0] = k
        u = u * 2
    return u, v


def only_sometimes(x, n):
    u = x + 1
    for k in range(n):
        u[k] = -1.0
        if u[k - 1] > 0.5:
            u = u * 2
    return u


def until_it_is_low(x, n):
    u, k = x + 1, 0
    while u.sum() > -n:
        u[k] -= 5.0
        if k == 2:
            break
        u = u - 1
        k += 1
    return u


def ends_early(x, n):
    u = x + 1
    for k in range(n):
        edges(u)
        if u[1] > 8.0 or k == 3:
            break
        u = u * 1.5
        u[2] -= 1
    return u


def the_one_before(x, n):
    u = x + 1
    old = u
    for k in range(n):
        u[0] = k + old[1]
        old = u
        u = old[::-1] + 1
        old[3] = 7.0
    return u, old


def both_are_one(x, n):
    u = v = x + 1
    for k in range(n):
        u[0] = k + v[1]
        u = v = u * 2
    return u, v


def both_become_one(x, n):
    u, v = x + 1, x * 3
    for k in range(n):
        u[0] = k + v[1]
        v[2] += v[0]
        u = v = u * 2
    return u, v


def while_kept_in_a_list(x, n):
    u, kept, k = x + 1, [], 0
    while k < n:
        u[0] = k
        u = u * 2
        kept.append(u)
        k += 1
    return u, kept


def kept_in_a_list(x, n):
    u, kept = x + 1, []
    for k in range(n):
        u[0] = k
        u = u * 2
        kept.append(u)
    return u, kept


def copies_in_a_list(x, n):
    u, kept = x + 1, []
    k = 0
    while k < n:
        u[0] = k
        kept.append(u.copy())
        u = u * 2
        k += 1
    return u, kept


def its_own_rows(x, n):
    u = np.outer(x, x)
    total = 0.0
    for row in u:
        u[-1] += row
        total += row[-1]
        u = u * 0.5
    return u, total


def rows_of_what_nobody_names(x, n):
    total = 0.0
    for row in np.outer(x, x):
        u = row
        for k in range(n):
            u[0] = k
            u = u * 0.5
        total += u[3] + row[0]
    return total


def an_iterator_of_it(x, n):
    u = x + 1
    rest = iter(u)
    for k in range(n):
        u[1] = k + 9.0
        u = u * 2
    return u, next(rest) + next(rest)


def a_view_of_it(x, n):
    u = x + 1
    v = u[1:4]
    for k in range(n):
        u[1] = k + 9.0
        u = u * 2
    return u, v * 1


def inner_loops(x, n):
    u = x + 1
    v = u
    for k in range(n):
        for i in range(3):
            u[i] = v[k] + i
            u = u * 0.5
        v = u
    return u, v


def inner_loops_of_its_own(x, n):
    u = x + 1
    t = 0.0
    for _ in range(n):
        for i in range(3):
            u[i] = t + i
            u = u * 0.5
        t += u[1]
        u[0] = t
    return u, t


class Field:
    def __init__(self, u):
        self.u = u


def in_an_object(x, n):
    field = Field(x + 1)
    u = field.u
    for k in range(n):
        u[0] = k + field.u[1]
        u = u + 1
        field.u = u
    return u, field.u


def handed_to_a_function(x, n):
    u = x + 1
    w = steps_of(u, n)
    return u, w


def steps_of(u, n):
    for k in range(n):
        u[0] = k
        u = u * 2
    return u


def masked(x, n):
    u = x + 1
    for _ in range(n):
        u[u < 0] = np.nan
        u = -u + 0.75
    return u


STRICT = [
    steps, until_settled, of_the_caller, made_under_two_names, only_sometimes, copies_in_a_list, inner_loops_of_its_own, ends_early,
    handed_to_a_function, masked,
]  # fmt: skip


@pytest.mark.parametrize("function", STRICT)
@pytest.mark.parametrize("n", [1, 5])
def test_it_is_compiled(function: Callable[..., Any], n: int) -> None:
    check(function, X.copy(), n)


def two_that_change_places(x: Any, n: int) -> Any:
    y, z = x.copy(), x * 0.5
    w = y[1:]
    for i in range(min(n, len(x))):
        y[i] = 7.0
        y, z = z, y
    return y, z, w + 0


def three_that_go_round(x: Any, n: int) -> Any:
    a, b, c = x.copy(), x * 0.5, x + 1
    first, last = a, c
    for i in range(min(n, len(x))):
        a[i] = i
        a, b, c = b, c, a
    return a * 1, b * 1, c * 1, first.sum(), last[::-1] * 2


@pytest.mark.parametrize("function", [steps, until_settled, masked])
def test_no_iteration(function: Callable[..., Any]) -> None:
    compiled = tilewright.jit(function, strict=True)
    for n in (3, 0):
        if function is not until_settled or n:
            assert agree(compiled(X.copy(), n), function(X.copy(), n))


@pytest.mark.parametrize(
    "function",
    [
        until_it_is_low, the_one_before, both_are_one, both_become_one, kept_in_a_list, while_kept_in_a_list, its_own_rows, rows_of_what_nobody_names,
        an_iterator_of_it, a_view_of_it, inner_loops, in_an_object, two_that_change_places, three_that_go_round,
    ],
)  # fmt: skip
def test_who_else_sees_it_sees_the_writes(function: Callable[..., Any], recwarn: pytest.WarningsRecorder) -> None:
    compiled = tilewright.jit(function)
    for n in (4, 1):
        for _ in range(2):
            ours, theirs = X.copy(), X.copy()
            expected = copy.deepcopy(function(theirs, n))
            got = compiled(ours, n)
            assert agree(got, expected), f"{function.__name__}, {n}: {got}\nis not\n{expected}"
            assert agree(ours, theirs)


class Holder:
    def __init__(self, x):
        self.x = x


def moved_on(x, w):
    for k in range(3):
        w[k] = w[k] * 0.5 + x[k]
    return w


def under_two_names_until_a_break(x, n):
    kept = w = x.copy()
    for _ in range(n):
        w = moved_on(x, w)
        if np.sum((x - w) ** 2) < 1e-3:
            break
    kept[0] = 7
    return w, kept


def by_an_attribute_until_a_break(x, n):
    one = Holder(x.copy())
    w = one.x
    for _ in range(n):
        w = moved_on(x, w)
        if w[0] > 100:
            break
    return w, one.x


def of_the_caller_until_a_break(x, n):
    w = x
    for k in range(n):
        w = moved_on(x, w)
        if w[2] > 3:
            break
        x[3] = k
    return w, x


def in_a_branch(x, n):
    kept = w = x.copy()
    for k in range(n):
        if x[k] > 0:
            w = moved_on(x, w)
        else:
            w[k] -= 1
    v = kept if x[0] > 5 else w
    v[-1] = 3
    return w, kept, v


def another_one_in_a_branch(x, n):
    kept = w = x.copy()
    for k in range(n):
        if x[k] > 0:
            w = moved_on(x, w)
            w[1] = 2
        else:
            w = w * 2
    kept[-1] = 3
    return w, kept


def parts_in_a_branch(x, n):
    w = x.copy()
    v = w[2:5]
    for k in range(n):
        v = w[2:5] if x[k] > 0 else v
        v[0] += k
    return w, v


@pytest.mark.parametrize(
    "function",
    [
        under_two_names_until_a_break, by_an_attribute_until_a_break, of_the_caller_until_a_break, in_a_branch,
        another_one_in_a_branch, parts_in_a_branch,
    ],
)  # fmt: skip
def test_an_array_that_both_ways_leave_in_a_variable_is_that_array(function: Callable[..., Any]) -> None:
    compiled = tilewright.jit(function, strict=True)
    for n in (9, 4, 1):
        for _ in range(3):
            ours, theirs = X.copy(), X.copy()
            got, expected = compiled(ours, n), function(theirs, n)
            assert agree(got, expected), f"{function.__name__}, {n}: {got}\nis not\n{expected}"
            assert [one is got[0] for one in got] == [one is expected[0] for one in expected]
            assert [np.shares_memory(one, got[0]) for one in got] == [
                np.shares_memory(one, expected[0]) for one in expected
            ]
            assert agree(ours, theirs)
    if function is not another_one_in_a_branch:
        assert "between kernels" not in compiled.explain(source=False)
