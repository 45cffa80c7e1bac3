"""Items of lists and dicts that loops, and branches on data, set: `params[k] = params[k] - lr * grads[k]`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright
from objects_seen import seen
from strictly import check

pytestmark = pytest.mark.compile

X = np.array([0.1, 0.7, 0.3, 0.9, 0.2])
LONG = np.linspace(-1.0, 1.5, 60)


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


def momentum(x, n):
    state = {"v": np.zeros_like(x), "t": 0, "early": 0.0}
    for i in range(n):
        state["v"] = 0.9 * state["v"] + x * i
        state["t"] += 1
        if state["v"].sum() > 50:
            state["v"] = state["v"] * 0.5
            state["early"] = float(i)
    return state["v"], state


def adam(x, y, n):
    p = {"w": np.zeros(x.shape[1]), "b": np.zeros(1)}
    m = {k: np.zeros_like(v) for k, v in p.items()}
    v = {k: np.zeros_like(w) for k, w in p.items()}
    for t in range(1, n + 1):
        error = (x * p["w"]).sum(axis=1) + p["b"] - y
        g = {"w": (x * error[:, None]).mean(axis=0), "b": error.mean(keepdims=True)}
        for k in p:
            m[k] = 0.9 * m[k] + 0.1 * g[k]
            v[k] = 0.99 * v[k] + 0.01 * g[k] ** 2
            p[k] -= 0.1 * (m[k] / (1 - 0.9**t)) / (np.sqrt(v[k] / (1 - 0.99**t)) + 1e-8)
    return p, m, v


def nested_in_a_dict(x, n):
    d = {"a": x, "b": x + 1, 3: 0}
    for _ in range(n):
        for j in range(n):
            d["a"] = d["a"] * 0.5 + j
        d[3] += 1
        d["b"] = d["a"] + d["b"]
    return d, sum(d.values())


def as_a_while(x):
    d = {"x": x.copy(), "n": 0}
    while np.abs(d["x"]).max() > 1e-3:
        d["x"] = d["x"] * 0.7
        d["n"] += 1
    return d


def two_names_in_a_dict(x, n):
    d = {"x": x}
    other = d
    seen = np.zeros(n)
    for i in range(n):
        other["x"] = d["x"] + 1
        seen[i] = d["x"].sum()
    return seen, d, other is d


def swapped_in_a_dict(x, n):
    d = {"a": x.copy(), "b": np.zeros_like(x)}
    for i in range(n):
        d["b"][1:] = d["a"][:-1] + i
        d["a"], d["b"] = d["b"], d["a"]
    return d


class Optimizer:
    def __init__(self, params):
        self.params = params
        self.m = {k: np.zeros_like(v) for k, v in params.items()}
        self.t = 0

    def step(self, grads):
        self.t += 1
        for k in self.params:
            self.m[k] = 0.9 * self.m[k] + grads[k]
            self.params[k] -= 0.1 * self.m[k] / self.t


def held_by_an_object(x, n):
    optimizer = Optimizer({"w": x.copy(), "b": np.ones(2)})
    for _ in range(n):
        optimizer.step({"w": optimizer.params["w"] * 0.5, "b": np.ones(2)})
    return optimizer.params, optimizer.m


def on_data(x):
    d = {"kept": x.copy(), "n": 1}
    if x.sum() > 0:
        d["kept"] = x * 2
        d["n"] = 2
    return d


@pytest.mark.parametrize("n", [40, 1, 0])
@pytest.mark.parametrize(
    "function", [momentum, nested_in_a_dict, two_names_in_a_dict, swapped_in_a_dict, held_by_an_object]
)
def test_loops_carry_the_items_that_they_set(function, n):
    check(function, LONG, n, bits=False)


def test_an_optimizer_with_dicts():
    x = np.linspace(0, 1, 150).reshape(50, 3) ** 2
    check(adam, x, x.sum(axis=1), 30, bits=False)


def test_a_while_whose_condition_reads_an_item():
    check(as_a_while, LONG, bits=False)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_branch_on_data_sets_items(sign):
    check(on_data, sign * LONG)


def new_key(x, n):
    d = {"a": x}
    for i in range(n):
        d["b"] = x * i
        d["a"] = d["b"] + 1
    return d


def of_the_caller(d, n):
    for i in range(n):
        d["a"] = d["a"] * 0.5 + i
    return d["a"].sum()


@pytest.mark.parametrize(
    ("function", "args"),
    [(new_key, (LONG, 30)), (of_the_caller, ({"a": LONG.copy()}, 30))],
    ids=["new key", "of the caller"],
)
def test_other_items_are_not_carried(function, args):
    """What they give is right all the same: Python runs such loops."""
    check(function, *args, bits=False)


def test_a_dict_is_as_it_was_where_its_loop_is_refused():
    def refused(x, n):
        d = {"a": x, "b": x}
        try:
            for i in range(n):
                d["b"] = d["b"] + i
                d["a"] = d["a"][:-1] if i % 2 else d["a"]
        except ValueError:
            pass
        return d["b"]

    compiled = tilewright.jit(refused)
    for _ in range(2):
        np.testing.assert_allclose(compiled(LONG, 20), refused(LONG, 20))
