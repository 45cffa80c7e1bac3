"""What an iteration hands on lies where it came from, unless somebody still needs what lay there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.fast


def in_place(z, n, iterations):
    for k in range(iterations):
        low = z[:, 0] < 3
        n = np.where(low, k, n)
        z = np.where(low[:, None], z + z[:, ::-1], z)
    return z, n


def reversed_reads(z, n, iterations):
    for k in range(iterations):
        low = z[:, 0] < 3
        n = np.where(low, k, n[::-1])
        z = np.where(low[:, None], z + z[:, ::-1], z)
    return z, n


def crossed(z, n, iterations):
    m = n * 2
    for _ in range(iterations):
        low = z[:, 0] < 3
        z = np.where(low[:, None], z + z[:, ::-1], z)
        n, m = n + m, n - m
    return z, n, m


def read_by_a_sum(z, n, iterations):
    for _ in range(iterations):
        total = n.sum()
        z = np.where(z[:, ::-1] < 3, z + 1, z - total)
        n = n + z[:, 0].astype(np.int64) % 5
    return z, n


def handed_on_and_kept(z, n, iterations):
    before = n
    for _ in range(iterations):
        z = z + z[:, ::-1]
        before = n
        n = n + (z[:, 0] > 2)
    return z, n, before


def while_it_lasts(z, n, iterations):
    k = 0
    while n.sum() < 1000 and k < iterations:
        z = z[:, ::-1] * 0.5 + z
        n = n + 1 + (z[:, 1] > 3)
        k += 1
    return z, n, k


def written_on_one_way(x, y):
    for i in range(x.shape[0]):
        if x[i] > 0:
            y[i:] += x[i]
    return y


def gathered(x, y):
    k = 0
    for i in range(x.shape[0]):
        if x[i] > 0:
            y[k] = x[i]
            k += 1
    return y, k


def written_on_both_ways(x, y):
    for i in range(x.shape[0]):
        if x[i] > 0:
            y[i:] += 1.0
        else:
            y[:i] -= 0.5
            y[i] = y[0]
    return y


def two_arrays_that_need_each_other(x, y):
    z = np.zeros_like(y)
    for i in range(1, x.shape[0]):
        if x[i] > 0:
            y[i] = z[i - 1] + 1
        elif x[i] < -1:
            z[i] = y[i - 1]
            y[i : i + 2] = z[i]
    return y, z


def kept_beside(x, y):
    before = y.copy()
    for i in range(x.shape[0]):
        if x[i] > 0:
            before = y.copy()
            y[: i + 1] = before[i] + y[::-1][: i + 1]
    return y, before


def read_behind_the_branch(x, y):
    total = 0.0
    for i in range(x.shape[0]):
        old = y[0] * 2
        if x[i] > 0:
            y[0] = x[i]
            y[i] = old + y[0]
        total += old + y[i]
    return y, total


BRANCHES: list[Callable[..., Any]] = [
    written_on_one_way, gathered, written_on_both_ways, two_arrays_that_need_each_other, kept_beside, read_behind_the_branch,
]  # fmt: skip


ALL: list[Callable[..., Any]] = [in_place, reversed_reads, crossed, read_by_a_sum, handed_on_and_kept, while_it_lasts]


@pytest.mark.parametrize("function", ALL)
def test_iterations_see_what_the_last_one_left(function: Callable[..., Any]) -> None:
    compiled = tilewright.jit(function, strict=True)
    rng = np.random.default_rng(5)
    for rows, columns, iterations in ((7, 2, 5), (1, 3, 4), (300, 2, 9), (64, 5, 1), (33, 2, 0)):
        z, n = rng.normal(size=(rows, columns)), rng.integers(0, 9, rows)
        expected = function(z.copy(), n.copy(), iterations)
        kept = z.copy(), n.copy()
        got = compiled(z, n, iterations)
        for one, other in zip(got, expected, strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(z, kept[0])
        np.testing.assert_array_equal(n, kept[1])


def test_no_second_array_for_what_is_replaced_element_by_element() -> None:
    def temporaries(function: Callable[..., Any]) -> list[str]:
        plan = tilewright.jit(function, strict=True).for_args(np.ones((50, 2)), np.ones(50, np.int64), 3).plan_text()
        return [line.split()[1] for line in plan.splitlines() if line.startswith("temp ")]

    assert not [name for name in temporaries(in_place) if name.startswith("n")]
    assert [name for name in temporaries(reversed_reads) if name.startswith("n")]


@pytest.mark.parametrize("function", BRANCHES)
def test_branches_write_where_the_array_lies(function: Callable[..., Any]) -> None:
    compiled = tilewright.jit(function, strict=True)
    rng = np.random.default_rng(9)
    for length in (0, 1, 2, 5, 64, 301):
        x, y = rng.normal(size=length) * 2, rng.normal(size=length)
        if length == 0 and function is read_behind_the_branch:
            continue
        written, expected_written = y.copy(), y.copy()
        expected, got = function(x, expected_written), compiled(x, written)
        np.testing.assert_array_equal(written, expected_written)
        pairs = zip(got, expected, strict=True) if isinstance(expected, tuple) else [(got, expected)]
        for one, other in pairs:
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("function", [written_on_one_way, gathered, written_on_both_ways])
def test_no_copy_on_each_iteration_for_a_branch_that_writes(function: Callable[..., Any]) -> None:
    plan = tilewright.jit(function, strict=True).for_args(np.ones(50), np.ones(50)).plan_text()
    loops = plan[plan.index("\nfor ") :] if "\nfor " in plan else plan[plan.index("call ") :]
    body = loops[: loops.find("\n}\n")]
    assert "copy y" not in body
    assert "swap y" not in body


def lu(a):
    for i in range(len(a)):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, len(a)):
            a[i, j] -= a[i, :i] @ a[:i, j]


def best_pairs(a):
    for i in range(len(a) - 2, -1, -1):
        for j in range(i + 1, len(a)):
            a[i, j] = max(a[i, j], a[i, j - 1])
            a[i, j] = max(a[i, j], a[i + 1, j])
            for k in range(i + 1, j):
                a[i, j] = max(a[i, j], a[i, k] + a[k + 1, j])


def written_twice_and_read_as_it_was(a):
    for i in range(1, len(a)):
        before = a[i - 1, 0]
        a[i, 0] = a[i, 0] * 2 + before
        a[i, 0] = a[i, 0] + a[i - 1, 0] * a[0, 0]
        a[i, 1] = a[i, 0] - before


def reversed_rows(a):
    for i in range(len(a) // 2):
        row = a[i].copy()
        a[i] = a[len(a) - 1 - i]
        a[len(a) - 1 - i] = row


def sorted_by_swaps(a):
    for i in range(len(a)):
        for j in range(len(a) - 1 - i):
            if a[j, 0] > a[j + 1, 0]:
                a[j, 0], a[j + 1, 0] = a[j + 1, 0], a[j, 0]


def shifted_around_a_kept_element(a):
    for i in range(len(a)):
        first = a[i, 0]
        for j in range(len(a) - 1):
            a[i, j] = a[i, j + 1] + first * 0.5
        a[i, -1] = first


def rotations(a):
    for i in range(len(a) - 1):
        x, y = a[i, 0], a[i + 1, 0]
        a[i, 0] = 0.6 * x + 0.8 * y
        a[i + 1, 0] = 0.6 * y - 0.8 * x


TWICE: list[Callable[..., Any]] = [
    lu, best_pairs, written_twice_and_read_as_it_was, reversed_rows, sorted_by_swaps, shifted_around_a_kept_element, rotations,
]  # fmt: skip


@pytest.mark.parametrize("function", TWICE)
def test_no_copy_of_an_array_whose_parts_are_read_and_then_overwritten(function: Callable[..., Any]) -> None:
    compiled = tilewright.jit(function, strict=True)
    rng = np.random.default_rng(3)
    for size in (2, 3, 7, 40, 61):
        a = rng.random((size, size)) + size * np.eye(size)
        mine, expected = a.copy(), a.copy()
        compiled(mine)
        function(expected)
        np.testing.assert_allclose(mine, expected, rtol=1e-12)
    plan = compiled.for_args(a).plan_text()
    copies = [line for line in plan.splitlines() if line.startswith("temp ") and line.endswith("[a.0, a.1]")]
    assert not copies


def row_of_a_branch(a, c):
    for i in range(len(a)):
        row = a[i].copy()
        if c[i] > 0:
            a[i] = row * 2 + 1


def test_a_row_that_a_branch_alone_reads_is_not_kept_for_it() -> None:
    compiled = tilewright.jit(row_of_a_branch, strict=True)
    rng = np.random.default_rng(4)
    a, c = rng.random((30, 40)), rng.normal(size=30)
    mine, expected = a.copy(), a.copy()
    compiled(mine, c)
    row_of_a_branch(expected, c)
    np.testing.assert_array_equal(mine, expected)
    assert "temp index" not in compiled.for_args(a, c).plan_text()


def read_with_a_new_axis(a):
    for i in range(1, len(a)):
        a[i] = a[i] * 2 + a[i - 1]
        column = a[:, None]
        a[i] = a[i] + column.max()


def unrolled_swaps(a):
    for k in range(1, 60):
        kept = a[k]
        a[k] = a[k - 1]
        a[k - 1] = kept


@pytest.mark.parametrize("function", [read_with_a_new_axis, unrolled_swaps])
def test_elements_that_are_written_twice(function: Callable[..., Any]) -> None:
    compiled = tilewright.jit(function, strict=True)
    for _ in range(2):
        mine, expected = np.random.default_rng(6).random((2, 61))
        expected[:] = mine
        compiled(mine)
        function(expected)
        np.testing.assert_allclose(mine, expected, rtol=1e-14)
