"""Loops that gather through arrays of positions, and arrays that loops write for the first time, beside NumPy.

Positions that a check has seen are read without a clamp, and what a loop overwrites whole is not filled before: both must
hold for every call, whatever its data, and stop where they are not proved.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples, one_in
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.compile

RNG = np.random.default_rng(5)


def rows_of_a_sparse_matrix(rows, columns, values, x):
    y = np.empty(rows.size - 1, values.dtype)
    for i in range(rows.size - 1):
        y[i] = values[rows[i] : rows[i + 1]] @ x[columns[rows[i] : rows[i + 1]]]
    return y


def sums_of_gathered(out, rows, columns, x):
    for i in range(rows.size - 1):
        out[i] += x[columns[rows[i] : rows[i + 1]]].sum()


def gathered_rows(picks, table):
    out = np.empty((picks.shape[0], table.shape[1]))
    for i in range(picks.shape[0]):
        out[i] = table[picks[i]]
    return out


def two_axes_of_one_extent(out, picks, x, y):
    for i in range(picks.shape[0]):
        out[i] = x[picks[i]] + y[picks[i]]


COMPILED = {
    function: tilewright.jit(strict=True)(function)
    for function in (rows_of_a_sparse_matrix, sums_of_gathered, gathered_rows, two_axes_of_one_extent)
}


def same(function: Callable[..., Any], call: tuple[Any, ...], exact: bool = True) -> None:
    """The result, every argument, and the error are NumPy's."""
    expected_call, got_call = copy.deepcopy(call), copy.deepcopy(call)
    compiled = COMPILED.get(function) or tilewright.jit(strict=True)(function)
    try:
        expected = function(*expected_call)
    except IndexError:
        with pytest.raises(IndexError):
            compiled(*got_call)
        # NumPy runs the call that fails, so iterations before the bad one have written.
        expected = got = None
    else:
        got = compiled(*got_call)
    for one, other in zip((got, *got_call), (expected, *expected_call), strict=True):
        if expected is not None or one is not None:
            np.testing.assert_allclose(one, other, rtol=0 if exact else 1e-6, atol=0 if exact else 1e-9)


def sparse(rng: np.random.Generator, sizes: tuple[int, int, int], kind: str, dtype: str) -> tuple[Any, ...]:
    """Rows of a few elements, one of many, limits that go down or leave the array; positions inside, or one outside."""
    rows, elements, extent = sizes
    limits = np.sort(rng.integers(0, elements + 1, rows + 1))
    if kind == "down":
        limits = rng.integers(0, elements + 9, rows + 1)
    signed = np.issubdtype(np.dtype(dtype), np.signedinteger)
    columns = rng.integers(-extent if signed else 0, extent, elements)
    if kind == "outside" and elements:
        columns[rng.integers(elements)] = (-extent - 1) if signed and rng.random() < 0.5 else extent
    return limits.astype(dtype), columns.astype(dtype)


@settings(max_examples=examples(12), deadline=None)
@given(
    st.tuples(st.integers(1, 90), st.sampled_from([0, 1, 2, 7, 64, 400, 2000]), st.sampled_from([1, 2, 31, 120])),
    st.sampled_from(["plain", "plain", "down", "outside"]),
    st.sampled_from(["int64", "int32", "uint32", "uint16"]),
    st.integers(0, 10_000),
)
def test_sparse_rows(sizes: tuple[int, int, int], kind: str, dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, elements, extent = sizes
    limits, columns = sparse(rng, sizes, kind, dtype)
    values, x = rng.standard_normal(elements), rng.standard_normal(extent)
    same(rows_of_a_sparse_matrix, (limits, columns, values, x), exact=False)
    same(sums_of_gathered, (rng.standard_normal(rows), limits, columns, x), exact=False)


@settings(max_examples=examples(8), deadline=None)
@given(
    st.integers(0, 40),
    st.integers(1, 9),
    st.sampled_from([-1, 0, 1]),
    st.sampled_from(["int64", "int32", "uint8"]),
    st.integers(0, 10_000),
)
def test_single_picks(count: int, extent: int, beyond: int, dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    least = 0 if dtype == "uint8" else -extent
    picks = rng.integers(least, extent, count)
    if beyond and count and least + extent + beyond > 0:
        picks[rng.integers(count)] = extent - 1 + beyond
    same(gathered_rows, (picks.astype(dtype), rng.standard_normal((extent, 5))))
    # The second array is shorter at times: what is a position in one is none in the other.
    y = rng.standard_normal(max(1, extent - int(rng.integers(2))))
    same(two_axes_of_one_extent, (np.zeros(count), picks.astype(dtype), rng.standard_normal(extent), y))


@pytest.mark.parametrize(("at", "dtype"), one_in(2, [0, 4999], ["uint32", "int32", "int64"]))
def test_a_bad_position_raises_before_anything_is_read_through_it(dtype: str, at: int) -> None:
    limits = np.arange(0, 5001, 2).astype(dtype)
    columns = RNG.integers(0, 50, 5000).astype(dtype)
    columns[at] = np.iinfo(dtype).max
    for function, call in (
        (rows_of_a_sparse_matrix, (limits, columns, RNG.standard_normal(5000), RNG.standard_normal(50))),
        (sums_of_gathered, (np.zeros(2500), limits, columns, RNG.standard_normal(50))),
    ):
        same(function, call)


def test_positions_of_a_written_array_are_not_taken_for_checked() -> None:
    def f(picks, x, out):
        for i in range(picks.shape[0] - 1):
            out[i] = x[picks[i]]
            picks[i + 1] = (picks[i] * 3 + 1) % 7

    same(f, (np.array([2, 50, -90, 4, 1]), RNG.standard_normal(7), np.zeros(5)))
    same(f, (np.array([9, 50, -90, 4, 1]), RNG.standard_normal(7), np.zeros(5)))


def every_element(a):
    y = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        y[i] = a[i].sum()
    return y


def all_but_the_last(a):
    y = np.zeros(a.shape[0])
    for i in range(a.shape[0] - 1):
        y[i] = a[i, 0]
    return y


def all_but_the_first(a):
    y = np.ones(a.shape[0])
    for i in range(1, a.shape[0]):
        y[i] = a[i, 0]
    return y


def every_second(a):
    y = np.ones(a.shape[0])
    for i in range(0, a.shape[0], 2):
        y[i] = a[i, 0]
    return y


def backwards(a):
    y = np.ones(a.shape[0])
    for i in range(a.shape[0] - 1, -1, -1):
        y[i] = a[i, 0]
    return y


def adds_to_what_is_there(a):
    y = np.ones(a.shape[0])
    for i in range(a.shape[0]):
        y[i] += a[i, 0]
    return y


def reads_the_next(a):
    y = np.ones(a.shape[0])
    for i in range(a.shape[0]):
        y[i] = a[i, 0] + y[min(i + 1, a.shape[0] - 1)]
    return y


def parts_of_rows(a):
    y = np.ones(a.shape)
    for i in range(a.shape[0]):
        y[i, 1:] = a[i, 1:]
    return y


def whole_rows(a):
    y = np.ones(a.shape)
    for i in range(a.shape[0]):
        y[i] = a[i] * 2.0
    return y


def whole_columns(a):
    y = np.ones(a.shape)
    for j in range(a.shape[1]):
        y[:, j] = a[:, j] * 2.0
    return y


def rows_of_the_other_extent(a):
    y = np.ones((a.shape[1], a.shape[0]))
    for i in range(min(a.shape[0], a.shape[1])):
        y[i] = a[:, 0] + 1.0
    return y


def only_some(a):
    y = np.ones(a.shape[0])
    for i in range(a.shape[0]):
        if a[i, 0] > 0.0:
            y[i] = a[i, 0]
    return y


def until_it_is_left(a):
    y = np.ones(a.shape[0])
    for i in range(a.shape[0]):
        if a[i, 0] > 1.0:
            break
        y[i] = a[i, 0]
    return y


def the_diagonal(a):
    y = np.ones((a.shape[0], a.shape[0]))
    for i in range(a.shape[0]):
        y[i, i] = a[i, 0]
    return y


@pytest.mark.parametrize(
    "function",
    [
        every_element, all_but_the_last, all_but_the_first, every_second, backwards, adds_to_what_is_there, reads_the_next,
        parts_of_rows, whole_rows, whole_columns, rows_of_the_other_extent, only_some, until_it_is_left, the_diagonal,
    ],
)  # fmt: skip
def test_what_a_loop_does_not_overwrite_keeps_its_first_value(function: Callable[..., Any]) -> None:
    compiled = tilewright.jit(strict=True)(function)
    for shape in ((5, 4), (2, 7), (1, 1), (300, 11)):
        a = RNG.standard_normal(shape)
        # Memory that is not zero by chance: the pool gives back what the call before left in it.
        for _ in range(2):
            np.testing.assert_allclose(compiled(a), function(a), rtol=1e-12, atol=1e-14)


def framed(x, size, hop):
    starts = np.arange((len(x) - size) // hop + 1)
    return x[starts[:, None] + np.arange(4)], x[np.arange(len(x) - 1) + 1] - x[np.arange(len(x) - 1)]


def behind_the_end(x):
    return x[np.arange(len(x)) + 1]


def from_the_end(x):
    return x[np.arange(len(x)) - 1], x[np.arange(3) - 3]


def on_two_axes(x):
    rows, columns = np.arange(x.shape[0] - 2)[:, None], np.arange(x.shape[1] - 1)
    return x[rows + 2, columns + 1] + x[rows, columns] - x[rows + 1, 0]


def written_behind_the_first(x):
    y = np.zeros(len(x))
    y[1:] = x[np.arange(len(x) - 1) + 1]
    return y


@pytest.mark.parametrize("count", [1, 2, 5])
def test_positions_of_a_part_that_is_empty(count):
    compiled = tilewright.jit(written_behind_the_first)
    for size in (97, count):
        x = np.random.default_rng(size).normal(size=size)
        np.testing.assert_array_equal(compiled(x), written_behind_the_first(x))


@pytest.mark.parametrize("count", [4, 5, 13, 97])
def test_positions_that_loops_give(count):
    x = np.random.default_rng(count).normal(size=count)
    for function, args in ((framed, (x, 4, 1)), (from_the_end, (x,)), (on_two_axes, (np.outer(x, x),))):
        got, wanted = tilewright.jit(function, strict=True)(*args), function(*args)
        for one, other in zip(got, wanted, strict=True):  # of one array its rows
            np.testing.assert_array_equal(one, other)
    with pytest.raises(IndexError):
        tilewright.jit(behind_the_end, strict=True)(x)
