"""Python floats that change from call to call and decide something: one program serves them all."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright
from objects_seen import seen

pytestmark = pytest.mark.compile

X = np.random.default_rng(0).random(20)
VALUES = (0.5, 0.25, 0.75, 1.5, 0.0, -0.0, -2.5, 1e308, 5e-324, math.inf, -math.inf, math.nan, 3.0, 0.1)


class Controller:
    """As textbooks write it."""

    def __init__(self) -> None:
        self.total, self.before, self.outputs = 0.0, 0.0, []

    def step(self, wanted, measured):
        error = wanted - measured
        self.total += error * 0.1
        slope = (error - self.before) / 0.1
        self.before = error
        output = 2.0 * error + self.total + 0.1 * slope
        if output > 10.0:  # noqa: PLR1730  (the branch is what is tested)
            output = 10.0
        self.outputs.append(output)
        return output


class Clock:
    def __init__(self) -> None:
        self.t, self.u = 0.0, np.zeros(20)

    def tick(self, dt):
        self.t += dt
        if self.t > 1.0:
            self.t = 0.0
            self.u[:] = 0.0
        self.u += self.t % 0.3
        return self.t


def in_branches(x, a, b):
    if a > 0.6:
        y = x * a
    elif a < -1 or a == b:
        y = x - a
    else:
        y = np.where(x > b, x, 0.0)
    return y, a if a < b else b


def divided(x, a, b):
    return x * (a / b), a // b, a % b


def powers(x, a, b):
    return x + a**2, (b * b + 1.0) ** 0.5, abs(a) ** b


def by_math(x, a, b):
    return x * math.exp(a), math.sqrt(b), math.floor(a), math.isnan(b)


def as_other_numbers(x, a, b):
    return x[int(a)], int(b), round(a), bool(b), max(a, b), min(a, 0.5)


def in_loops(x, a, b):
    total, k = 0.0, 0
    while total < a and k < 50:
        total += b
        k += 1
    for value in x:
        if value > b:
            total += value / a
    return total, k


def as_shapes(x, a, b):
    return np.arange(0.0, a, 0.25), np.linspace(a, b, 5)


def as_texts(x, a, b):
    return f"{a:.2f}", {a: x}, (x * b).sum()


FUNCTIONS = (in_branches, divided, powers, by_math, as_other_numbers, in_loops, as_shapes, as_texts)


def _outcome(function: Callable[..., Any], *args: Any) -> Any:
    try:
        with np.errstate(all="ignore"):
            return seen([function(*args), args])
    except Exception as error:  # noqa: BLE001
        return type(error), str(error)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_they_are_pythons(function: Callable[..., Any]) -> None:
    values = [value for value in VALUES if function is not as_shapes or abs(value) < 10]
    compiled = tilewright.jit(function)
    for k, a in enumerate(values):
        for b in (values[(3 * k + 1) % len(values)], values[-1 - k]):
            assert _outcome(compiled, X, a, b) == _outcome(function, X, a, b), (a, b)
    for a, b in ((1, 0.5), (True, 0.25), (np.float64(0.3), 2), (np.float32(0.7), 0.1), (2**70, 0.5), (X, 0.5)):
        assert _outcome(compiled, X, a, b) == _outcome(function, X, a, b), (a, b)


@pytest.mark.parametrize("function", [in_branches, divided, powers, in_loops])
def test_one_program_serves_them(function: Callable[..., Any]) -> None:
    compiled = tilewright.jit(function, strict=True)
    draws = np.random.default_rng(1)
    for a, b in draws.uniform(0.1, 2.0, (30, 2)).tolist():
        assert _outcome(compiled, X, a, b) == _outcome(function, X, a, b), (a, b)
    assert len(compiled._specializations) <= 4  # one for what each of them was alone, and one for all


@pytest.mark.parametrize(("kind", "name", "count"), [(Controller, "step", 2), (Clock, "tick", 1)])
def test_attributes_and_arguments(kind: Any, name: str, count: int) -> None:
    compiled = tilewright.jit(getattr(kind, name), strict=True)
    ours, theirs, draws = kind(), kind(), np.random.default_rng(2)
    for args in draws.uniform(0.0, 1.0, (30, count)).tolist():
        assert _outcome(compiled, ours, *args) == _outcome(getattr(kind, name), theirs, *args)
