"""Loops over ranges of a few numbers are unrolled, unless that makes more operations than a program may have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright
from strictly import check
from tilewright.symbolic import tracer

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
    monkeypatch.setattr(tracer, "MAX_VALUES", most)
    compiled = check(function, A, POINTS.copy())
    loops = [line for line in compiled.explain().splitlines() if "range(-1, 2, 1)" in line]
    assert bool(loops) == (function is lowest_around and most < 2000)  # noqa: PLR2004


def test_a_short_loop_that_cannot_stay_one_is_unrolled_after_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracer, "MAX_VALUES", 160)
    check(rows_of_several_lengths, A, POINTS.copy(), bits=False)


def test_what_does_not_fit_at_all_is_refused_by_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracer, "MAX_VALUES", 20)
    with pytest.raises(tilewright.TraceError, match="more than 20 operations"):
        tilewright.jit(lowest_around, strict="kernels")(A, POINTS.copy())
