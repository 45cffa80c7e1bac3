"""Operators, len() and items of objects of the caller, whose classes have methods for them in Python: those are followed."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile


class Pair:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Pair(self.x + other.x, self.y + other.y)

    def __radd__(self, number):
        return Pair(self.x + number, self.y + number)

    def __mul__(self, number):
        return Pair(self.x * number, self.y * number)

    def __neg__(self):
        return Pair(-self.x, -self.y)

    def __getitem__(self, k):
        return self.y if k else self.x

    def __setitem__(self, k, value):
        if k:
            self.y = value
        else:
            self.x = value

    def __len__(self):
        return 2 * len(self.x)

    def __eq__(self, other):
        return bool((self.x == other.x).all())

    def __lt__(self, other):
        return float(self.x.sum()) < float(other.x.sum())

    __hash__ = None


class Other(Pair):
    def __add__(self, other):
        return Pair(self.x - other.x, self.y - other.y)

    def __radd__(self, other):
        return Pair(other.x * 3, other.y * 3) if isinstance(other, Pair) else Pair(self.x * 5, self.y * 5)


class OfC(list):
    """Whose addition is that of lists."""

    def __init__(self, x):
        super().__init__([x])
        self.x = x


FUNCTIONS = {
    "add": lambda a, b: ((a + b).x, (b + a).y),
    "add to a number": lambda a, b: (2.0 + a).x,
    "times": lambda a, b: (a * 3.0).y,
    "negative": lambda a, b: (-a).x,
    "items": lambda a, b: a[0] + b[1],
    "length": lambda a, b: len(a) * a.x,
    "equal": lambda a, b: (a == b, a.x + 1),
    "less": lambda a, b: (a < b, b > a, a.x + 1),
}


def set_item(a, b):
    a[1] = b[0] * 2
    return a.y


@pytest.mark.parametrize("name", [*FUNCTIONS, "set item"])
def test_methods_of_the_callers_objects_are_followed(name):
    function = FUNCTIONS.get(name, set_item)
    compiled = tilewright.jit(function, strict=True)
    for k, (first, second) in enumerate([(Pair, Pair), (Pair, Other), (Other, Pair), (Other, Other), (Pair, Pair)]):
        ours, theirs = (
            [first(np.arange(4.0) + k % 2, np.ones(4) * k), second(np.arange(4.0) * 2, np.arange(4.0))] for _ in "ab"
        )
        assert repr((compiled(*ours), ours[0].y)) == repr((function(*theirs), theirs[0].y))


def test_operators_of_c_are_not_followed():
    def function(a, b):
        return len(a + b), a.x * 2

    compiled = tilewright.jit(function)
    a = OfC(np.arange(3.0))
    assert repr(compiled(a, a)) == repr(function(a, a))
    assert compiled.refusals
