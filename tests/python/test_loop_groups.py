"""Loops around several kernels run as one function of them: what each iteration writes, reads, keeps to itself and hands on, beside NumPy.

The shapes are such that a parallel loop has many tasks: a dependence that was overlooked shows as a wrong number.
"""

from __future__ import annotations

import copy
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.compile

RNG = np.random.default_rng(11)


def rows_in_two_steps(c, a, beta):
    for i in range(c.shape[0]):
        c[i] *= beta
        for k in range(a.shape[1]):
            c[i] += a[i, k] * a[:, k]


def triangle(c, a):
    for i in range(c.shape[0]):
        c[i, : i + 1] *= 2.0
        for k in range(3):
            c[i, : i + 1] += a[i, k] * a[: i + 1, k]


def overlapping_rows(c, w):
    for i in range(w.shape[0]):
        for k in range(w.shape[1]):
            c[i + k] += w[i, k]


def every_second_row(c, a):
    for i in range(a.shape[0]):
        c[2 * i] += a[i]
        c[2 * i + 1] -= a[i]


def same_row(c, a):
    for i in range(a.shape[0]):
        c[0] = c[0] * 0.5 + a[i]
        c[1] = c[0] - a[i]


def row_above(c, a):
    for i in range(1, c.shape[0]):
        c[i] += a[i]
        c[i] += 0.5 * c[i - 1]


def backwards(c, a):
    for i in range(c.shape[0] - 2, -1, -1):
        c[i] -= a[i]
        c[i] += 0.25 * c[i + 1]


def columns(c, a):
    for j in range(c.shape[1]):
        c[:, j] += a[:, j]
        c[:, j] *= a[0, j]


def diagonal_and_row(c, a):
    for i in range(c.shape[0]):
        s = a[i, 0] + a[i, 1]
        c[i, 0] = s
        c[i, 1:] = a[i, 1:] * s


def carried_scalar(c, a):
    s = 0.0
    for i in range(c.shape[0]):
        s = s * 0.5 + a[i, 0]
        c[i] = a[i] + s
    return s


def positions_from_data(out, where, x):
    for i in range(where.shape[0] - 1):
        out[i] = x[where[i] : where[i + 1]].sum()


def weights_from_data(out, where, x, y):
    for i in range(where.shape[0] - 1):
        out[i] = y[where[i] : where[i + 1]] @ x[where[i] : where[i + 1]]
        out[i] += x[where[i]]


def in_a_branch(c, a):
    for i in range(c.shape[0]):
        if a[i, 0] > 0:
            c[i] += a[i]
            c[i] *= 1.5
        else:
            c[i] -= a[i]


def copies_in_iterations(p, b, n):
    for _ in range(n):
        old = p.copy()
        p[1:-1, 1:-1] = 0.25 * (old[1:-1, 2:] + old[1:-1, :-2] + old[2:, 1:-1] + old[:-2, 1:-1]) - b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]


def border_then_inside(c, n):
    for t in range(n):
        c[0, :] = c[-1, :] + t
        c[1:, 0] = c[:-1, 1]
        c[1:, 1:] += c[:-1, :-1]


def nested_bounds(c, a):
    for i in range(c.shape[0]):
        for j in range(i, c.shape[1]):
            c[i, j] += a[j, i]
            for k in range(j, min(j + 3, c.shape[1])):
                c[i, j] -= a[i, k] * 0.5


def a_place_and_a_limit(x, p):
    y = np.zeros(x.shape)
    for i in range(x.shape[0]):
        if i > p:
            y[i] = x[i, p]
    return y


def a_limit_and_a_factor(x, p):
    y = x * 2
    for i in range(p):
        if x[i, 0] > 0.5:
            y[i] = x[i, p] * p
    return y


def a_place_and_a_factor(x, p):
    y = np.zeros(x.shape)
    for i in range(x.shape[0]):
        y[i, p] = x[i, 0] * p
    return y


def a_place_in_two_ways(x, p):
    y = np.zeros(x.shape)
    for i in range(x.shape[0]):
        if i == p:
            y[i] = x[p, i] * 2
        elif i + p > 5:
            y[i] = x[p]
    return y


def arrays(rows: int, columns: int, dtype: str = "float64") -> tuple[np.ndarray, np.ndarray]:
    c, a = RNG.standard_normal((2, rows, columns))
    return c.astype(dtype), a.astype(dtype)


def starts(rows: int, elements: int, long: bool) -> np.ndarray:
    if long:
        return np.sort(RNG.integers(0, elements + 1, rows + 1))
    steps = RNG.integers(0, 5, rows)
    return np.minimum(np.concatenate([[0], np.cumsum(steps)]), elements).astype(np.int64)


TALL, WIDE, TINY = (4000, 60), (40, 3000), (7, 5)

CASES: list[tuple[Callable[..., Any], Callable[[tuple[int, int]], tuple[Any, ...]]]] = [
    (
        rows_in_two_steps,
        lambda s: (RNG.standard_normal((min(s[0], 900),) * 2), RNG.standard_normal((min(s[0], 900), 4)), 0.75),
    ),
    (triangle, lambda s: (RNG.standard_normal((min(s), min(s))), RNG.standard_normal((min(s), 3)))),
    (overlapping_rows, lambda s: (RNG.standard_normal(s[0] + s[1]), RNG.standard_normal(s))),
    (every_second_row, lambda s: (RNG.standard_normal((2 * s[0], s[1])), RNG.standard_normal(s))),
    (same_row, lambda s: (RNG.standard_normal((2, s[1])), RNG.standard_normal(s))),
    (row_above, lambda s: arrays(*s)),
    (backwards, lambda s: arrays(*s)),
    (columns, lambda s: arrays(*s)),
    (diagonal_and_row, lambda s: arrays(*s)),
    (carried_scalar, lambda s: arrays(*s)),
    (in_a_branch, lambda s: arrays(*s)),
    (copies_in_iterations, lambda s: (*arrays(*s), 5)),
    (border_then_inside, lambda s: (RNG.standard_normal(s), 6)),
    (nested_bounds, lambda s: (RNG.standard_normal((min(s), min(s))), RNG.standard_normal((min(s), min(s))))),
]


def same(function: Any, compiled: Any, call: tuple[Any, ...], rtol: float = 0) -> None:
    mine, theirs = copy.deepcopy(call), copy.deepcopy(call)
    got, expected = compiled(*mine), function(*theirs)
    np.testing.assert_equal(got, expected)
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("function, make", CASES, ids=[function.__name__ for function, _ in CASES])
def test_every_iteration_sees_what_it_should(function: Any, make: Any) -> None:
    compiled = tilewright.jit(strict=True)(function)
    for shape in (TALL, WIDE, TINY, (3, 3), TALL):
        if function in {nested_bounds, triangle} and shape == TALL:
            continue  # the same square as WIDE
        same(function, compiled, make(shape))


@pytest.mark.parametrize(
    "function", [a_place_and_a_limit, a_limit_and_a_factor, a_place_and_a_factor, a_place_in_two_ways]
)
def test_a_number_is_a_size_and_a_value(function: Any) -> None:
    compiled = tilewright.jit(strict=True)(function)
    for n, p in ((90, 3), (7, 6), (90, 0)):
        same(function, compiled, (RNG.random((n, n)), p))


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "bool"])
def test_other_types(dtype: str) -> None:
    def f(c, a):
        for i in range(1, c.shape[0]):
            c[i] ^= a[i]
            c[i, 1:] |= c[i - 1, :-1]

    def g(c, a):
        for i in range(1, c.shape[0]):
            c[i] += a[i]
            c[i, 1:] += c[i - 1, :-1]

    function = g if dtype == "float32" else f
    compiled = tilewright.jit(strict=True)(function)
    for rows, columns_ in (TALL, TINY):
        call = tuple((RNG.random((rows, columns_)) * 2).astype(dtype) for _ in range(2))
        same(function, compiled, call)


@settings(max_examples=examples(6), deadline=None)
@given(st.integers(1, 700), st.integers(0, 3000), st.booleans(), st.integers(0, 1000))
def test_rows_whose_lengths_the_data_decide(rows: int, elements: int, long: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    where = starts(rows, elements, long)
    x, y = rng.standard_normal((2, elements + 1))
    for function, call in (
        (positions_from_data, (np.zeros(rows), where, x)),
        (weights_from_data, (np.zeros(rows), where, x, y)),
    ):
        same(function, COMPILED[function], call, rtol=1e-12)


COMPILED = {function: tilewright.jit(strict=True)(function) for function in (positions_from_data, weights_from_data)}


def test_a_position_out_of_bounds_leaves_everything_as_it_was() -> None:
    def f(out, where, x):
        for i in range(where.shape[0]):
            out[i] = x[where[i]]
            out[i] += 1.0

    compiled = tilewright.jit(strict=True)(f)
    where = np.arange(5000)
    same(f, compiled, (np.zeros(5000), where, RNG.standard_normal(5000)))
    out = np.full(5000, 3.0)
    with pytest.raises(IndexError):
        compiled(out, where, RNG.standard_normal(4999))


def test_long_loops_can_be_interrupted() -> None:
    """Between blocks of iterations the plan asks: a signal's handler that raises ends the call."""

    def f(c, a, n):
        for _ in range(n):
            c[1:] = 0.5 * c[1:] + a[:-1]
            c[0] = c[-1]

    compiled = tilewright.jit(strict=True)(f)
    small = RNG.standard_normal((2, 50))
    same(f, compiled, (*small, 7))

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)  # again: Python only prints what is raised in some callbacks
        with pytest.raises(KeyboardInterrupt):
            compiled(*RNG.standard_normal((2, 1000)), 1_000_000_000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def error_diffusion(c, steps):
    """Branches in branches that write: Floyd and Steinberg's dithering."""
    for y in range(c.shape[0]):
        for x in range(c.shape[1]):
            old = c[y, x]
            c[y, x] = np.floor(old * steps) / steps
            err = old - c[y, x]
            if x + 1 < c.shape[1]:
                c[y, x + 1] += err * 7 / 16
            if y + 1 < c.shape[0]:
                if x > 0:
                    c[y + 1, x - 1] += err * 3 / 16
                c[y + 1, x] += err * 5 / 16
                if x + 1 < c.shape[1]:
                    c[y + 1, x + 1] += err / 16


def loops_in_branches(c, steps):
    for y in range(1, c.shape[0]):
        if c[y, 0] > 0:
            for x in range(1, c.shape[1]):
                if c[y, x] > c[y - 1, x]:
                    c[y, x] -= c[y, x - 1] / steps
                else:
                    c[y - 1, x] = c[y, x]
            c[y, 0] = c[y, 1]
        elif c[y, 1] > 0:
            c[y] = c[y - 1] + 1


def one_way_makes_another(c, steps):
    d = c.copy()
    for y in range(1, c.shape[0]):
        if c[y, 0] > 0:
            if c[y, 1] > 0:
                d[y] = c[y]
            else:
                d = c + y
            d[y, 0] = 1.0
        c[y] = d[y - 1] / steps


@pytest.mark.parametrize("function", [error_diffusion, loops_in_branches, one_way_makes_another])
@pytest.mark.parametrize("shape", [(1, 2), (2, 3), (17, 33)])
def test_branches_in_branches_write_in_place(function, shape):
    ours = RNG.normal(size=shape)
    expected = ours.copy()
    function(expected, 3)
    compiled = tilewright.jit(strict=True)(function)
    compiled(ours, 3)
    assert np.array_equal(ours, expected)
    if function is error_diffusion:
        assert "copy" not in compiled.specializations[0].plan_text()


def magnitudes(x, y, limit):
    """Python's abs() of a complex number raises where it overflows: every iteration of every loop has that check."""
    counts = np.zeros(len(x), dtype=np.int64)
    for i in range(len(x)):
        z, k = 0j, 0
        while abs(z) < limit and k < 20:
            z = z * z + complex(x[i], y[i])
            k += 1
        counts[i] = k
    return counts


def falls_and_rises(x, limit):
    """No flag that only falls: each iteration sets it anew, and the last one counts."""
    ok = True
    for i in range(len(x)):
        ok = ok and x[i] < limit
        if i % 7 == 0:
            ok = x[i] > 0
    if not ok:
        raise ValueError("the last one")
    return x * 2


def flag_that_is_returned(x, limit):
    ok, steps = True, np.zeros(len(x))
    for i in range(len(x)):
        steps[i] = 1.0 if ok else 2.0
        ok = ok and x[i] < limit
    return ok, steps


def test_checks_of_iterations_that_run_at_the_same_time():
    compiled = tilewright.jit(strict=True)(magnitudes)
    x, y = RNG.uniform(-2, 2, 3000), RNG.uniform(-2, 2, 3000)
    assert (compiled(x, y, 2.0) == magnitudes(x, y, 2.0)).all()
    for bad in (0, 1500, 2999):  # whichever iteration lowers it, none raises it again
        xs, ys = x.copy(), y.copy()
        xs[bad] = ys[bad] = 1.7e308
        for _ in range(5):
            with pytest.raises(OverflowError, match="absolute value too large"):
                compiled(xs, ys, np.inf)


@pytest.mark.parametrize("bad", [None, 0, 1, 6, 7, 8, 500, 993, 994, 999])
def test_flags_that_are_no_checks_keep_their_order(bad):
    x = RNG.uniform(0.1, 0.9, 1000)
    if bad is not None:
        x[bad] = 1.5
    compiled = tilewright.jit(strict=True)(falls_and_rises)
    try:
        expected = falls_and_rises(x, 1.0)
    except ValueError:
        with pytest.raises(ValueError, match="the last one"):
            compiled(x, 1.0)
    else:
        assert (compiled(x, 1.0) == expected).all()
    ok, steps = tilewright.jit(strict=True)(flag_that_is_returned)(x, 1.0)
    expected_ok, expected_steps = flag_that_is_returned(x, 1.0)
    assert ok == expected_ok
    assert (steps == expected_steps).all()
