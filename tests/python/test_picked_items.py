"""Items of lists, tuples and dicts of Python's at places that only the run knows, and tables that comprehensions make."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright
from same_as_python import same

pytestmark = pytest.mark.fast
X = np.arange(40) * 7 % 3
ROWS = [np.array([1.0, np.nan]), np.array([-0.0, 2.0]), np.array([3.0, 4.0])]


def numbers(x: Any) -> Any:
    table, total = [1.0, -0.0, 3.5], 0.0
    for v in x:
        total = total * 0.5 + table[int(v)]
    return total, table[int(x[1])], table[-1 - x[0]]


def integers_and_truths(x: Any) -> Any:
    steps, flags, n = (3, -1, 2**40), [True, False, True], 0
    for v in x:
        if flags[v]:
            n += steps[v]
    return n, flags[int(x[0])], steps[x[0]]


def tuples(x: Any) -> Any:
    moves, r, c = [(0, 1), (1, 0), (0, -1)], 0, 0
    for v in x:
        dr, dc = moves[int(v)]
        r += dr
        c += dc * moves[v][0]
    return r, c, moves[int(x[0])]


def lists_of_lists(x: Any) -> Any:
    moves, r = [[0, 1.5], [1, 0.5], [0, -1.0]], 0.0
    for v in x:
        a, b = moves[int(v)]
        r += moves[int(v)][1] + a * b
    return r


def by_keys(x: Any) -> Any:
    table, total = {0: (0, 1), 2: (1, 0), -7: (0, -1)}, 0
    for v in x:
        total += table[v if v != 1 else -7][1]
    return total


def arrays(x: Any, rows: Any) -> Any:
    total = 0.0
    for v in x:
        total += rows[int(v)].sum() + (rows[v] * 2)[1] + rows[v][0]
    return total


def a_number_of_the_call(x: Any, w: float = 2.5) -> Any:
    table, total = [w, w * 2, 1.0], 0.0
    for v in x:
        total += table[v]
    return total


def numbers_of_the_run(x: Any) -> Any:
    low, high = x.min() * 1.0, x.max() * 1.0
    total = 0.0
    for v in x:
        total += (low, high, low - high)[v]
    return total


def of_several_types(x: Any) -> Any:
    table = [1, 2.5, 3]
    return table[int(x[0])]


def the_very_array(x: Any, rows: Any) -> Any:
    row = rows[int(x[1])]
    row[0] = 9.0
    return row is rows[1], rows


def changed_before(x: Any) -> Any:
    table = [1.0, 2.0, 3.0]
    first = table[int(x[2])]
    table[2] = 7.0
    table[int(x[1])] += 1.0
    return first, table[int(x[2])], table


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (numbers, (X,)), (integers_and_truths, (X,)), (tuples, (X,)), (lists_of_lists, (X,)), (by_keys, (X,)),
    (arrays, (X, ROWS)), (a_number_of_the_call, (X,)), (numbers_of_the_run, (X,)), (of_several_types, (X,)),
    (the_very_array, (X, ROWS)), (changed_before, (X,)),
]  # fmt: skip
COMPILED = (
    numbers,
    integers_and_truths,
    tuples,
    lists_of_lists,
    by_keys,
    arrays,
    a_number_of_the_call,
    numbers_of_the_run,
)


@pytest.mark.parametrize(("function", "args"), CASES)
def test_results_are_pythons(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    compiled = tilewright.jit(function, strict=function in COMPILED)
    for _ in range(3):
        mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
        same(compiled(*mine), function(*theirs))
        same(mine, theirs)
    if function in COMPILED:
        assert "NumPy computes it" not in compiled.explain(source=False)


@pytest.mark.parametrize("function", [numbers, tuples, by_keys, arrays])
@pytest.mark.parametrize("bad", [3, -4])
def test_what_is_not_there_is_pythons_error(function: Callable[..., Any], bad: int) -> None:
    compiled = tilewright.jit(function, strict=True)
    rows = (ROWS,) if function is arrays else ()
    compiled(X, *rows)
    x = X.copy()
    x[-1] = bad
    with pytest.raises((IndexError, KeyError)) as theirs:
        function(x, *rows)
    with pytest.raises(theirs.type) as mine:
        compiled(x, *rows)
    assert str(mine.value) == str(theirs.value)


def table_of_rows(n: int, m: int, x: float) -> Any:
    table = [[0.0 for _ in range(m)] for _ in range(n)]
    seen = [False for _ in range(n)]
    for i in range(n):
        for j in range(m):
            table[i][j] = x * i - j
        seen[i] = True
    best, at = 1e9, (0, 0)
    for i in range(n):
        for j in range(m):
            if table[i][j] < best:
                best, at = table[i][j], (i, j)
    return best, at, np.array(table), seen


@pytest.mark.parametrize(("n", "m"), [(45, 46), (1, 3), (3, 1), (80, 70)])
def test_tables_that_comprehensions_make_lie_in_arrays(n: int, m: int) -> None:
    compiled = tilewright.jit(table_of_rows, strict=True)
    same(compiled(n, m, 0.5), table_of_rows(n, m, 0.5))
    same(compiled(n, m, -2.5), table_of_rows(n, m, -2.5))
    assert "of a list" not in compiled.explain(source=False)


def windows_of_each_pixel(x: Any, r: int) -> Any:
    out = np.zeros((x.shape[0] - 2 * r, x.shape[1] - 2 * r))
    for y in range(out.shape[0]):
        for z in range(out.shape[1]):
            window = x[y : y + 2 * r + 1, z : z + 2 * r + 1]
            quarters = [window[: r + 1, : r + 1], window[: r + 1, r:], window[r:, : r + 1], window[r:, r:]]
            out[y, z] = quarters[int(np.argmin([one.max() for one in quarters]))].min()
    return out


def rows_of_a_loop(x: Any, r: int) -> Any:
    out = np.zeros(x.shape[0] - r)
    for y in range(out.size):
        here, there = x[y], x[y + r]
        out[y] = [here[::2], there[1::2]][int(here[0] > 0.5)].max() + [there, here * 2][int(there[0] > 0.5)].min()
    return out


def numbers_of_a_loop(x: Any, r: int) -> Any:
    out = np.zeros(x.shape[0])
    for y in range(x.shape[0]):
        a, b = {0: (y, r), 1: (2 * y + r, y)}[int(x[y, 0] > 0.5)]
        out[y] = [y, 7, y - r][int(x[y, 1] > 0.5) + int(x[y, 2] > 0.5)] + a * b
    return out


@pytest.mark.parametrize("function", [windows_of_each_pixel, rows_of_a_loop, numbers_of_a_loop])
def test_items_that_an_iteration_makes_of_its_index_are_made_in_it(function: Callable[..., Any]) -> None:
    compiled = tilewright.jit(function, strict=True)
    rng = np.random.default_rng(1)
    for shape, r in (((12, 14), 2), ((9, 6), 1), ((30, 8), 2)):
        x = rng.random(shape)
        same(compiled(x, r), function(x, r))
    assert "between kernels" not in compiled.explain(source=False)


def long_parts(x: Any, n: int) -> Any:
    out = np.zeros(n)
    for y in range(n):
        out[y] = [x[y:-n], x[y + 1 : 1 - n]][int(x[y] > 0.5)].max()
    return out


def test_long_parts_that_an_iteration_picks_are_not_copied_in_it() -> None:
    compiled = tilewright.jit(long_parts, strict=True)
    x = np.random.default_rng(2).random(20_000)
    for _ in range(3):
        same(compiled(x, 70), long_parts(x, 70))
    assert "between kernels" in compiled.explain(source=False)
