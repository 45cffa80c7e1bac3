"""numexpr, for the cases that are expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

EXPRESSIONS: dict[str, tuple[tuple[str, ...], str, Callable[[Any, Any], Any]]] = {
    "trig": (("x", "y", "a"), "exp(a * sin(x) + cos(y))", lambda value, _: value),
    "squared_difference": (("a", "b"), "(a - b) ** 2", lambda value, _: value),
    "sum_of_squares": (("x",), "sum(x * x, axis=1)", lambda value, _: value),
    "l2norm": (("x",), "sum(x * x)", lambda value, _: value**0.5),
    "pi": (("x", "y"), "sum(where(x * x + y * y <= 1.0, one, zero))", lambda value, x: 4.0 * value / x.size),
}


def version() -> str:
    import numexpr

    return str(numexpr.__version__)


def prepare(case: Any, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    import numexpr as ne

    names = EXPRESSIONS.get(case.script)
    if names is None:
        raise NotImplementedError(f"{case.script} is no single expression")
    parameters, expression, finish = names
    values = dict(zip(parameters, arguments, strict=True))
    first = arguments[0]
    values = {k: first.dtype.type(v) if isinstance(v, float) else v for k, v in values.items()}
    values |= {"one": 1.0, "zero": 0.0}
    return lambda: finish(ne.evaluate(expression, local_dict=values, global_dict={}), first)
