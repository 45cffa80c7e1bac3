"""Statements and functions that Python runs draw from generators of the caller, in the order of the function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright
from strictly import agree

pytestmark = pytest.mark.compile


def first_again(x: Any, rng: Any) -> Any:
    y = x * rng.random()
    seen = set()
    count = 0
    for _ in range(len(x)):
        k = int(rng.integers(0, 10))
        if k in seen:
            break
        seen.add(k)
        count += 1
    z = rng.random(3) + y[0]
    return count, z, y


def in_each_iteration(x: Any, rng: Any) -> Any:
    total = 0.0
    for k in range(3):
        total += rng.normal()
        names = {str(one) for one in rng.permutation(len(x))[: k + 1]}
        total += len(names) * rng.random()
    return total, x + total


def picked(words: Any, rng: Any) -> Any:
    counts: dict[str, int] = {}
    for _ in range(5):
        word = words[int(rng.integers(len(words)))]
        counts[word] = counts.get(word, 0) + 1
    return [counts.get(word, 0) for word in words]


def by_a_function(x: Any, rng: Any) -> Any:
    before = rng.random()
    found = picked(["a", "b", "c"], rng)
    return x * before + rng.random(), found


def of_two(x: Any, rng: Any, other: Any) -> Any:
    names = {str(int(rng.integers(9))): other.random() for _ in range(3)}
    return x + len(names) + sum(names.values()), rng.random(), other.random(2)


def before_a_check(x: Any, rng: Any) -> Any:
    names = {str(int(rng.integers(100))) for _ in range(4)}
    k = int(x[0])
    return x[k] + rng.random(), len(names)


CASES = [
    (first_again, np.arange(1.0, 9.0)),
    (in_each_iteration, np.arange(4.0)),
    (by_a_function, np.arange(3.0)),
    (of_two, np.arange(3.0)),
    (before_a_check, np.array([1.0, 2.0])),
]


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("function", "x"), CASES)
def test_draws_are_in_order(function: Any, x: Any, seed: int) -> None:
    compiled = tilewright.jit(function, strict=True)
    theirs, ours = ([np.random.default_rng(seed + k) for k in range(2)] for _ in range(2))
    count = 2 if function is of_two else 1
    for _ in range(8):
        expected = function(x, *theirs[:count])
        assert agree(compiled(x, *ours[:count]), expected)
        assert [one.bit_generator.state for one in ours] == [one.bit_generator.state for one in theirs]
    assert compiled.specializations


def test_one_generator_under_two_names() -> None:
    compiled = tilewright.jit(of_two, strict=True)
    ours, theirs = np.random.default_rng(3), np.random.default_rng(3)
    x = np.arange(3.0)
    for _ in range(6):
        assert agree(compiled(x, ours, ours), of_two(x, theirs, theirs))
        assert ours.bit_generator.state == theirs.bit_generator.state


def test_where_a_check_fails_behind_the_draws() -> None:
    compiled = tilewright.jit(before_a_check, strict=True)
    ours, theirs = np.random.default_rng(3), np.random.default_rng(3)
    good = np.array([1.0, 2.0])
    for x in (good, good, good, good, np.array([7.0, 2.0]), good, np.array([-3.0, 2.0]), np.array([-1.0, 2.0]), good):
        try:
            expected = before_a_check(x, theirs)
        except IndexError as error:
            with pytest.raises(IndexError, match=str(error)):
                compiled(x, ours)
        else:
            assert agree(compiled(x, ours), expected)
        assert ours.bit_generator.state == theirs.bit_generator.state


OUTSIDE = np.random.default_rng(3)
SAID: list[Any] = []


def said_of(x: Any) -> float:
    SAID.append(f"{type(x).__name__} {len(x)}")
    return float(OUTSIDE.random())


def counted_behind(x: Any, t: float) -> Any:
    y = x * said_of(x)
    y = y + OUTSIDE.random(len(x))
    return y + said_of(x)


def counted_around_an_error(x: Any, t: float) -> Any:
    y = OUTSIDE.random(len(x)) * said_of(x)
    y = y + OUTSIDE.random(len(x)) + said_of(x)
    if x[0] > t:
        raise KeyError(t)
    return y + said_of(x), OUTSIDE.random(len(x))


def drawn_around_an_error(x: Any, t: float) -> Any:
    y = x * OUTSIDE.standard_normal(len(x)) + said_of(x)
    if x[0] > t:
        raise KeyError(t)
    return y + said_of(x) + OUTSIDE.standard_normal(len(x))


def single_ones_behind(x: Any, t: float) -> Any:
    y = x * said_of(x)
    for i in range(len(x)):
        if x[i] > t:
            y = y + OUTSIDE.random()
    return y + said_of(x)


def in_a_loop_and_a_branch(x: Any, t: float) -> Any:
    if x[0] > t:
        y = x * OUTSIDE.standard_normal(len(x))
        y = y + said_of(x)
    else:
        y = x * said_of(x)
    for i in range(len(x)):
        if x[i] > t:
            y = y + OUTSIDE.random() + said_of(x)
    return y


def behind_statements(x: Any, t: float) -> Any:
    y = x * 2
    try:
        y = y * OUTSIDE.standard_normal(len(x))
        x[len(x) + 5] = 1
    except (ValueError, IndexError):
        pass
    y = y * OUTSIDE.standard_normal(len(x))
    if x[0] > t:
        raise KeyError(t)
    return y


def counted_behind_statements(x: Any, t: float) -> Any:
    y = x * 2
    try:
        y = y * OUTSIDE.standard_normal(len(x))
        x[len(x) + 5] = 1
    except (ValueError, IndexError):
        pass
    return y + OUTSIDE.random(len(x))


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    "function",
    [
        counted_behind,
        counted_around_an_error,
        drawn_around_an_error,
        single_ones_behind,
        in_a_loop_and_a_branch,
        behind_statements,
        counted_behind_statements,
    ],
)
@pytest.mark.filterwarnings("ignore:runs in NumPy")
def test_what_python_runs_draws_from_a_generator_of_the_module(function: Any, strict: bool) -> None:
    compiled = tilewright.jit(function, strict=strict)
    for k in range(10):
        before, seen = OUTSIDE.bit_generator.state, []
        for called in compiled, function:
            OUTSIDE.bit_generator.state = before
            x, given = np.random.default_rng(k).uniform(-2, 1 + k // 4 * 3, 3), None
            SAID.clear()
            try:
                given = called(x, 2.5)
            except KeyError:
                given = "raised"
            seen.append((given, x, SAID.copy(), str(OUTSIDE.bit_generator.state)))
        assert agree(*seen, bits=False)
    assert compiled.specializations
