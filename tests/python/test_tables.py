"""Python's own lists, tuples and dicts of numbers, indexed by numbers that only the run knows; sums by Python of parts of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright
from strictly import agree, check

pytestmark = pytest.mark.compile

FLOATS = [0.5, -0.0, float("nan"), 2.0]
STEPS = [(0, 1), (1, 0), (0, -1), (-1, 0)]
TURNS = {0: (-1, 0), 1: (0, 1), 2: (1, 0), 3: (0, -1)}
WORTH = {-2: 1, 0: 5, 7: -3}
OF_SEVERAL = {1: (1, 2.5), 2: (3, -0.5)}
FLAGS = (True, False, True)


def of_a_tuple(x: Any) -> Any:
    total = 0
    for v in x:
        total += (3, -1, 4, 1)[v]
    return total


def of_floats(x: Any) -> Any:
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = FLOATS[x[i]]
    return out


def of_truths(x: Any) -> Any:
    count = 0
    for v in x:
        if FLAGS[v]:
            count += 1
    return count


def of_tuples(x: Any) -> Any:
    row = column = direction = 0
    for v in x:
        direction = (direction + v) % 4
        dr, dc = STEPS[direction]
        back, _ = TURNS[direction]
        row, column = row + dr - back, column + dc
    return row, column


def of_a_dict(x: Any) -> Any:
    total = 0
    for v in x:
        total += WORTH[v]
    return total


def of_a_dict_of_tuples(x: Any) -> Any:
    count, total = 0, 0.0
    for v in x:
        one, other = OF_SEVERAL[int(v)]
        count, total = count + one, total + other
    return count, total


def asked_whether_it_has(x: Any) -> Any:
    total = 0
    for v in x:
        if v in WORTH and WORTH[v] > 0:
            total += WORTH[v]
        elif int(v) not in WORTH:
            total -= 1
        total += 10 * WORTH.get(int(v), -7)
    return total


def asked_whether_it_is_among(x: Any) -> Any:
    total, seen, none = 0, {9, -2}, []
    seen.add(1)
    for v in x:
        if v in seen and int(v) not in frozenset([4]):
            total += 1
        if v in (0, 2) or v in [7, -1]:
            total += 10
        if v in none:
            total += 1000
        if v not in {0, len(x), len(x) - 1}:
            total += 100
    return total


def of_lists_that_change_between_loops(x: Any) -> Any:
    table, squares = [1, 2, 3, 4], {}
    for k in range(4):
        squares[k] = k * k
    table[1] = 10
    total = 0
    for v in x:
        total += table[v] * squares[v % 4]
    table[0] = -5
    for v in x:
        total += table[v]
    return total


def of_numbers_from_outside(x: Any, a: int, b: float) -> Any:
    total, other = 0, 0.0
    for v in x:
        total += (a, 2, a + 3)[v]
        other += [b, 1.5, 2.5][v]
    return total, other


ALONE: list[Any] = [
    of_a_tuple, of_floats, of_truths, of_tuples, of_a_dict, of_a_dict_of_tuples, asked_whether_it_has, asked_whether_it_is_among,
    of_lists_that_change_between_loops,
]  # fmt: skip
GIVEN = {
    "inside": [0, 1, 0, 1, 1],
    "negative": [-1, -2, 0, 1],
    "outside": [0, 1, 9],
    "keys": [-2, 7, 0],
    "others": [1, 2, 2],
    "none": [],
}


@pytest.mark.parametrize("function", ALONE, ids=lambda one: one.__name__)
@pytest.mark.parametrize("given", GIVEN, ids=str)
@pytest.mark.parametrize("dtype", [np.int64, np.int8])
def test_items_are_pythons(function: Any, given: str, dtype: Any) -> None:
    compiled, x = tilewright.jit(function, strict=True), np.array(GIVEN[given], dtype)
    for _ in range(2):
        outcomes = []
        for one in (function, compiled):
            try:
                outcomes.append(one(x))
            except (IndexError, KeyError) as error:
                outcomes.append((type(error), str(error)))
        assert agree(outcomes[1], outcomes[0])
    assert "between kernels" not in compiled.explain(source=False)


def test_numbers_from_outside() -> None:
    compiled = check(of_numbers_from_outside, np.array([0, 1, 2, 2, -1]), 4, 0.5)
    check(compiled, np.array([0, 1, 2]), -4, 2.5)


def test_other_items_are_pythons() -> None:
    def words(x: Any) -> Any:
        return [["a", "b", "c"][v] for v in x], [[1, 2], [3, 4]][x[0]], {0: None, 1: 2}[int(x[1])]

    compiled = tilewright.jit(words)
    for x in (np.array([0, 1]), np.array([1, 0])):
        assert compiled(x) == words(x)


# ---- sum() of as many items as each iteration has


def running_sums(x: Any) -> Any:
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = sum(x[:i]) * 2.0 - sum(x[i:], 1) * 0.5
    return out


def extremes_so_far(x: Any) -> Any:
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = max(x[: i + 1]) - min(x[i:])
    return out


def sums_as_data_say(x: Any, k: int) -> Any:
    n = int(x[k])
    return sum(x[:n]), sum(x[n:])


@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.float32, np.int8, np.bool_])
def test_sums_and_extremes_of_parts(dtype: Any) -> None:
    for length in (1, 3, 60):
        x = np.random.default_rng(3).integers(0, 4, length).astype(dtype)
        if dtype in (np.int64, np.float64, np.bool_):
            check(running_sums, x)
        if dtype is not np.bool_:
            check(extremes_so_far, x)


@pytest.mark.parametrize("first", [0, 2, 5])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_sums_of_nothing_are_pythons(first: int, dtype: Any) -> None:
    check(sums_as_data_say, np.array([first, 3, 1, 0, 2], dtype), 0)


# ---- tuples of numbers of the run: equal or not, among others, keys


WALLS = {(1, 1), (0, 2), (-1, 0)}
LETTERS = {(0, 1): 3, (1, 0): -4, (2, 2): 7}


def walks_to_a_goal(x: Any, goal: tuple[int, int]) -> Any:
    place, steps, hits = (0, 0), 0, 0
    for v in x:
        dr, dc = STEPS[v]
        there = (place[0] + dr, place[1] + dc)
        if there in WALLS:
            hits += 1
            continue
        place = there
        steps += 1
        if place == goal:
            break
        if place != (0, 0) and (place, v) == ((0, 1), 0):
            hits += 100
    return place, steps, hits, place == goal


def tells_where_it_ends(x: Any, rows: int, columns: int) -> Any:
    def step(r: int, c: int, v: int) -> Any:
        r, c = min(max(r + STEPS[v][0], 0), rows - 1), min(max(c + STEPS[v][1], 0), columns - 1)
        if r == rows - 1 and c == 1:
            return (0, 0), -10.0, False
        return (r, c), -1.0, (r, c) == (rows - 1, columns - 1)

    state, total, ends = (0, 0), 0.0, 0
    for v in x:
        state, reward, done = step(*state, v)
        total += reward
        ends += done
    return state, total, ends


def looks_up_places(x: Any) -> Any:
    total = 0
    for i in range(len(x) - 1):
        pair = (int(x[i]), int(x[i + 1]))
        if pair in LETTERS:
            total += LETTERS[pair]
        total += 10 * LETTERS.get((int(x[i + 1]), 0), -1) + ((i, pair[0]) in [(0, 1), (2, 1), (3, 0)])
        if (x[i], i) == (1, 2) or [x[i], i] != [1, 3]:
            total += 1000
    return total


def looks_up_what_is_there(x: Any) -> Any:
    total = 0
    for i in range(len(x) - 1):
        total += LETTERS[int(x[i]), int(x[i + 1])]
    return total


TUPLES = [walks_to_a_goal, tells_where_it_ends, looks_up_places]


@pytest.mark.parametrize("given", [[0, 1, 0, 1, 2, 1], [1, 0, 0, 1, 3, 2, 2], [2, 2], [1, 1, 0, 0, 1, 0, 0, 3]])
def test_tuples_of_numbers_of_the_run(given: list[int]) -> None:
    x = np.array(given)
    for function, more in zip(TUPLES, [((2, 1),), (3, 3), ()], strict=True):
        compiled = check(function, x, *more)
        assert "between kernels" not in compiled.explain(source=False)


@pytest.mark.parametrize("given", [[0, 1, 0], [2, 2, 2], [1, 1, 0], [0, 3, 0], [-1, 5]])
def test_keys_that_are_tuples_and_are_not_there(given: list[int]) -> None:
    check(looks_up_what_is_there, np.array(given), in_numpy=given not in ([0, 1, 0], [2, 2, 2]))


def equal_beside_nan(x: Any) -> Any:
    """Python takes an object for equal to itself: which of two NaNs it is only Python knows."""
    count = 0
    for i in range(len(x)):
        a, b = float(x[i]), float(x[i])
        count += ((a, i) == (a, i)) + 10 * ((a, i) == (b, i)) + 100 * ((a, i) == (0.5, i)) + 1000 * ((a,) != (2, 3))
    return count


def test_tuples_with_nan() -> None:
    x = np.array([0.5, np.nan, 1.0])
    compiled = tilewright.jit(equal_beside_nan)
    for _ in range(2):
        assert compiled(x) == equal_beside_nan(x)
