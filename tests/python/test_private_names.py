"""Names that classes spell in their own way (`self.__x`), and functions of one line that do nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright
from same_as_python import same

pytestmark = pytest.mark.compile


class Spline:
    __scale = 2.0

    def __init__(self, x: Any) -> None:
        self.__x = x
        self.s = self.__running(x)

    def __running(self, x: Any) -> Any:
        self.__d = np.diff(x)
        out = np.zeros(len(x))
        for i in range(1, len(x)):
            out[i] = out[i - 1] * 0.5 + self.__d[i - 1] * self.__scale
        return out

    def total(self, __times: int = 3) -> Any:
        return self.s.sum() * __times + self.__x[0]

    def helped(self, n: int) -> Any:
        def __scaled(v: Any) -> Any:
            return v * self.__scale

        total = 0.0
        for i in range(n):
            total += __scaled(self.__d[i])
        return total

    def set(self, value: float) -> None:
        self.__x[1:] *= value
        self.__last = value

    def last(self) -> Any:
        return self.__last


class _Other(Spline):
    def __init__(self, x: Any) -> None:
        super().__init__(x)
        self.__x = [1.5, 2.5]

    def both(self) -> Any:
        return self.total(2) + self.__x[1]

    def kept(self, n: int) -> Any:
        self.__kept: list[Any] = []
        for i in range(n):
            self.__kept.append({"k": i})
        return len(self.__kept)


class Empty:
    def __init__(self): pass  # fmt: skip

    def said(self): "nothing"  # fmt: skip


def made_here(x: Any) -> Any:
    empty = Empty()
    empty.said()
    one = Spline(x)
    return one.s, one.total()


def of_a_class_below(x: Any) -> Any:
    return _Other(x).both()


def by_a_function_inside(x: Any, n: int) -> Any:
    return Spline(x).helped(n)


def with_containers(x: Any, n: int) -> Any:
    one = _Other(x)
    return one.kept(n) + one.both()


def of_the_caller(one: Any, x: Any) -> Any:
    one.set(2.0)
    return one.total() + x.max()


@pytest.mark.parametrize(
    ("function", "n"),
    [(made_here, ()), (of_a_class_below, ()), (by_a_function_inside, (20,)), (with_containers, (5,))],
)
def test_private_names_are_those_of_the_class(function: Any, n: Any) -> None:
    compiled = tilewright.jit(function, strict=True)
    x = np.arange(40.0) ** 2 % 7
    for one in (x, x + 1, x, x):
        same(compiled(one, *n), function(one, *n))
    if function is not with_containers:
        assert "between kernels" not in compiled.explain(source=False)


def test_private_attributes_of_the_caller_are_set() -> None:
    compiled = tilewright.jit(of_the_caller, strict=True)
    x = np.arange(20.0)
    mine, theirs = Spline(x.copy()), Spline(x.copy())
    for _ in range(4):
        same(compiled(mine, x), of_the_caller(theirs, x))
        assert mine.last() == theirs.last()
        assert list(vars(mine)) == list(vars(theirs))
    assert "between kernels" not in compiled.explain(source=False)
