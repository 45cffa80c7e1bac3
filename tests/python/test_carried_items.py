"""Items of lists and dicts that the iterations of a loop set: `params[k] = params[k] - lr * grads[k]`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright
from objects_seen import seen

pytestmark = pytest.mark.compile

X = np.array([0.1, 0.7, 0.3, 0.9, 0.2])


def descend(x: Any, n: int, params: Any) -> Any:
    losses = []
    for _ in range(n):
        error = x * params["w"] + params["b"] - 1.0
        grads = {"w": x * error, "b": error.mean()}
        for k in params:
            params[k] = params[k] - 0.1 * grads[k]
        losses.append((error**2).mean())
    return losses


def in_place(x: Any, n: int, params: Any) -> Any:
    for k in range(n):
        for name in params:
            params[name] -= 0.01 * x.mean() * k
    return params


def swapped(x: Any, n: int) -> Any:
    items = [x * 1.0, x * 2.0]
    for _ in range(n):
        items[0], items[1] = items[1], items[0] * 0.5 + items[1] * 0.25
    return items


def exchanged(x: Any, n: int) -> Any:
    items = [x * 1.0, x * 2.0]
    for _ in range(n):
        items[0], items[1] = items[1], items[0]
    items[0][0] = 99.0
    return items


def exchanged_of_the_caller(x: Any, n: int, items: Any) -> Any:
    for _ in range(n):
        items[0], items[1] = items[1], items[0]
    return x.sum()


def two_names(x: Any, n: int) -> Any:
    items = [x[0], x[1]]
    other = items
    for _ in range(n):
        items[0] = items[0] + 1
        other[1] = other[1] + items[0]
    return other, items is other


def nested(x: Any, n: int) -> Any:
    inner = {"a": 0.0}
    outer = {"inner": inner, "t": x * 1.0}
    for i in range(n):
        for j in range(i):
            outer["inner"]["a"] += x[j % 5]
        outer["t"] = outer["t"] * 0.5 + inner["a"]
    return outer


def until(x: Any, n: int) -> Any:
    state = {"t": 0.0, "steps": 0}
    while state["t"] < n * x[2]:
        state["t"] += 0.5
        state["steps"] += 1
    return state


def left_early(x: Any, n: int) -> Any:
    items = [0.0, 1.0]
    for i in range(n):
        items[0] += x[i % 5]
        if items[0] > 3:
            break
        items[-1] = items[1] * items[0]
    return items


def in_a_branch(x: Any, n: int) -> Any:
    counts = {"above": 0.0, "below": 0}
    for i in range(n):
        if x[i % 5] > 0.5:
            counts["above"] += x[i % 5]
        else:
            counts["below"] += 1
    return counts


def read_at_once(x: Any, n: int) -> Any:
    items = [x[0], x[1], x[2]]
    total = 0.0
    for _ in range(n):
        items[0] = items[0] * 1.01
        total += sum(items) + len(items)
        copied = list(items)
        copied[1] = 5.0
        total += copied[1] - items[1]
    return total, items


def a_view(x: Any, n: int) -> Any:
    y = x * 2.0
    items = [y, y]
    for _ in range(n):
        items[0] = y[1:4]
        y[1] += 1
    return items[0].sum(), items[1]


def kept_elsewhere(x: Any, n: int) -> Any:
    items = [x * 1.0]
    first = items[0]
    for _ in range(n):
        items[0] = items[0] + 1.0
    return items[0] is first, first, items


def two_lists(x: Any, n: int, items: Any, others: Any) -> Any:
    for _ in range(n):
        items[0] = items[0] * 0.5 + x[0]
    return others[0] + x.sum()


def same_twice() -> Any:
    items = [1.0, 2.0]
    return items, items


CALLS: list[Any] = [
    (descend, lambda: ({"w": np.zeros(5), "b": 0.0},)), (in_place, lambda: ({"w": np.zeros(5), "b": np.float64(0.5)},)),
    (swapped, tuple), (exchanged, tuple), (two_names, tuple), (nested, tuple), (until, tuple), (left_early, tuple),
    (in_a_branch, tuple), (read_at_once, tuple), (a_view, tuple), (kept_elsewhere, tuple),
    (exchanged_of_the_caller, lambda: ([np.ones(5), np.zeros(5)],)), (exchanged_of_the_caller, lambda: ([1.0, 2.0],)),
    (two_lists, lambda: ([1.0, 2.0], [3.0])), (two_lists, same_twice),
]  # fmt: skip


@pytest.mark.parametrize(("function", "others"), CALLS)
def test_loops_carry_items(function: Any, others: Any) -> None:
    compiled = tilewright.jit(function)
    for n in (70, 4, 0, 100, 1, 70):
        ours, theirs = others(), others()
        assert seen((compiled(X.copy(), n, *ours), ours)) == seen((function(X.copy(), n, *theirs), theirs))
