"""Items of dicts that a function makes, set by its loops and by branches on data: they are carried as attributes are."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from strictly import check

pytestmark = pytest.mark.compile

X = np.linspace(-1.0, 1.5, 60)


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


def nested(x, n):
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


def two_names(x, n):
    d = {"x": x}
    other = d
    seen = np.zeros(n)
    for i in range(n):
        other["x"] = d["x"] + 1
        seen[i] = d["x"].sum()
    return seen, d, other is d


def swapped(x, n):
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
@pytest.mark.parametrize("function", [momentum, nested, two_names, swapped, held_by_an_object])
def test_loops_carry_the_items_that_they_set(function, n):
    check(function, X, n, bits=False)


def test_an_optimizer_with_dicts():
    x = np.linspace(0, 1, 150).reshape(50, 3) ** 2
    check(adam, x, x.sum(axis=1), 30, bits=False)


def test_a_while_whose_condition_reads_an_item():
    check(as_a_while, X, bits=False)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_branch_on_data_sets_items(sign):
    check(on_data, sign * X)


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
    ("function", "args"), [(new_key, (X, 30)), (of_the_caller, ({"a": X.copy()}, 30))], ids=["new key", "of the caller"]
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
        np.testing.assert_allclose(compiled(X, 20), refused(X, 20))
