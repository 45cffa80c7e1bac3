"""Lists that a loop fills in a function that has functions of its own: they see its variables, and most of them read no list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.fast


class Holder:
    def __init__(self, act: Any) -> None:
        self.act = act


def beside_a_lambda(x: Any) -> Any:
    double = lambda v: v * 2  # noqa: E731
    out = []
    for i in range(len(x)):
        out.append(double(x[i]))
    return np.array(out)


def beside_one_in_an_object(x: Any) -> Any:
    one = Holder(lambda v: v + 1)
    out = []
    for i in range(len(x)):
        out.append(one.act(x[i]))
    return np.array(out)


def beside_some_in_a_dict(x: Any) -> Any:
    shift = 0.5
    act = {"up": lambda v: v + shift, "down": lambda v: v - shift}
    out, total = [], 0.0
    for i in range(len(x)):
        total += act["up"](x[i])
        out.append(act["down"](total))
    return np.array(out), total


def read_by_a_lambda(x: Any) -> Any:
    out: list[Any] = []
    count = lambda: len(out)  # noqa: E731
    total = 0.0
    for i in range(len(x)):
        out.append(x[i])
        total += count() * x[i]
    return np.array(out), total


def reader_of(out: list[Any]) -> Callable[[], int]:
    return lambda: len(out)


def read_under_the_same_name(x: Any) -> Any:
    out: list[Any] = []
    count = reader_of(out)
    total = 0.0
    for i in range(len(x)):
        out.append(x[i])
        total += count() * x[i]
    return np.array(out), total


def written_by_a_function_inside(x: Any) -> Any:
    out: list[Any] = []

    def add(v: Any) -> None:
        out.append(v * 2)

    for i in range(len(x)):
        add(x[i])
        out.append(x[i])
    return np.array(out)


WHOLE = [beside_a_lambda, beside_one_in_an_object, beside_some_in_a_dict]


@pytest.mark.parametrize("function", [*WHOLE, read_by_a_lambda, read_under_the_same_name, written_by_a_function_inside])
def test_lists_beside_functions(function: Callable[..., Any]) -> None:
    compiled = tilewright.jit(function, strict=True)
    for n in (70, 100, 70, 3):
        x = np.arange(float(n)) ** 2 % 11
        np.testing.assert_equal(compiled(x), function(x))
    if function in WHOLE:
        assert "between kernels" not in compiled.explain(source=False)
