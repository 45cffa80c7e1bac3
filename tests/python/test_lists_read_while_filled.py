"""Lists that a loop of the run fills and reads: what is in them is known from the line that puts it there, also where an
earlier line reads it."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from lists_alike import same

pytestmark = pytest.mark.compile


def peaks_apart(x):
    peaks = []
    for i in range(1, len(x) - 1):
        if x[i] > x[i - 1] and x[i] > x[i + 1]:
            if not peaks or i - peaks[-1] > 3:
                peaks.append(i)
            elif x[i] > x[peaks[-1]]:
                peaks[-1] = i
    return peaks


def smoothed_rows(x):
    rows = []
    for i in range(len(x)):
        if i > 2:
            rows.append(rows[-1] * 0.5 + x[i : i + 1] * np.ones(3))
        else:
            rows.append(x[i] * np.ones(3))
    return rows


def a_queue_that_is_gone_through(x):
    queue = []
    for i in range(len(x)):
        for _, v in queue:
            if v > x[i]:
                break
        queue.append((i, x[i]))
        if x[i] < 0:
            queue.pop(0)
    return queue, len(queue)


def next_greater(x):
    stack, out = [], np.full(len(x), -1)
    for i in range(len(x)):
        while stack and x[stack[-1]] < x[i]:
            out[stack.pop()] = i
        stack.append(i)
    return out, stack


def of_all_before(x):
    sums = []
    for v in x:
        sums.append(sum(s * v for s in sums) + v)
    return np.array(sums)


def listed_of_all_before(x):
    sums = []
    for v in x:
        part = [s * v for s in sums]
        sums.append(sum(part) * 0.01 + v)
    return sums


def never_filled_before_it_is_read(x):
    best = []
    for i in range(len(x)):
        if x[i] > 1.5:
            best.append(best[0])
    return best


def empty_at_first(x):
    last = []
    for i in range(len(x)):
        v = last[-1]
        last.append(x[i] + v)
    return last


@pytest.mark.parametrize(
    "function",
    [peaks_apart, smoothed_rows, next_greater, a_queue_that_is_gone_through, of_all_before, listed_of_all_before],
    ids=lambda f: f.__name__,
)
def test_they_are_pythons(function):
    compiled = tilewright.jit(function, strict=True)
    for size in (80, 100, 100, 9, 2, 100):
        x = np.random.default_rng(size).normal(size=size)
        same(compiled(x.copy()), function(x.copy()))
    assert "lines_" not in compiled.explain(source=False)


@pytest.mark.parametrize("function", [never_filled_before_it_is_read, empty_at_first], ids=lambda f: f.__name__)
def test_what_is_not_there_is_an_error(function):
    compiled = tilewright.jit(function, strict=True)
    for k in range(4):
        x = np.random.default_rng(k).normal(size=100)
        with pytest.raises(IndexError, match="list index out of range"):
            compiled(x)
    assert function is empty_at_first or compiled(np.zeros(100)) == []
