"""Loops whose first iteration makes an array of a number, or sets what the others read: that one stands before the loop, which stays one."""

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
    assert "for i in range(1, 20, 1)" in compiled.explain(source=False)


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


def set_by_the_first(x, n, tol):
    i = 0
    while i < n:
        x = np.maximum(x * 0.75, np.roll(x, 1) * 0.5)
        size = x.max()
        if i == 0:
            first = size
            before = size
        else:
            if before - size < tol * first:
                break
            before = size
        i += 1
    return x, i, before, first


def none_until_the_second(x, tol):
    before = None
    for k in range(100):  # noqa: B007
        x = np.maximum(x * 0.75, np.roll(x, 1) * 0.5)
        if before is not None and np.abs(x - before).max() < tol:
            break
        before = x.copy()
    return x, k


def none_and_returned(x, tol):
    before, n = None, 0
    while True:
        x = x * 0.75
        n += 1
        if before is not None and np.abs(x - before).max() < tol:
            return x, n
        before = x


def a_sum_that_breaks(x, n):
    total = 0
    for k in range(n):
        total = total + x * k
        if total.max() > 40:
            break
    return total


def breaks_in_the_first(x, n):
    held = 0
    for k in range(n):
        if x[k] > 0.5:
            break
        held = held + x
    return np.sum(held), k


def or_else_an_error(x, tol):
    before = None
    for k in range(200):  # noqa: B007
        x = x * 0.75
        size = np.sqrt((x * x).sum())
        if before is not None and abs(size - before) < tol:
            break
        before = size
    else:
        raise RuntimeError("no convergence")
    return size, k


def or_else_more(x, n):
    total = 0
    for k in range(n):  # noqa: B007
        if x[0] > 0.9:
            break
        total = total + x
    else:
        total = total * 2
    return np.sum(total), k


def which_one_broke(x, n):
    total = 0
    for k in range(n):
        total = total + x * k
        if total.max() > 40:
            which = k
            break
    else:
        which = -1
    return total, which


def while_data_say(x, limit):
    total = 0
    while np.max(total) < limit:
        total = total + x
    return total


def none_while_data_say(x, limit):
    out = None
    while x.sum() > limit:
        x = x * 0.5
        out = x + 1 if out is None else out + x
    return out


def a_while_in_a_loop(x, n):
    found = np.zeros(n)
    for i in range(n):
        best = 0
        k = i
        while k < len(x) and x[k] > 0.1:
            best = best + x[k : k + 1] * np.ones(3)
            k += 1
        found[i] = np.sum(best) + k
    return found


X = np.random.default_rng(0).random(80)


@pytest.mark.parametrize(
    "function, calls",
    [
        (set_by_the_first, [(X, 50, 1e-3), (X, 1, 0.1), (X * 0, 9, 0.0), (X, 50, 1e-3), (X, 0, 0.1)]),
        (none_until_the_second, [(X, 1e-3), (X * 0, 1e-3), (X, 10.0), (X, 1e-300)]),
        (none_and_returned, [(X, 1e-3), (X * 0, 1e-3), (X, 1e-30)]),
        (a_sum_that_breaks, [(X, 30), (X, 3), (X * 100, 5), (X, 1), (X, 30)]),
        (breaks_in_the_first, [(X - 1, 70), (X * 0, 70), (X + 1, 70), (X[::-1] * 0.6, 66)]),
        (or_else_an_error, [(X, 1e-3), (X, 1e-300), (X * 0, 0.5), (X, 1e3)]),
        (or_else_more, [(X, 70), (X * 0 + 1, 70), (X, 66)]),
        (which_one_broke, [(X, 70), (X * 100, 70), (X * 0, 70)]),
        (while_data_say, [(X, 5.0), (X, 0.0), (X, -1.0), (X, 50.0)]),
        (none_while_data_say, [(X, 1.0), (X, 1000.0), (X, 15.0)]),
        (a_while_in_a_loop, [(X, 66), (X[::-1], 66), (X * 0, 70)]),
    ],
)
def test_loops_that_end_early(function, calls):
    compiled = tilewright.jit(strict=True)(function)
    for args in (*calls, *calls):
        results = []
        for run in (compiled, function):
            try:
                result = run(*args)
            except (UnboundLocalError, RuntimeError) as error:
                result = str(error)
            results.append(result if isinstance(result, tuple) else (result,))
        ours, expected = results
        for one, other in zip(ours, expected, strict=True):
            assert type(one) is type(other)
            if isinstance(other, np.ndarray):
                np.testing.assert_allclose(one, other, rtol=1e-12)
            else:
                assert one == other or abs(one - other) < 1e-12
    assert function in (a_while_in_a_loop, which_one_broke) or "lines_" not in compiled.explain(source=False)


def test_stages_kept_in_memory_keep_a_loop_in_order():
    """Whether threads meet is chance: what decides is that no task of the loop is handed to another thread."""
    compiled = tilewright.jit(in_a_loop, strict=True)
    p = np.linspace(-1.0, 2.0, 70)
    for n in (1, 70, 300):
        np.testing.assert_allclose(compiled(p, n), in_a_loop(p, n), rtol=1e-12)
    assert "_kept" in compiled.explain(source=False)
    assert "halide_do_par_for" not in compiled.explain(source=False, code=True)
