"""Arrays that each iteration of a loop leaves shorter or longer: trees of options, tables of differences, rows of Pascal's triangle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright
from examples import one_in

pytestmark = pytest.mark.compile


def option(x, n):
    values = np.maximum(x - 0.5, 0)
    for i in range(x.shape[0] - 2, -1, -1):
        values = 0.99 * (0.4 * values[:-1] + 0.6 * values[1:])
        values = np.maximum(values, 0.3 * np.arange(i, -i - 1, -2) ** 2 - 1.0)
    return values[0]


def european(x, n):
    values = x * 2.0
    for _ in range(n):
        values = 0.5 * values[:-1] + 0.25 * values[1:]
    return values


def grows(x, n):
    a = x.copy()
    for i in range(n):
        a = np.concatenate([a, a[-1:] * 0.5 + i])
    return a


def pascal(x, n):
    row = x[:1]
    for _ in range(n):
        row = np.concatenate(([1.0], row[:-1] + row[1:], [1.0]))
    return row


def differences(x, n):
    c = x.copy()
    out = np.zeros(n)
    for k in range(n):
        out[k] = c[0]
        c = np.diff(c)
    return out, c


def the_one_before_stays(x, n):
    c = x * 1.0
    old = c
    s = 0.0
    for _ in range(n):
        old = c
        c = c[1:] - c[:-1]
        s += old[0] + c[-1]
    return s, c


def by_two_of_two_axes(x, n):
    m = np.outer(x, x + 1)
    for _ in range(n // 2):
        m = 0.25 * (m[2:, 1:] + m[:-2, :-1])
    return m


def steps_of_three(x, n):
    c = x.copy()
    total = 0.0
    for k in range(0, 3 * (n // 2), 3):
        c = c[1:] * 0.5
        total += c[0] + k
    return total, c


def of_two_loops(x, n):
    out = np.zeros((3, x.shape[0]))
    for t in range(3):
        c = x + t
        for k in range(n):
            out[t, k] = c[-1]
            c = c[:-1] * 0.5 + c[1:]
    return out


def ends_early(x, n):
    c = x.copy()
    k = 0
    for k in range(n):  # noqa: B007
        if c[0] > 0.9:
            break
        c = c[1:]
    return c.sum(), k


def in_some_iterations(x, n):
    c = x.copy()
    for k in range(n):
        if x[k] > 0.5:
            c = c[1:]
    return c.sum()


def of_whole_numbers(x, n):
    c = (x * 100).astype(np.int16)
    for _ in range(n):
        c = c[1:] ^ c[:-1]
    return c


def writes_what_it_began_with(x, n):
    c = x
    for k in range(n):
        c[0] = k
        c = c[1:] * 0.5 + c[:-1]
    return c


def writes_a_part(x, n):
    c = x
    for k in range(n):
        c = c[1:]
        c[0] = k
    return c.copy()


def written_by_its_other_name(x, n):
    c = x
    for k in range(n):
        x[0] = 100.0 + k
        c = 0.5 * (c[1:] + c[:-1])
    return c


def scaled_by_its_other_name(x, n):
    c = x[5:]
    for _ in range(n):
        x *= 0.9
        c = 0.5 * (c[1:] + c[:-1])
    return c


def a_second_name_behind(x, n):
    c = x * 1.0
    d = c
    for _ in range(n):
        c = 0.5 * (c[1:] + c[:-1])
        d = c
    d[0] = 77.0
    return c


def a_view_behind(x, n):
    c = x * 1.0
    d = np.zeros(10)
    for _ in range(n):
        c = 0.5 * (c[1:] + c[:-1])
        d = c[:10]
    c[0] = 77.0
    return d


def in_both_loops(x, n):
    c = x * 1.0
    s = 0.0
    for _ in range(n):
        c = np.concatenate([c, x[:69]])
        s += c.sum()
        for _ in range(70):
            c = 0.5 * (c[1:] + c[:-1])
            s += c.sum()
        s *= 0.1
    return c, s


def a_view(x, n):
    c = x
    for _ in range(n):
        c = c[1:]
    return c


MOVING = [option, european, grows, pascal, differences, by_two_of_two_axes, steps_of_three,
          of_two_loops, of_whole_numbers]  # fmt: skip
STAGED = [the_one_before_stays, ends_early, in_some_iterations, writes_what_it_began_with, writes_a_part, written_by_its_other_name,
          scaled_by_its_other_name, a_second_name_behind, a_view_behind, in_both_loops]  # fmt: skip


FUNCTIONS = [*MOVING, *STAGED]
# What is unrolled is compiled for each size.
CALLS = one_in(3, FUNCTIONS, ((200, 100), (150, 149), (301, 70), (200, 0), (5, 3), (2, 1), (200, 1)))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_results_are_numpys(function: Any) -> None:
    compiled = tilewright.jit(strict="kernels")(function)
    for size, n in (sizes for called, sizes in CALLS if called is function):
        x = np.random.default_rng(size).random(size)
        y = x.copy()
        # What is unrolled, or has no iteration, needs no such array.
        called = compiled if size >= 100 and n >= 70 and function in MOVING else tilewright.jit(function)
        got, expected = called(x, n), function(y, n)
        np.testing.assert_array_equal(x, y)
        got, expected = (one if isinstance(one, tuple) else (one,) for one in (got, expected))
        for mine, theirs in zip(got, expected, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-12)
            assert np.shape(mine) == np.shape(theirs) and np.asarray(mine).dtype == np.asarray(theirs).dtype


def test_errors_are_numpys() -> None:
    """More iterations than elements: the size is never below 0."""

    def f(x, n):
        c = x.copy()
        for _ in range(n):
            c = c[1:] + c[:-1]
        return c

    compiled = tilewright.jit(f)
    x = np.linspace(0, 1, 120)
    np.testing.assert_allclose(compiled(x, 100), f(x, 100), rtol=1e-12)
    for n in (119, 120, 121, 300):
        np.testing.assert_allclose(compiled(x, n), f(x, n), rtol=1e-12)


def test_a_view_of_an_argument_is_one() -> None:
    x = np.linspace(0, 1, 200)
    part = tilewright.jit(a_view)(x, 90)
    assert np.shares_memory(part, x) and part.shape == (110,)
