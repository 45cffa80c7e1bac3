"""Functions whose names, helpers, methods and numbers the tests replace."""

from __future__ import annotations

import collections
import functools
import math
from typing import Any

import numpy as np
import tilewright

op: Any = np.add
chosen: Any = max
K: Any = 2.0
weights: Any = np.ones(3)


@tilewright.jit
def g(x: Any) -> Any:
    return x * 2


def helper(v: Any, k: float = 2.0, *, m: float = 1.0, w: Any = [1.0]) -> Any:  # noqa: B006
    return v * k + m + w[0]


def other(v: Any) -> Any:
    return v * 5


def third(v: Any, k: float = 9.0) -> Any:
    return v - 5 + k


def outer(k: Any) -> Any:
    def inner(v: Any) -> Any:
        return v * k

    return inner


inner: Any = outer(2.0)


class P:
    C = 4.0

    def __init__(self) -> None:
        self.k = 2.0

    def method(self, v: Any) -> Any:
        return v * self.k

    def calls(self, x: Any) -> Any:
        return self.method(x) + 1

    @property
    def twice(self) -> Any:
        return self.k * 2

    def reads(self, x: Any) -> Any:
        return x * self.twice

    @staticmethod
    def static(v: Any) -> Any:
        return v + 1

    @classmethod
    def of_class(cls, v: Any) -> Any:
        return v * cls.C

    def calls_both(self, x: Any) -> Any:
        return self.static(x) + self.of_class(x) + P.static(x)


p: Any = P()
q: Any = P()
q.k = 7.0


@functools.cache
def table(n: int) -> Any:
    return np.arange(float(n))


part: Any = functools.partial(np.sum, axis=0)
functions: Any = {"a": third}
listed: Any = [third]


def of_jit(x: Any) -> Any:
    return g(x) + 1


def of_ufunc(x: Any) -> Any:
    return op(x, 3.0)


def of_builtin(x: Any) -> Any:
    return x * chosen(2.0, 5.0)


def of_numpys_names(x: Any) -> Any:
    return np.square(x) * np.pi + math.tau


def of_builtins(x: Any) -> Any:
    return x * max(1.0, 2.0) + len([1, 2])


def of_helper(x: Any) -> Any:
    return helper(x)


def of_method(x: Any) -> Any:
    return p.calls(x)


def of_property(x: Any) -> Any:
    return p.reads(x)


def of_class(x: Any) -> Any:
    return p.calls_both(x)


def of_cache(x: Any) -> Any:
    return x[:3] * table(3)


def of_partial(x: Any) -> Any:
    return part(x.reshape(30, -1))


def of_closure(x: Any) -> Any:
    return inner(x)


def of_table(x: Any) -> Any:
    return functions["a"](x)


def of_list(x: Any) -> Any:
    for function in listed:
        x = function(x)
    return x


def of_import(x: Any) -> Any:
    import math as m
    from math import tau

    return x * tau + m.e


def of_attribute_that_may_be(x: Any) -> Any:
    return x * getattr(p, "extra", 1.0) + (2 if hasattr(p, "extra") else 3)


def of_function_attribute(x: Any) -> Any:
    return x * other.factor  # type: ignore[attr-defined]


def of_global(x: Any) -> Any:
    return x[:3] * weights * K


def of_helpers_of_helpers(x: Any) -> Any:
    return of_helper(x) + of_ufunc(x)


other.factor = 2.0  # type: ignore[attr-defined]
_ = collections
