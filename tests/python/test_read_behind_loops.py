"""Variables that a loop may have left as they were, read behind it: the number of its iterations is data's, and may be none.

More rows than are unrolled, so that the loops stay loops.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.compile


def a_range_of_data(a, b, k, out):
    s = 0.25
    for i in range(a.shape[0]):
        for _ in range(k[i] % 5):
            s = b[i] * 0.5
        out[i] = s
    return s


def behind_the_outer_loop_alone(a, b, k, out):
    s = 0.25
    for i in range(a.shape[0]):
        for _ in range(k[i] % 5):
            s = b[i] * 0.5
    return s


def three_deep(a, b, k, out):
    s = 0.25
    for i in range(a.shape[0]):
        s = a[i] * 0.5
        for _ in range(2 + k[i] % 2):
            for q in range(k[i] % 5):
                s = b[i] * 0.5 + q
        out[i] = s
    return s


def a_while(a, b, k, out):
    s = 0.25
    for i in range(a.shape[0]):
        g = 0
        while g < k[i] % 5:
            s = b[i] * 0.5
            g += 1
        out[i] = s
    return s


def a_range_in_a_while(a, b, k, out):
    for i in range(a.shape[0]):
        s = a[i]
        g = 0
        while g < 2:
            g += 1
            for _ in range(k[i] % 3):
                s = b[i] * 0.5 + g
            out[i] += s


def its_index(a, b, k, out):
    j = 0
    for i in range(a.shape[0]):
        for j in range(k[i] % 5):
            out[i] += b[j]
        out[i] += j
    return j


def not_set_before(a, b, k, out):
    for i in range(a.shape[0]):
        for _ in range(k[i] % 3):
            s = b[i] * 0.5
        out[i] = s


def rows_of_a_triangle(a, b, k, out):
    s = 0.25
    for t in range(3):
        for i in range(a.shape[0]):
            for j in range(i):
                s = b[j] * 0.5 + t
            out[i] += s
    return s


def in_a_branch(a, b, k, out):
    s = 0.25
    for i in range(a.shape[0]):
        if a[i] > 0:
            for j in range(k[i] % 3):
                s = b[j] * 0.5
        out[i] += s
    return s


def an_array(a, b, k, out):
    row = a * 0.5
    for i in range(a.shape[0]):
        for j in range(k[i] % 3):
            row = b * (0.5 + j)
        out[i] += row[i]
    return row


def two_names_in_two_loops(a, b, k, out):
    t = 1.0
    u = -1.0
    for i in range(a.shape[0]):
        for j in range(k[i] % 3):
            t = b[j]
            for _ in range(k[j] % 2):
                u = a[j] + t
        out[i] = t - u
    return t, u


def an_end_in_the_middle(a, b, k, out):
    last = -1
    for i in range(a.shape[0]):
        for j in range(k[i] % 7):
            if b[j] > 1.0:
                break
            last = j
        out[i] = last


FUNCTIONS = [
    a_range_of_data, behind_the_outer_loop_alone, three_deep, a_while, a_range_in_a_while, its_index, not_set_before,
    rows_of_a_triangle, in_a_branch, an_array, two_names_in_two_loops, an_end_in_the_middle,
]  # fmt: skip
COMPILED = {function: tilewright.jit(strict="kernels")(function) for function in FUNCTIONS}


def answer(function: Any, call: tuple[np.ndarray, ...]) -> Any:
    try:
        return function(*call), call[-1]
    except UnboundLocalError:
        return UnboundLocalError


def same(function: Any, n: int, k: np.ndarray, seed: int) -> None:
    a, b = np.random.default_rng(seed).standard_normal((2, n))
    got, expected = (answer(f, (a, b, k, np.zeros(n))) for f in (COMPILED[function], function))
    if expected is UnboundLocalError:
        assert got is UnboundLocalError
    else:
        np.testing.assert_equal(got, expected)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_no_iteration_sets_is_what_it_was(function: Any) -> None:
    for n in (150, 1, 9, 400):
        rng = np.random.default_rng(n)
        for k in (np.ones(n, np.int64), np.zeros(n, np.int64), np.arange(n), rng.integers(0, n, n)):
            same(function, n, k, n)


@settings(max_examples=examples(8), deadline=None)
@given(st.lists(st.integers(0, 6), min_size=140, max_size=160), st.integers(0, 99))
def test_any_numbers_of_iterations(numbers: list[int], seed: int) -> None:
    for function in FUNCTIONS:
        same(function, len(numbers), np.array(numbers), seed)
