"""Lists, rows and arrays that others see, where loops read and fill them at places of the run: Python's results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright
from same_as_python import same

pytestmark = pytest.mark.fast
X = np.random.default_rng(1).standard_normal(80)


def a_row_that_is_changed_later(x: Any) -> Any:
    rows = [[0, 1.0]]
    r = rows[0]
    for v in x:
        rows.append([1, v])
    r[1] = 9.0
    return np.array(rows)


def an_item_that_is_changed_later(x: Any) -> Any:
    a = np.zeros(2)
    pts = [a]
    for v in x:
        pts.append((v, 1.0))
    a[0] = 5
    return np.array(pts)


def two_arrays_of_a_list(x: Any) -> Any:
    pts = []
    for v in x:
        pts.append((v, 1))
    q = np.array(pts)
    q[0, 0] = 7
    return (q, np.array(pts))


def an_array_that_is_written(x: Any) -> Any:
    w = [np.ones(3), np.zeros(3)]
    s = 0.0
    for v in x:
        k = int(v > 0)
        s += (w[k] * v).sum()
        w[0][0] += 1
    return (s, w[0])


def a_list_that_is_written(x: Any) -> Any:
    tab = [1.0, 2.0]
    s = 0.0
    for v in x:
        k = int(v > 0)
        s += tab[k]
        tab[k] = tab[k] + 1
    return (s, tab)


def a_row_of_another_name(x: Any) -> Any:
    grid = [[0 for _ in range(3)] for _ in range(3)]
    other = grid[1]
    for i in range(3):
        for j in range(3):
            grid[i][j] = i * j + int(x[0] > 0)
    return (grid, other, other is grid[1])


def places_of_the_run(x: Any) -> Any:
    grid = [[0.0 for _ in range(4)] for _ in range(3)]
    for k in range(len(x)):
        i = int(abs(x[k]) * 3) % 3
        grid[i][k % 4] += x[k]
    return np.array(grid)


def one_row_thrice(x: Any) -> Any:
    row = [0.0 for _ in range(4)]
    grid = [row for _ in range(3)]
    for i in range(3):
        grid[i][i] = x[i]
    return np.array(grid)


def arrays_by_keys(x: Any) -> Any:
    d = {1: np.ones(2), 2: np.zeros(2)}
    s = 0
    for v in x:
        s = s + d[1 + int(v > 0)][0]
    return s


def a_path_written_in_the_next_iteration(x: Any) -> Any:
    p = np.zeros(2)
    path = []
    for v in x:
        p[0] += 1
        p = p + v
        path.append(p)
    return np.array(path)


def a_path_that_another_name_writes(x: Any) -> Any:
    p = np.zeros(2)
    q = np.zeros(2)
    path = []
    for v in x:
        q += 1
        p = p + v
        path.append(p)
        q = p
    return np.array(path)


def a_path_written_behind_the_loop(x: Any) -> Any:
    p = np.zeros(2)
    path = []
    for v in x:
        p = p + v
        path.append(p)
    p += 100
    return (np.array(path), p)


def a_path_written_behind_its_append(x: Any) -> Any:
    p = np.zeros(2)
    path = []
    for v in x:
        p = p * 0.5 + v
        path.append(p)
        p *= 2
    return np.array(path)


def a_path_that_begins_with_an_argument(x: Any) -> Any:
    y = x
    path = [y]
    for _ in range(5):
        y = y * 0.5
        path.append(y)
    x[0] = 7
    return np.array(path)


def a_path_written_by_another_name(x: Any) -> Any:
    y = x * 1.0
    path = []
    for _ in range(70):
        path.append(y)
        z = y
        y = y * 0.5
        z += 1
    return np.array(path)


FUNCTIONS = [
    a_path_written_in_the_next_iteration,
    a_path_that_another_name_writes,
    a_path_written_behind_the_loop,
    a_path_written_behind_its_append,
    a_path_that_begins_with_an_argument,
    a_path_written_by_another_name,
    a_row_that_is_changed_later,
    an_item_that_is_changed_later,
    two_arrays_of_a_list,
    an_array_that_is_written,
    a_list_that_is_written,
    a_row_of_another_name,
    places_of_the_run,
    one_row_thrice,
    arrays_by_keys,
]


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_results_are_pythons(function: Callable[..., Any], strict: bool) -> None:
    compiled = tilewright.jit(function, strict=strict)
    for _ in range(4):
        mine, theirs = X.copy(), X.copy()
        same(compiled(mine), function(theirs), rtol=1e-12)
        np.testing.assert_array_equal(mine, theirs)
