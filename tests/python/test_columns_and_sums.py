"""Loops that read an argument by columns again and again, and sums that a loop keeps in registers, beside NumPy.

The argument is copied by columns where that pays, and every element is added to in the order of the iterations: all results are
NumPy's bits.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.compile

RNG = np.random.default_rng(3)


def triangle(c, a):
    for i in range(a.shape[0]):
        c[i, : i + 1] *= 2
        for k in range(a.shape[1]):
            c[i, : i + 1] += a[i, k] * a[: i + 1, k]


def upper_triangle(c, a):
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            c[i, i:] += a[i, k] * a[i:, k]


def columns_from_behind(c, a):
    for i in range(a.shape[0]):
        for k in range(a.shape[1] - 1, 0, -1):
            c[i, : a.shape[0] - 1] -= a[i, k] * a[1:, k - 1]


def every_second_element(c, a):
    for t in range(6):
        for k in range(a.shape[1]):
            c[t, : (a.shape[0] + 1) // 2] += a[::2, k] + t


def one_of_its_columns(c, a):
    for i in range(a.shape[0]):
        for _k in range(a.shape[1]):
            c[i] += a[:, 0]


def rows_and_columns(c, a):
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            c[i] += a[:, k] * a[i, k] + a[i, 0]


def products_of_columns(c, a):
    for k in range(a.shape[1]):
        for m in range(a.shape[1]):
            c[0] += a[:, k] * a[:, m]


def until_they_are_large(c, a):
    c[7, 0] = 0
    while c[7, 0] < 5:
        for k in range(a.shape[1]):
            c[1] += a[:, k]
        c[7, 0] += 1


def in_a_branch(c, a):
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            if a[i, k] > 0:
                c[i] += a[:, k]


def reads_its_neighbours(c, a):
    for _ in range(3):
        for k in range(a.shape[1]):
            c[0, 1:] += c[0, :-1] * a[1:, k]


def reads_another_row(c, a):
    for i in range(1, a.shape[0]):
        for k in range(a.shape[1]):
            c[i] += c[i - 1] * a[:, k]


def overwrites(c, a):
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            c[i, : i + 1] = c[i, : i + 1] * 3 - a[: i + 1, k]


def writes_what_it_reads(a):
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            a[i, k] += a[: i + 1, k].sum()


FORMS = [
    triangle, upper_triangle, columns_from_behind, every_second_element, one_of_its_columns, rows_and_columns,
    products_of_columns, until_they_are_large, in_a_branch, reads_its_neighbours, reads_another_row, overwrites,
]  # fmt: skip
COMPILED = {function: tilewright.jit(strict=True)(function) for function in FORMS}


def same(function: Callable[..., Any], compiled: Callable[..., Any], call: tuple[Any, ...]) -> None:
    mine, theirs = copy.deepcopy(call), copy.deepcopy(call)
    with np.errstate(all="ignore"):
        assert compiled(*mine) == function(*theirs)
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) * 4).astype(dtype)


@settings(max_examples=examples(15), deadline=None)
@given(
    st.sampled_from(FORMS),
    st.tuples(st.sampled_from([1, 2, 3, 7, 8, 9, 16, 17, 31, 40]), st.sampled_from([1, 2, 3, 8, 13])),
    st.sampled_from(["float64", "float64", "float32", "int64", "int32"]),
    st.sampled_from(["C", "F", "strided", "reversed"]),
    st.integers(0, 10_000),
)
def test_columns_of_arguments(
    function: Callable[..., Any], shape: tuple[int, int], dtype: str, layout: str, seed: int
) -> None:
    a = numbers((2 * shape[0], 2 * shape[1]), dtype, seed)
    a = {
        "C": lambda: np.ascontiguousarray(a[: shape[0], : shape[1]]),
        "F": lambda: np.asfortranarray(a[: shape[0], : shape[1]]),
        "strided": lambda: a[::2, ::2],
        "reversed": lambda: a[shape[0] - 1 :: -1, : shape[1]],
    }[layout]()
    same(function, COMPILED[function], (numbers((max(shape[0], 8), shape[0]), dtype, seed + 1), a))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 0), (0, 0)])
@pytest.mark.parametrize("function", [triangle, rows_and_columns, overwrites])
def test_without_elements_or_iterations(function: Callable[..., Any], shape: tuple[int, int]) -> None:
    call = (numbers((8, shape[0]), "float64", 1), numbers(shape, "float64", 2))
    same(function, tilewright.jit()(function), call)


def test_one_array_as_both_arguments() -> None:
    for function in (triangle, rows_and_columns, overwrites):
        compiled = tilewright.jit()(function)
        same(function, compiled, (numbers((9, 9), "float64", 1), numbers((9, 9), "float64", 2)))
        mine, theirs = numbers((9, 9), "float64", 3) / 64, numbers((9, 9), "float64", 3) / 64
        with np.errstate(all="ignore"):
            for part in (slice(None), slice(1, 4)):
                compiled(mine, mine[:, part])
                function(theirs, theirs[:, part])
                np.testing.assert_array_equal(mine, theirs)


def test_an_array_that_is_written_is_not_copied() -> None:
    compiled = tilewright.jit(strict=True)(writes_what_it_reads)
    for shape in ((7, 5), (20, 3)):
        same(writes_what_it_reads, compiled, (RNG.integers(-9, 9, shape),))


def test_large_arguments_are_read_where_they_lie() -> None:
    """More than a copy may take: the same function, and a version of its own."""

    def f(c, a):
        for i in range(c.shape[0]):
            for k in range(a.shape[1]):
                c[i] += a[:, k]

    small, large = (40, 30), (700, 300)
    for first, second, option in ((small, large, "copied"), (large, small, "in_place")):
        compiled = tilewright.jit(strict=True)(f)
        for shape in (first, second, first):
            same(f, compiled, (numbers((5, shape[0]), "float64", 1), numbers(shape, "float64", 2)))
        assert ("a_columns.split" in str(compiled.schedule)) == (option == "copied")


@pytest.mark.parametrize("option", ["copied", "in_place"])
def test_either_choice_gives_the_same_bits(option: str) -> None:
    compiled = tilewright.jit(strict=True)(triangle)
    call = (numbers((37, 37), "float64", 1), numbers((37, 11), "float64", 2))
    same(triangle, compiled, call)
    text = str(compiled.schedule)
    assert "variant a_columns = copied" in text
    other = "\n".join(line for line in text.splitlines() if not line.startswith(("a_columns", "variant")))
    compiled.schedule = text if option == "copied" else other.replace("\nc_", "\nvariant a_columns = in_place\nc_", 1)
    same(triangle, compiled, call)


def test_copies_of_several_arguments() -> None:
    def f(c, a, b):
        for i in range(c.shape[0]):
            for k in range(a.shape[1]):
                c[i] += a[:, k] * b[:, k]

    compiled = tilewright.jit(strict=True)(f)
    for shape in ((33, 7), (400, 300), (9, 2)):
        a, b = numbers((2, *shape), "float64", 1)
        same(f, compiled, (numbers((6, shape[0]), "float64", 2), a, b))
    assert "a_columns.split" in str(compiled.schedule)
    assert "b_columns.split" in str(compiled.schedule)


def test_a_row_that_no_iteration_asks_for_is_not_touched() -> None:
    def f(c, a, row, n):
        for i in range(c.shape[0]):
            for k in range(n):
                c[row + i, 1:] += a[k, 1:]

    compiled = tilewright.jit(strict=True)(f)
    c, a = numbers((6, 40), "float64", 1), numbers((9, 40), "float64", 2)
    same(f, compiled, (c[:3], a, 0, 9))
    same(f, compiled, (c[:3], a, 0, 0))
    with pytest.raises(IndexError):
        compiled(c, a, 1, 9)


@pytest.mark.parametrize("rounds", [3, 40])
def test_columns_that_are_read_again_and_again_are_copied_up_to_more(rounds) -> None:
    def f(a, rounds):
        total = np.zeros(a.shape[0])
        for _ in range(rounds):
            for k in range(a.shape[1]):
                total = total * 0.5 + a[:, k]
        return total

    compiled = tilewright.jit(strict=True)(f)
    for shape in ((5000, 40), (300, 7), (1, 40), (5001, 39)):  # of float64: 1.6 MB, less
        a = numbers(shape, "float64", 1)
        np.testing.assert_array_equal(compiled(a, rounds), f(a, rounds))
        if shape == (5000, 40):
            assert ("variant a_columns = copied" in str(compiled.schedule)) == (rounds == 40)
