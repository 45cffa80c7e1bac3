"""np.array of lists with a dtype of integers: what does not fit raises, as Python's numbers do. Tables as long as their indices
can tell apart: no index is checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright
from strictly import check

pytestmark = pytest.mark.compile


def of_a_list_of_rows(x: Any) -> Any:
    rows = []
    for v in x:
        rows.append([int(v), int(v) * 2, 3])
    return np.array(rows, dtype=np.uint8)


def of_lists_that_a_loop_fills(x: Any, y: Any) -> Any:
    whole, floats = [], []
    for i in range(len(x)):
        whole.append(int(x[i]) + 1)
        floats.append(float(y[i]) / 2)
    return np.array(whole, np.int16), np.array(floats, dtype=np.int64), np.asarray(floats, dtype=np.uint8)


def of_single_numbers(x: Any) -> Any:
    a, b = int(x[0]), int(x[1])
    return np.array([a, b, a ^ b], dtype=np.uint8), np.asarray([[a], [b]], dtype=np.int16), np.array((a, b), np.uint64)


@pytest.mark.parametrize("given", [[1, 2, 3], [127, 0, 3], [100, 200, 1], [-1, 0, 3], [300, 1, 2]])
def test_integers_that_do_not_fit_raise(given: list[int]) -> None:
    x = np.array(given)
    check(of_a_list_of_rows, x, in_numpy=min(given) < 0 or max(given) > 127)
    check(of_single_numbers, x, in_numpy=min(given[:2]) < 0 or max(given[:2]) > 255)


FLOATS = [
    [0.7, 511.9, 1.5], [-1.9, 0.0, -0.5], [512.0, 1.0, 2.0], [-2.0, 1.0, 1.0], [1.0, np.nan, 2.0], [np.inf, 1.0, 2.0],
    [2.0**64, 2.0, 2.0], [-(2.0**65), 2.0, 2.0],
]  # fmt: skip


@pytest.mark.parametrize("given", FLOATS, ids=str)
def test_floats_that_do_not_fit_raise(given: list[float]) -> None:
    y = np.array(given)
    fits = bool(np.all((y > -2) & (y < 512)))
    check(of_lists_that_a_loop_fills, np.array([1, 2, 3]), y, in_numpy=not fits)


def test_integers_that_a_loop_gathers_and_do_not_fit() -> None:
    check(of_lists_that_a_loop_fills, np.array([32767, 2, 3]), np.ones(3), in_numpy=True)


# ---- tables


def bytes_by_a_table(x: Any, table: Any) -> Any:
    return table[x][:, ::-1] ^ table[x ^ 7]


def by_low_bits(x: Any, table: Any) -> Any:
    return table[(x >> 3) & 15] + table[x % 16] + table[15 & x]


def by_low_bits_one_by_one(x: Any, table: Any) -> Any:
    total = 0
    for v in x:
        total += table[v & 15] * 2 - table[v % 10]
    return total


def reads_checks(compiled: Any) -> bool:
    return "index out of bounds" in compiled.explain(source=False)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_a_table_of_all_bytes_needs_no_check(dtype: Any) -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (30, 8)).astype(dtype)
    compiled = check(bytes_by_a_table, x, rng.integers(0, 256, 256).astype(np.uint8))
    assert not reads_checks(compiled)
    check(compiled, x, rng.integers(0, 256, 300).astype(np.uint8))
    inside = np.zeros((30, 8), dtype)
    check(compiled, inside, rng.integers(0, 256, 100).astype(np.uint8))  # by another program, which checks
    x[3, 3] = 101
    with pytest.raises(IndexError):
        compiled(x, rng.integers(0, 256, 100).astype(np.uint8))


def test_low_bits_need_no_check() -> None:
    rng = np.random.default_rng(3)
    x, table = rng.integers(-1000, 1000, 50), rng.integers(0, 99, 16)
    for function in (by_low_bits, by_low_bits_one_by_one):
        compiled = check(function, x, table)
        assert not reads_checks(compiled)
        with pytest.raises(IndexError):
            compiled(x, table[:9])


def of_many_numbers(x: Any) -> Any:
    """Each of 176 numbers would be an update of its own: np.array stays Python's."""
    words = [[int(x[4 * i + k]) for k in range(4)] for i in range(4)]
    for i in range(4, 44):
        words.append([a ^ b for a, b in zip(words[i - 4], words[i - 1], strict=True)])  # noqa: PERF401
    return np.array(words, dtype=np.uint8).reshape(11, 4, 4)


def test_a_long_list_of_lists_of_numbers_of_the_run() -> None:
    compiled = tilewright.jit(of_many_numbers, strict=True)
    x = np.arange(16)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(x), of_many_numbers(x))
    assert "NumPy computes it" in compiled.explain(source=False)
