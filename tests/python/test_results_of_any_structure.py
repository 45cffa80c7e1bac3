"""Lists, dicts and named tuples of arrays as results, and lists that a loop of the run fills."""

from __future__ import annotations

import collections

import numpy as np
import pytest
import tilewright
from strictly import check

pytestmark = pytest.mark.fast

X = np.random.default_rng(1).random(20)
Pair = collections.namedtuple("Pair", "first second")


def a_dict(x):
    return {"largest": x.max(), "n": x.size, "doubled": x * 2}


def a_list_in_a_tuple(x):
    return x * 2, [x + 1, x + 2]


def a_named_tuple(x):
    return Pair(x * 2, None)


def all_at_once(x):
    return {"a": [x * 2, {"b": (x.max(), "s", 3)}], "none": [], "over": x[x > 0.5]}


def of_numpys(x):
    return np.linalg.eigh(np.outer(x, x) + np.eye(x.size))


@pytest.mark.parametrize(
    "function",
    [a_dict, a_list_in_a_tuple, a_named_tuple, all_at_once, of_numpys],
    ids=lambda function: function.__name__,
)
def test_the_functions_own_structure(function):
    check(function, X, bits=False)


def filled(x):
    made = []
    for i in range(x.size):
        made.append(x[i] * 2)
    return np.array(made)


def returned(x):
    found = []
    for i in range(1, x.size - 1):
        if x[i] > x[i - 1] and x[i] > x[i + 1]:
            found.append(i)
    return found


def until_small(x):
    history, y = [np.inf], x.copy()
    for _ in range(60):
        y = y * 0.9
        history.append(y.max())
        if history[-2] - history[-1] < 0.01:
            break
    return y, history, len(history), np.array(history[1:])


def of_rows(x):
    rows, y = [], x.copy()
    for i in range(60):
        y = y + i
        rows.append(y.copy())
    return np.array(rows)[-1], np.stack(rows)


@pytest.mark.parametrize("function", [filled, returned, until_small, of_rows], ids=lambda function: function.__name__)
def test_lists_that_a_loop_fills(function):
    check(function, X)


def test_each_call_has_its_own_containers():
    compiled = tilewright.jit(all_at_once, strict=True)
    first, second = compiled(X), compiled(X)
    first["none"].append(1)
    assert second["none"] == []
    assert first["a"] is not second["a"]
