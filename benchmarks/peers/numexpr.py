"""numexpr, for the cases that are expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def version() -> str:
    import numexpr

    return str(numexpr.__version__)


def prepare(case: Any, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    import numexpr as ne
    import numpy as np

    if case.script == "trig":
        x, y, a = arguments
        a = x.dtype.type(a)
        return lambda: ne.evaluate("exp(a * sin(x) + cos(y))")
    if case.script == "squared_difference":
        a, b = arguments
        return lambda: ne.evaluate("(a - b) ** 2")
    if case.script == "sum_of_squares":
        (x,) = arguments
        return lambda: ne.evaluate("sum(x * x, axis=1)")
    if case.script == "l2norm":
        (x,) = arguments
        return lambda: np.sqrt(ne.evaluate("sum(x * x)"))
    if case.script == "pi":
        x, y = arguments
        one, zero = 1.0, 0.0  # read by the expression
        return lambda: 4.0 * ne.evaluate("sum(where(x * x + y * y <= 1.0, one, zero))") / x.size
    raise NotImplementedError(f"{case.script} is no single expression")
