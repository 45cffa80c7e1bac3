"""Draws from NumPy's global generator around statements that Python runs, and in them: one order, one state behind the call."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from strictly import agree, check

pytestmark = pytest.mark.compile

X = np.linspace(0.0, 1.0, 12)


def counted(values):
    found = {}
    for value in values:
        found[int(value * 4)] = found.get(int(value * 4), 0) + 1
    return sum(found.values())


def around_a_dict(x):
    noise = np.random.rand(len(x))
    y = x + noise
    found = counted(y)
    more = np.random.standard_normal(3)
    return y * 2, found, more


def drawn_in_a_part(x):
    noise = np.random.rand(len(x))
    y = x * 2 + noise
    found = {}
    for value in y:
        found[int(value * 4)] = np.random.randint(10)
    return y + np.random.rand(), sorted(found.items())


def seeded_in_a_part(x):
    noise = np.random.rand(len(x))
    found = {}
    for k in range(3):
        np.random.seed(k)
        found[k] = np.random.rand()
    return x + noise + np.random.rand(len(x)), found


def until_data_end(x):
    y = x + np.random.rand(len(x))
    history = np.zeros(0)
    k = 0
    while k < 20:
        before = y.copy()
        y = y * 0.5 + np.random.rand(len(x)) * 0.1
        history = np.hstack((history, abs(y - before).sum()))
        k += 1
        if history[-1] < 1.0:
            break
    return y, history, k


def called(x):
    print(end="")  # not followed
    return x + np.random.rand(len(x))


def around_a_call(x):
    first = np.random.rand(2)
    y = called(x * 2)
    return y, first + np.random.rand(2)


FUNCTIONS = [around_a_dict, drawn_in_a_part, seeded_in_a_part, until_data_end, around_a_call]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_draws_come_in_order(function):
    for seed in (3, 4):
        np.random.seed(seed)
        check(function, X, bits=False)


def fails_behind(x, limit):
    noise = np.random.rand(len(x))
    found = {}
    for value in x + noise:
        found[int(value * 4)] = np.random.randint(10)
    last = np.random.rand()
    if x.max() > limit:
        raise ValueError(f"{len(found)} {last}")
    return x * last, sorted(found.items())


def test_where_numpy_goes_on_nothing_is_drawn_twice():
    compiled = tilewright.jit(fails_behind, strict=True)
    for x in (X, X, X * 3, X, X * 3):
        outcomes = []
        for one in (fails_behind, compiled):
            np.random.seed(5)
            try:
                made = one(x, 2.0)
            except ValueError as error:
                made = str(error)
            outcomes.append((made, np.random.rand()))
        assert agree(*outcomes)


inner = tilewright.jit(lambda x: x + np.random.rand(len(x)))


def calls_a_compiled_one(x, limit):
    noise = np.random.rand(len(x))
    found = {}
    for k in range(3):
        found[k] = float(inner(x * k).sum())
    y = x + noise + np.random.rand(len(x))
    if x.max() > limit:
        return y - 1, found
    return y, found


def test_compiled_functions_in_a_part_draw_from_the_same_one():
    compiled = tilewright.jit(calls_a_compiled_one)
    for x in (X, X, X, X * 3, X, X * 3):
        outcomes = []
        for one in (calls_a_compiled_one, compiled):
            np.random.seed(6)
            outcomes.append((one(x, 2.0), np.random.rand()))
        assert agree(*outcomes)
