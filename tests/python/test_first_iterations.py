"""Loops whose first iteration makes an array of a number: that one stands before the loop, which stays one."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile


def newton(p):
    x = 0.1
    for _ in range(20):
        x = x - ((x + 1) ** 12 * 9 + p) / (12 * (x + 1) ** 11)
    return x


def with_its_index(p, n):
    total = 1
    for k in range(3, n, 2):
        total = total + p * k
    return total, k


def over_rows(p, n):
    last = 0.0
    for row in np.outer(np.arange(1.0, n), p):
        last = last * 0.5 + row
    return last


def in_a_loop(p, n):
    found = np.zeros(n)
    for i in range(n):
        x = 0.0
        for _ in range(70):
            x = x * 0.5 + p * i
        found[i] = x.sum()
    return found


def with_continue(p, n):
    x = 0
    for k in range(n):
        if k % 3 == 1:
            continue
        x = x + p * k
    return x


@pytest.mark.parametrize("function", [newton, with_its_index, over_rows, in_a_loop, with_continue])
def test_numbers_become_arrays(function):
    compiled = tilewright.jit(strict=True)(function)
    for size in (70, 70, 66, 5, 4, 90):
        p = np.linspace(-1.0, 2.0, size)
        args = (p,) if function is newton else (p, size)
        ours, expected = compiled(*args), function(*args)
        ours, expected = (value if isinstance(value, tuple) else (value,) for value in (ours, expected))
        for one, other in zip(ours, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9)
            assert type(one) is type(other)


def test_the_loop_stays_one():
    compiled = tilewright.jit(strict=True)(newton)
    p = np.full(1000, 10.0)
    np.testing.assert_allclose(compiled(p), newton(p), rtol=1e-9)
    assert "for i in range(1, 20, 1)" in compiled.explain()


def test_another_dtype_from_the_second_iteration_on():
    def widens(x):
        y = np.zeros(3, np.float32)
        for i in range(len(x)):
            y = y + x[i]
        return y

    compiled = tilewright.jit(strict=True)(widens)
    for size in (100, 100, 1, 2, 70):
        x = np.linspace(0.1, 3.0, size)
        ours, expected = compiled(x), widens(x)
        assert ours.dtype == expected.dtype
        np.testing.assert_allclose(ours, expected, rtol=1e-12)
