"""`a[rows, columns] = v` in loops and branches: a loop of the program, with NumPy's order of reads, writes and errors."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import tilewright
from strictly import agree

pytestmark = pytest.mark.compile

RNG = np.random.default_rng(5)
A, TABLE = np.arange(12.0), RNG.random((9, 14))
ROWS, COLUMNS = RNG.integers(-9, 9, 30), RNG.integers(0, 14, 30)


def votes(x, n):
    table = np.zeros((60, n), dtype=np.uint64)
    for i in range(len(x)):
        table[np.round(x[i] * np.arange(n)).astype(int) + 30, np.arange(n)] += 1
    return table


def the_last_one_stays(a, at, n):
    for r in range(n):
        a[at] = a[at[::-1]] + np.arange(len(at)) * 1.5 + r
    return a


def swapped(a, n):
    a = a.copy()
    for r in range(n):
        a[[0, -1]] = a[[-1, 0]]
        a[np.array([r % 5, 3])] += 0.5
    return a


def of_columns(table, at, n):
    table = table.copy()
    for r in range(n):
        table[:, at] = table[:, at][:, ::-1] * 0.5 + r
        table[1:, 0] += 1
    return table


def of_rows(table, at, n):
    table = table.copy()
    for r in range(n):
        table[at] = r
        table[at, 2:5] = table[at, 3:6] + 1
        table[at[::2]] = np.arange(table.shape[1])
    return table


def with_two_axes_of_positions(table, at, n):
    table = table.copy()
    for r in range(n):
        table[at.reshape(5, 6), r % 3] += 1
    return table


def behind_an_if(w, rows, columns, n):
    for _ in range(n):
        w[rows, columns] -= 0.1 * w[rows, columns]
        if w[0, 0] < 0.4:
            w[rows, columns] += 1.0
        if w[1, 1] > 3:
            break
    return w


def rounded(counts, at, n):
    for r in range(n):
        counts[at] = counts[at] + np.uint8(r)
    return counts


def picked_out(x, n):
    found = np.nonzero(x > 0.5)[0]
    kept, total, out = x[x > 0.5], 0.0, np.zeros(len(x))
    for i in range(n):
        out[found[i]] = kept[i]
        total += kept[i]
    return out, total


def outside(a, at, n):
    for r in range(n):
        a[at + r] = r
    return a


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (votes, (RNG.uniform(-1, 1, 40), 20)),
        (votes, (RNG.uniform(-1, 1, 40), 1)),
        (the_last_one_stays, (A, RNG.integers(-12, 12, 40), 30)),
        (the_last_one_stays, (A, np.array([3, 3]), 30)),
        (the_last_one_stays, (A, np.zeros(0, dtype=int), 30)),
        (the_last_one_stays, (A[::2], np.array([1, -1, 0]), 0)),
        (swapped, (A, 80)),
        (of_columns, (TABLE, np.array([3, -1, 7]), 70)),
        (of_rows, (TABLE, ROWS, 70)),
        (with_two_axes_of_positions, (TABLE, ROWS, 70)),
        (behind_an_if, (TABLE, ROWS, COLUMNS, 90)),
        (rounded, (np.zeros(9, dtype=np.uint8), ROWS, 120)),
        (picked_out, (RNG.random(300), 70)),
    ],
)
def test_writes(function, args) -> None:
    compiled = tilewright.jit(function, strict=True)
    for _ in range(2):
        ours, theirs = copy.deepcopy(args), copy.deepcopy(args)
        assert agree(compiled(*ours), function(*theirs), bits=False)
        assert all(agree(a, b, bits=False) for a, b in zip(ours, theirs, strict=True))
    assert "__setitem__" not in str(compiled.explain(source=False))


@pytest.mark.parametrize("n", [5, 80])
def test_a_position_outside(n) -> None:
    compiled = tilewright.jit(outside)
    for at in (np.array([1, -30, 5]), np.array([0, 29, 1]), np.array([-31, 0, 0])):
        ours, theirs = np.zeros(30), np.zeros(30)
        said = []
        for function, a in ((compiled, ours), (outside, theirs)):
            try:
                function(a, at, n)
                said.append("")
            except IndexError as error:
                said.append(str(error))
        assert said[0] == said[1]
        assert np.array_equal(ours, theirs)


def test_a_value_of_another_shape_is_numpys_error() -> None:
    def wrong(a, at, n):
        for _ in range(n):
            a[at] = np.ones(4)
        return a

    compiled = tilewright.jit(wrong)
    for _ in range(2):
        with pytest.raises(ValueError, match="shape mismatch"):
            compiled(A.copy(), np.array([1, 2, 3]), 70)


def exercised(paths, payoff, strike):
    for t in range(paths.shape[0] - 1, 0, -1):
        payoff = payoff * 0.9
        inside = paths[t] < strike
        if not inside.any():
            continue
        fit = np.polyfit(paths[t, inside], payoff[inside], 2)
        exercise = strike - paths[t, inside]
        payoff[inside] = np.where(exercise > np.polyval(fit, paths[t, inside]), exercise, payoff[inside])
    return payoff


def test_what_a_mask_of_a_branch_picks_out_has_one_size_with_what_is_picked_out_before_it() -> None:
    paths = 100 + 10 * np.random.default_rng(3).normal(size=(5, 3000))
    compiled = tilewright.jit(exercised, strict=True)
    for strike in (100.0, 90.0, -1.0, 100.0):
        payoff = np.maximum(strike - paths[-1], 0)
        np.testing.assert_allclose(compiled(paths, payoff.copy(), strike), exercised(paths, payoff, strike), rtol=1e-12)


def remainders(a, idx, n):
    for _ in range(n):
        a[idx % 6] = 1
        a[idx // 7 % 6] += 2
    return a


@pytest.mark.parametrize("offset", range(4))
def test_arguments_lie_anywhere_in_memory(offset) -> None:
    raw = np.zeros(64, np.int64)
    first = (-raw.ctypes.data // 8) % 8 + offset
    compiled = tilewright.jit(remainders, strict=True)
    for size in (3, 6, 17):
        idx = raw[first : first + size]
        idx[:] = np.arange(size) * 5
        np.testing.assert_array_equal(compiled(np.zeros(6), idx, 2), remainders(np.zeros(6), idx, 2))
