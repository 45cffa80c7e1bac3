"""Loops over ranges of a few numbers are unrolled, unless that makes more operations than a program may have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright
from strictly import check
from tilewright.symbolic import trace_limits

pytestmark = pytest.mark.fast

A = np.random.default_rng(3).normal(0, 5, (11, 13))


def slope(a, y, x):
    if y + 1 >= a.shape[0]:
        y = a.shape[0] - 2
    if x + 1 >= a.shape[1]:
        x = a.shape[1] - 2
    return a[y + 1, x + 1] - a[y, x]


def lowest_around(a, points):
    for p in points:
        y, x = int(p[0]), int(p[1])
        best = slope(a, y, x)
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                if (here := slope(a, y + dy, x + dx)) < best:
                    best = here
                    p[0], p[1] = y + dy, x + dx
    return points


def rows_of_several_lengths(a, points):
    found = []
    for n in range(3):
        total = points[:, 0] * 0
        for dy in range(n, 3):
            for dx in range(-1, 2):
                total = total + np.where(total > dy, np.roll(points[:, 1], dx), np.sin(total) + dx) * a[dy, dx]
        found.append(total[n:])
    return found


def none_at_all(a, points):
    total = 0.0
    for dy in range(2, 2):
        total += slope(a, dy, dy)
    for dx in range(1):
        total += slope(a, dx, dx)
    return total, points


POINTS = np.array([[3.0, 4.0], [10.0, 12.0], [0.0, 0.0], [1.0, 12.0]])


@pytest.mark.parametrize("most", [250, 600, 2000])
@pytest.mark.parametrize("function", [lowest_around, none_at_all])
def test_short_loops_that_make_too_many_operations_stay_loops(
    function: Callable[..., Any], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_limits, "MAX_VALUES", most)
    compiled = check(function, A, POINTS.copy())
    loops = [line for line in compiled.explain(source=False).splitlines() if "range(-1, 2, 1)" in line]
    assert bool(loops) == (function is lowest_around and most < 2000)  # noqa: PLR2004


def test_a_short_loop_that_cannot_stay_one_is_unrolled_after_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_limits, "MAX_VALUES", 160)
    check(rows_of_several_lengths, A, POINTS.copy(), bits=False)


def test_what_does_not_fit_at_all_is_refused_by_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_limits, "MAX_VALUES", 10)  # twice as many without copies
    with pytest.raises(tilewright.TraceError, match="more than 20 operations"):
        tilewright.jit(lowest_around, strict="kernels")(A, POINTS.copy())


# -- lists of numbers ----------------------------------------------------------------------------------------------------


def springs(x, rounds):
    links = []
    for k in range(40):
        links.append((k, (k * 7 + 3) % 40, 0.5 + k / 80, k % 3 == 0))
        links.append((k, -1 - k, 1.0, False))
    y, skipped = x.copy(), 0
    for _ in range(rounds):
        for a, b, rest, is_stiff in links:
            d = y[b] - y[a]
            if abs(d) < 0.1:
                skipped += 1
                continue
            y[a] += 0.1 * (d - rest)
            if not is_stiff:
                y[b] -= 0.1 * (d - rest)
    return y, skipped, a, b, rest, is_stiff


def until_one_is_low(x, rounds):
    total, weights = 0.0, [0.5, -0.0, float("nan"), float("inf"), *(k / 7 for k in range(100))]
    for w in weights:
        if x[0] + w > rounds:
            break
        if not np.isnan(w):
            total += w * x[int(abs(w)) if w < 30 else 0]
    else:
        total = -1.0
    return total, w


def as_keys(x, rounds):
    table, order = {}, [k % 11 for k in range(90)]
    for k in order:
        table[k] = table.get(k, 0.0) + x[k]
    return list(table.items())


def changed_between(x, rounds):
    order = [k * 3 % 37 for k in range(80)]
    found = []
    for _ in range(3):
        total = 0
        for k in order:
            total = (total * 3 + k) % 10007 if x[k] > 1 else total - k
        order = order[::-1]
        found.append(total % 1000)
    return found, type(k) is int


def of_several_lengths(x, rounds):
    total = 0.0
    for pair in [(1,), (2, 3)] * 20:
        for k in pair:
            total += x[k]
    return total


def large_numbers(x, rounds):
    found = []
    for n in [2**63 + k for k in range(70)]:
        found.append(n % 1000)
    return found, x


LIST_X = np.linspace(0.2, 4.0, 40)


@pytest.mark.parametrize("rounds", [1, 4])
@pytest.mark.parametrize(
    "function", [springs, until_one_is_low, as_keys, changed_between, of_several_lengths, large_numbers]
)
def test_loops_over_many_numbers_that_are_known(function: Callable[..., Any], rounds: int) -> None:
    compiled = check(function, LIST_X, rounds)
    loops = [
        line for line in compiled.explain(source=False).splitlines() if ": for " in line and "range(0, 80, 1)" in line
    ]
    assert bool(loops) == (function in (springs, changed_between))


def noise_by_level(x, levels, seed):
    rng = np.random.default_rng(seed)
    found = []
    for level in levels:
        noisy = x + 10 ** (-level / 20) * rng.standard_normal(x.size)
        found.append(np.cumsum(np.abs(np.sort(noisy)))[-1] + np.sort(noisy * level)[0] / level)
    return np.array(found), level


@pytest.mark.parametrize("levels", [[5, 10, 15, 20, 25], [0.5, 1.0, 2.5, 3.0], [3, 4.5, 5]])
def test_numbers_of_the_call_of_which_much_comes_stay_a_loop(
    levels: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_limits, "MAX_UNROLLED_KERNELS", 0)
    monkeypatch.setattr(trace_limits, "LEAST_OF_KERNEL", 2)
    compiled = check(noise_by_level, LIST_X, levels, 3, bits=False)
    loops = [
        line
        for line in compiled.explain(source=False).splitlines()
        if ": for " in line and f"range(0, {len(levels)}, 1)" in line
    ]
    assert bool(loops) == (len({type(level) for level in levels}) == 1)
