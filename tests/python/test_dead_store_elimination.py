"""Arrays that are written position by position need no start, and all others keep theirs: np.full shows whoever reads one that is gone."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples, one_in
from from_text import function_of
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.compile

RNG = np.random.default_rng(6)


def whole_columns(a):
    y = np.full(a.shape, 7.5)
    y[:, 0] = a[:, 0]
    for j in range(1, a.shape[1]):
        y[:, j] = a[:, j] + 0.5 * y[:, j - 1]
    return y


def whole_rows_backwards(a):
    y = np.full(a.shape, 7.5)
    y[-1, :] = 0.0
    y[-2, :] = a[-1, :]
    for i in range(a.shape[0] - 3, -1, -1):
        y[i, :] = a[i + 1, :] - 0.5 * y[i + 1, :] + 0.25 * y[i + 2, :]
    return y


def read_before_it_is_read(a):
    y = np.full(a.shape, 7.5)
    y[:, 0] = a[:, 0]
    for j in range(1, a.shape[1]):
        y[:, j] = a[:, j] + 0.5 * y[:, j - 1]
        if j == 5:
            y[:, 2] = 0.0
    z = y * 2.0
    for j in range(a.shape[1] - 2, 0, -1):
        y[:, j] = z[:, j] + y[:, j + 1]
    return y


def one_is_left_out(a):
    y = np.full(a.shape, 7.5)
    y[:, 0] = a[:, 0]
    for j in range(2, a.shape[1]):
        y[:, j] = a[:, j] + 0.5 * y[:, j - 2]
    return y


def reads_ahead(a):
    y = np.full(a.shape, 7.5)
    y[:, 0] = a[:, 0]
    for j in range(1, a.shape[1] - 1):
        y[:, j] = a[:, j] + 0.5 * y[:, j + 1]
    y[:, -1] = 0.0
    return y


def part_of_a_column(a):
    y = np.full(a.shape, 7.5)
    for j in range(a.shape[1]):
        y[1:, j] = a[1:, j]
    return y


def all_but_the_last_row(a):
    y = np.full(a.shape, 7.5)
    for j in range(a.shape[1]):
        y[:-1, j] = a[:-1, j]
    return y


def perhaps_no_iteration(a, n):
    y = np.full(a.shape, 7.5)
    for j in range(n):
        y[:, j] = a[:, j]
    return y


def every_second(a):
    y = np.full(a.shape, 7.5)
    for j in range(0, a.shape[1], 2):
        y[:, j] = a[:, j]
    return y


def twice(function: Any, *arguments: Any) -> None:
    """Once after memory of that size was full of something else."""
    compiled = tilewright.jit(function, strict=True)
    expected = function(*arguments)
    np.testing.assert_array_equal(compiled(*arguments), expected)
    other = [-99.0 - part if isinstance(part, np.ndarray) else part for part in arguments]
    np.testing.assert_array_equal(compiled(*other), function(*other))
    np.testing.assert_array_equal(compiled(*arguments), expected)


@pytest.mark.parametrize(
    ("shape", "function"),
    one_in(
        2,
        [(3, 7), (8, 8), (17, 31), (200, 190)],
        [
            whole_columns,
            whole_rows_backwards,
            read_before_it_is_read,
            one_is_left_out,
            reads_ahead,
            part_of_a_column,
            all_but_the_last_row,
            every_second,
        ],
    ),
)
def test_columns_and_rows(function: Any, shape: tuple[int, int]) -> None:
    twice(function, RNG.standard_normal(shape))


@pytest.mark.parametrize("n", [0, 1, 5, 12])
def test_a_loop_that_may_end_early(n: int) -> None:
    twice(perhaps_no_iteration, RNG.standard_normal((9, 12)), n)


@st.composite
def loops(draw: Any) -> str:
    up = draw(st.booleans())
    low, high = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    limits = f"{low}, n - {high}, 1" if up else f"n - {high + 1}, {low - 1}, -1"
    written = draw(st.integers(-1, 1))
    read = draw(st.sampled_from(["", *(f" + 0.5 * y[AT(j + {d})]" for d in (-3, -2, -1, 0, 1, 2))]))
    return f"    for j in range({limits}):\n        y[AT(j + {written})] = a[AT(j)]{read}\n"


@st.composite
def programs(draw: Any) -> str:
    first = [f"    y[AT({at})] = {value}\n" for at in (0, 1, 2, "n - 1", "n - 2") for value in ("a[AT(1)]", "0.0")]
    text = "".join(draw(st.lists(st.sampled_from(first), max_size=3)))
    text += "".join(draw(st.lists(loops(), min_size=1, max_size=2)))
    rows = draw(st.booleans())
    text = re.sub(r"AT\(([^()]*)\)", r"\1, :" if rows else r":, \1", text)
    head = f"def f(a):\n    n = a.shape[{0 if rows else 1}]\n    y = np.full(a.shape, 7.5)\n"
    return (
        head + text + draw(st.sampled_from(["    return y\n", "    return y * 2.0\n", "    return y[1:, 1:] + 0.0\n"]))
    )


@settings(deadline=None, database=None, max_examples=examples(6), suppress_health_check=list(HealthCheck))
@given(programs(), st.integers(6, 13), st.integers(6, 13))
def test_random_loops(source: str, rows: int, columns: int) -> None:
    function = function_of(source)
    a = RNG.integers(-8, 8, (rows, columns)).astype(float)
    try:
        function(a)
    except IndexError:
        assume(False)
    assume(all(low >= 0 for low in lowest_positions(source, rows, columns)))
    twice(function, a)


def lowest_positions(source: str, rows: int, columns: int) -> list[int]:
    """Of every place that a loop names: counting from the end is another matter."""
    n = rows if "a.shape[0]" in source else columns
    found = []
    for limits, body in re.findall(r"for j in range\((.*)\):\n(.*)\n", source):
        iterations = range(*(eval(part, {"n": n}) for part in limits.split(", ")))
        shifts = [int(shift) for shift in re.findall(r"j \+ (-?\d)", body)]
        found += [iteration + shift for iteration in iterations for shift in shifts]
    return found
