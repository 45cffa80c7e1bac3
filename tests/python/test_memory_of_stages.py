"""Whose memory the arrays are that Python holds between kernels: NumPy's views and references, or no compiled code."""

from __future__ import annotations

import copy
import ctypes

import numpy as np
import pytest
import tilewright
from strictly import agree

pytestmark = pytest.mark.fast


def part_of_what_a_mask_picks_out(x, n):
    chosen = x[x > 0]
    chosen *= 2
    part = chosen[:2]
    part[:] = 7
    return chosen, chosen.sum()


def part_that_is_read_later(x, n):
    chosen = x[x > 0]
    part = chosen[:2]
    chosen *= 2
    return part * 1


def column_of_what_a_mask_picks_out(x, n):
    rows = x.reshape(-1, 1)[x > 0]
    column = rows[:, 0]
    column += 1
    return rows * 1


def sorted_in_place(x, n):
    chosen = x[x > 0]
    chosen.sort()
    return chosen


def shuffled(x, n):
    chosen = x[x > 0]
    np.random.shuffle(chosen)
    return chosen


def appended_and_written(x, n):
    rows, row = [], x * 1
    for _ in range(n):
        row += 1
        rows.append(row)
    return rows


def written_in_an_iteration(x, n):
    rows = []
    for i in range(n):
        row = x * i
        rows.append(row)
        row[0] = 99
    return np.array(rows)


def appended_argument(x, n):
    rows = []
    for i in range(n):
        rows.append(x)
        if x[i % 3] > 0:
            x[i % 3] = -1
    return np.array(rows)


def written_behind_a_branch(x, n):
    part = x
    if x[0] > 0:
        part = x[1:]
    part[0] = 5
    return part * 1


def read_behind_a_branch(x, n):
    part = x
    if x[0] > 0:
        part = x[1:]
    x[1] = 5
    return part * 1


def part_of_the_last_iteration(x, n):
    part, total = np.zeros(1), 0.0
    for i in range(1, n):
        x[0] = i
        total += part.sum()
        part = x[: 1 + i % 3]
    return total


FUNCTIONS = [
    part_of_what_a_mask_picks_out, part_that_is_read_later, column_of_what_a_mask_picks_out, sorted_in_place, shuffled,
    appended_and_written, written_in_an_iteration, appended_argument, written_behind_a_branch, read_behind_a_branch,
    part_of_the_last_iteration,
]  # fmt: skip


@pytest.mark.parametrize("n", [3, 80])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.filterwarnings("ignore::tilewright.FallbackWarning")
def test_writes_are_seen_wherever_numpy_has_one_array(function, n):
    compiled = tilewright.jit(function)
    for x in (np.array([1.0, -2, 3, 4]), np.array([-1.0, 2, 3, 4])):
        ours, theirs = x.copy(), x.copy()
        np.random.seed(2)
        expected = function(theirs, n)
        np.random.seed(2)
        assert agree(compiled(ours, n), expected)
        assert agree(ours, theirs)


def test_what_is_returned_twice_is_one_object():
    def twice(x):
        chosen, different, filled = x[x > 0], np.unique(x), []
        for i in range(x.size):
            filled.append(x[i])
        return {"all": [chosen, different, filled], "again": (chosen, different, filled)}

    found = tilewright.jit(twice, strict=True)(np.arange(-4.0, 80))
    assert all(one is other for one, other in zip(found["all"], found["again"], strict=True))


@pytest.mark.filterwarnings("ignore::tilewright.FallbackWarning")
def test_parts_that_are_returned_are_parts():
    def whole_and_part(x):
        chosen = x[x > 0]
        return chosen, chosen[:2]

    whole, part = tilewright.jit(whole_and_part)(np.arange(-4.0, 8))
    assert np.shares_memory(whole, part)


def test_an_argument_that_no_iteration_changes_is_itself():
    def smaller(x):
        while len(x) > 2:
            x = x[x > x.min()]
        return x

    compiled = tilewright.jit(smaller, strict=True)
    x = np.arange(5.0)
    assert agree(compiled(x), smaller(copy.copy(x)))
    assert compiled(x[:2].copy()) is not x
    alone = np.ones(2)
    assert compiled(alone) is alone


def as_c_reads_it(a):
    """The elements in a row from the first one on, whatever the strides say."""
    print(end="")  # not followed
    return np.array((ctypes.c_double * a.size).from_address(a.ctypes.data)) * 1.0


def of_asarray(x):
    y = np.asarray(x, order="C")
    return as_c_reads_it(y) * 2


def of_a_copy(x):
    y = x.copy()
    return as_c_reads_it(y) + y


def of_a_part(x):
    y = np.array(x)
    return as_c_reads_it(y[1:]) * 2


def in_a_part(x):
    y, found = np.ascontiguousarray(x), {}
    for k in range(2):
        found[k] = as_c_reads_it(y)
    return found[0] + found[1], y * 2


@pytest.mark.parametrize(
    "function", [of_asarray, of_a_copy, of_a_part, in_a_part], ids=lambda function: function.__name__
)
def test_what_numpy_makes_contiguous_is_so_for_callees(function):
    compiled, whole = tilewright.jit(function, strict=True), np.arange(40.0)
    for x in (whole[::2], whole[:20], whole[::2], whole[1:31:3], whole[:20], whole[::2]):
        for _ in range(3):
            ours, theirs = compiled(x), function(x)
            assert all(map(np.array_equal, ours, theirs))
