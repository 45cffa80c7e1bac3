"""sum(), any() and all() of generators whose items or conditions are elements: loops of the program, not Python's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright
from strictly import agree

pytestmark = pytest.mark.compile


def of_those_that_hold(x: Any) -> Any:
    return sum(v for v in x if v > 0)


def how_many(x: Any) -> Any:
    return sum(1 for v in x if v > 0)


def from_a_start(x: Any) -> Any:
    return sum((v * v for v in x if v > 0), 10)


def of_pairs(x: Any) -> Any:
    return sum(a * b for a, b in zip(x[:-1], x[1:]) if a < b)  # noqa: B905, RUF007


def of_rows(x: Any) -> Any:
    return sum(v for row in x.reshape(-1, 5) if row[0] > 0 for v in row if v < 1)


def any_of_them(x: Any) -> Any:
    return any(v > 2 for v in x)


def all_of_them(x: Any) -> Any:
    return all(x[i] < x[i + 1] for i in range(len(x) - 1))


def any_in_rows(x: Any) -> Any:
    return any(v > 2 for row in x.reshape(-1, 5) for v in row if v != 2.5)


def all_in_rows(x: Any) -> Any:
    return all(abs(v) < 3 for row in x.reshape(-1, 5) if row[1] > -1 for v in row)


def of_a_few(x: Any) -> Any:
    return any(x[i] == x[j] for i in range(3) for j in range(3) if i != j), all(v > 0 for v in (x[0], x[1], x[2]))


def each_in_each(x: Any) -> Any:
    return [any(all(x[i + j] > k for j in range(3)) for i in range(4)) for k in range(3)]


def in_a_loop(x: Any) -> Any:
    v, found, above = -1, 0, 0
    for i in range(len(x)):
        if any(abs(x[i] - x[v]) < 0.01 for v in range(i)):
            found += 1
        above += sum(1 for v in x if v > x[i])
    return v, found, above


@pytest.mark.parametrize("length", [5, 50, 500])
@pytest.mark.parametrize(
    "function",
    [
        of_those_that_hold, how_many, from_a_start, of_pairs, of_rows, any_of_them, all_of_them, any_in_rows, all_in_rows,
        of_a_few, in_a_loop,
    ],
)  # fmt: skip
def test_a_fold_over_elements_is_compiled_alone(function: Any, length: int) -> None:
    x = np.random.default_rng(0).normal(size=length)
    jitted = tilewright.jit(function, strict=True)
    for values in (x, -np.abs(x), np.arange(length) * 1.0, x):
        agree(jitted(values), function(values))
    assert not any(
        "Python" in one or "lines_" in one
        for one in jitted.explain(source=False).splitlines()
        if "NumPy computes" in one
    )


def test_folds_within_folds() -> None:
    jitted = tilewright.jit(each_in_each, strict=True)
    x = np.random.default_rng(0).normal(size=9)
    for values in (x, np.arange(9.0), x):
        assert jitted(values) == each_in_each(values)


def test_what_no_element_decides_stays_pythons() -> None:
    def halves(x: Any) -> Any:
        return np.zeros(sum(1 for k in range(10) if k % 2)) + x[:5] if any(k > 3 for k in range(5)) else x

    jitted = tilewright.jit(halves, strict="kernels")
    x = np.arange(8.0)
    agree(jitted(x), halves(x))


def test_items_are_taken_once_and_no_more_than_python_takes() -> None:
    def shifted(x: Any, calls: Any) -> Any:
        def noted(k: int) -> int:
            calls.append(k)
            return k

        return any(noted(k) > 2 for k in range(6)), x + 1

    jitted = tilewright.jit(shifted)
    x = np.arange(4.0)
    for _ in range(3):
        ours: list[int] = []
        plain: list[int] = []
        agree(jitted(x, ours), shifted(x, plain))
        assert ours == plain == [0, 1, 2, 3]


def test_variables_of_the_generator_are_its_own() -> None:
    def around(x: Any) -> Any:
        v = x[0]
        total = sum(v for v in x if v > 0)
        return total, v, any(v > 1 for v in x), v

    x = np.random.default_rng(1).normal(size=30)
    agree(tilewright.jit(around, strict=True)(x), around(x))
