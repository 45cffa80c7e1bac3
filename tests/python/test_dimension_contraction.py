"""Arrays that are the same all along an axis lose it, and no others: what is written, what is read and where, beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples, one_in
from from_text import function_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.compile

RNG = np.random.default_rng(8)


def solved(u, steps):
    """Adi's first half: p is one number for each column."""
    n = u.shape[0]
    p, q, v = np.zeros(u.shape), np.zeros(u.shape), np.zeros(u.shape)
    for _ in range(steps):
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = 1.0
        for j in range(1, n - 1):
            p[1:-1, j] = 0.5 / (2.0 - 0.5 * p[1:-1, j - 1])
            q[1:-1, j] = (u[j, 1:-1] + 0.5 * q[1:-1, j - 1]) / (2.0 - 0.5 * p[1:-1, j - 1])
        v[n - 1, 1:-1] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]
        u[1:-1, 1:-1] = v[1:-1, 1:-1]
    return v


def rows(a):
    """The other axis."""
    p = np.full(a.shape, 3.0)
    out = np.zeros(a.shape)
    for i in range(1, a.shape[0]):
        p[i, 2:] = 0.5 * p[i - 1, 2:] + i
        out[i, 2:] = a[i, 2:] * p[i, 2:]
    return out


def a_slice_that_moves(a):
    """Spelt alike in every iteration, and never the same: rows above keep what they were."""
    p = np.full(a.shape, 3.0)
    out = np.zeros(a.shape)
    for i in range(a.shape[0] - 1, -1, -1):
        p[i:, 1] = p[i:, 1] + 1.0
        out[i:, 1] = out[i:, 1] + p[i:, 1]
    return out


def it_is_returned(a):
    p = np.full(a.shape, 3.0)
    for j in range(1, a.shape[1]):
        p[1:, j] = 0.5 * p[1:, j - 1] + 1.0
    return p


def it_is_read_elsewhere(a):
    p = np.full(a.shape, 3.0)
    for j in range(1, a.shape[1]):
        p[1:, j] = 0.5 * p[1:, j - 1] + 1.0
    return a + p[:, 2:3]


def two_slices(a):
    p = np.full(a.shape, 3.0)
    out = np.zeros(a.shape)
    for j in range(1, a.shape[1]):
        p[1:, j] = 0.5 * p[:-1, j - 1] + 1.0
        out[1:, j] = a[1:, j] + p[1:, j]
    return out


def data_in_one_place(a):
    p = np.full(a.shape, 3.0)
    out = np.zeros(a.shape)
    p[1:, 0] = a[1:, 0]
    for j in range(1, a.shape[1]):
        p[1:, j] = 0.5 * p[1:, j - 1] + 1.0
        out[1:, j] = a[1:, j] + p[1:, j]
    return out


@pytest.mark.parametrize(
    ("shape", "function"),
    one_in(
        2,
        [(4, 5), (7, 13), (40, 33), (130, 150)],
        [rows, a_slice_that_moves, it_is_returned, it_is_read_elsewhere, two_slices, data_in_one_place],
    ),
)
def test_arrays(function: Any, shape: tuple[int, int]) -> None:
    a = RNG.standard_normal(shape)
    compiled = tilewright.jit(function, strict=True)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(a), function(a))


@pytest.mark.parametrize("n", [4, 5, 17, 100, 131])
def test_the_solver(n: int) -> None:
    u = RNG.standard_normal((n, n))
    got, expected = u.copy(), u.copy()
    result = tilewright.jit(solved, strict=True)(got, 3)
    np.testing.assert_array_equal(result, solved(expected, 3))
    np.testing.assert_array_equal(got, expected)


SLICES = ["1:-1", "1:-1", "1:-1", ":", "1:", "2:-1"]
VALUES = ["1.5", "j * 0.25", "{p} * 0.5", "0.5 / (2.0 - 0.25 * {p})", "{p} + k", "np.sqrt(np.abs({p}))", "{p} + {q}", "a[{s}, j]",
          "np.where({p} > 1.0, {p} * 0.5, {q})"]  # fmt: skip


@st.composite
def programs(draw: Any) -> str:
    one = draw(st.booleans())
    common = draw(st.sampled_from(SLICES))

    def part(name: str, at: str) -> str:
        chosen = common if one or draw(st.integers(0, 5)) else draw(st.sampled_from(SLICES))
        return f"{name}[{chosen}, {at}]"

    def value() -> str:
        text = draw(st.sampled_from(VALUES))
        return text.format(p=part("p", draw(st.sampled_from(["j", "j - 1"]))), q=part("q", "j - 1"), s=common)

    lines = ["def f(a, k):", f"    p = np.full(a.shape, {draw(st.sampled_from(['0.0', '2.5']))})"]
    lines += ["    q = np.full(a.shape, 1.25)", "    out = np.zeros(a.shape)"]
    lines += [f"    {part('p', '0')} = {draw(st.sampled_from(['0.0', 'k', 'k * 2.0 + 1.0']))}"]
    lines += ["    for t in range(3):"] if draw(st.booleans()) else ["    for t in range(1):"]
    lines += ["        for j in range(1, a.shape[1]):"]
    for _ in range(draw(st.integers(1, 3))):
        target = part(draw(st.sampled_from(["p", "p", "q"])), "j")
        lines += [f"            {target} = {value()}"]
    lines += [
        f"            out[{common}, j] = a[{common}, j] * p[{common}, j] + q[{common}, {draw(st.sampled_from(['j', 'j - 1']))}]"
    ]
    return "\n".join([*lines, "    return out", ""])


@settings(deadline=None, database=None, max_examples=examples(6), suppress_health_check=list(HealthCheck))
@given(programs(), st.sampled_from([(5, 4), (6, 9), (11, 16)]))
def test_random_programs(source: str, shape: tuple[int, int]) -> None:
    function = function_of(source)
    a = RNG.standard_normal(shape)
    try:
        expected = function(a, 0.75)
    except ValueError:  # two slices of different lengths
        return
    np.testing.assert_array_equal(tilewright.jit(function, strict=True)(a, 0.75), expected)
