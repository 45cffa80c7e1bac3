"""Objects that a function makes, and whose attributes its loops and branches on data set: they are carried as variables are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import tilewright
from strictly import agree

pytestmark = pytest.mark.compile

X, Y = np.linspace(-1.0, 1.5, 90), np.array([0.5, -0.25, 2.0])


class Filter:
    """With numbers, arrays that are written, and arrays that are set anew."""

    def __init__(self, taps):
        self.w = np.zeros(taps)
        self.mean = np.zeros(taps)
        self.n = 0
        self.best = 1e9
        self.is_high = False

    def update(self, d, x):
        error = d - np.dot(self.w, x)
        self.w += 0.1 * error * x
        self.mean = self.mean + (x - self.mean) / (self.n + 1)
        self.n += 1
        if abs(error) < self.best:
            self.best = abs(error)
            self.is_high = error > 0
        return error

    @property
    def half(self):
        return self.best / 2

    @half.setter
    def half(self, value):
        self.best = value * 2


@dataclass
class Ball:
    x: float
    v: float = 0.0
    hits: int = 0

    def advance(self, dt):
        self.v -= 9.81 * dt
        self.x += self.v * dt
        if self.x < 0:
            self.x, self.v, self.hits = -self.x, -0.8 * self.v, self.hits + 1
        return self.hits < 5


@dataclass(frozen=True)
class Fixed:
    x: float


class Slots:
    __slots__ = ("last", "total")

    def __init__(self):
        self.total = 0.0


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b
        self.inner = Slots()


def filtered(x, taps):
    one, errors = Filter(taps), np.zeros(len(x))
    for n in range(taps, len(x)):
        errors[n] = one.update(x[n], x[n - taps : n][::-1])
    return errors, one.w, one.mean, one.n, one.best, one.is_high


def bounced(dt, most):
    ball, steps = Ball(1.0), 0
    while ball.hits < 3 and steps < most:
        ball.advance(dt)
        steps += 1
    return ball.x, ball.v, ball.hits, steps


def asked_by_the_condition(dt):
    ball = Ball(1.0)
    while ball.advance(dt):
        ball.x += dt
    return ball


def left_early(x, limit):
    one = Slots()
    for value in x:
        if value < 0:
            continue
        one.total += value
        if one.total > limit:
            break
    return one.total


def first_set_inside(x):
    one = Slots()
    for value in x:
        one.last = value * 2
        one.total += one.last
    return one.total, one.last


def in_other_objects(x):
    pair = Pair(Y.copy(), Y * 2)
    for value in x:
        pair.inner.total += value
        if pair.inner.total > 0:
            pair.a, pair.b = pair.b, pair.a
    return pair.a, pair.b, pair.inner.total


def one_array(x):
    pair = Pair(np.zeros(3), np.ones(3))
    pair.b = pair.a
    for i in range(len(x)):
        pair.a[i % 3] += x[i]
    return pair.a.copy(), pair.b.copy()


def which_array(x):
    pair = Pair(np.zeros(3), np.ones(3))
    for value in x:
        if value > 0:
            pair.b = pair.a
        pair.b = pair.b + value
    return pair.a, pair.b


def by_a_property(x):
    one = Filter(2)
    for value in x:
        one.half = one.half * 0.5 + value
    return one.half, one.best


def of_another_kind(x):
    pair = Pair(None, 1)
    for value in x:
        pair.a = value
        pair.b = pair.b + value
    return pair.a, pair.b


def nested(x, m):
    one = Slots()
    for i in range(len(x)):
        for j in range(m):
            if x[i] > one.total:
                one.total += j
        one.total *= 0.5
    return one.total


def chosen(x):
    pair = Pair(x, x * 2)
    if x.sum() > 3:
        pair.a = pair.a * 2
    else:
        pair.b = pair.b + 1
    return pair.a * 1, pair.b


@pytest.mark.parametrize("data", [X, X[:1], X[:0], -X, np.where(np.arange(90) % 7 == 3, np.nan, X)])
@pytest.mark.parametrize("function", [in_other_objects, one_array, which_array, by_a_property, of_another_kind, chosen])
def test_attributes_that_loops_set(function, data) -> None:
    compiled = tilewright.jit(function, strict=True)
    for _ in range(2):
        assert agree(compiled(data.copy()), function(data.copy()), bits=False)


@pytest.mark.parametrize(
    ("function", "calls"),
    [
        (filtered, [(X, 4), (X[:5], 4), (X[:3], 4)]),
        (bounced, [(0.001, 4000), (0.001, 0), (0.3, 100)]),
        (asked_by_the_condition, [(0.001,), (0.01,)]),
        (left_early, [(X, 3.0), (X, 1e9), (-np.abs(X), 1.0), (X[:0], 1.0)]),
        (first_set_inside, [(X,), (X[:1],)]),
        (nested, [(X, 4), (X, 0), (X[:1], 2)]),
    ],
)
def test_they_are_compiled(function, calls) -> None:
    compiled = tilewright.jit(function, strict=True)
    for args in calls:
        for _ in range(2):
            assert agree(compiled(*args), function(*args), bits=False)
    assert "lines_" not in str(compiled.explain(source=False))  # which Python runs


def test_what_is_not_set_is_an_error() -> None:
    for _ in range(2):
        with pytest.raises(AttributeError):
            tilewright.jit(first_set_inside)(X[:0])


def test_frozen_objects_stay_frozen() -> None:
    def sets_its_own(x):
        one = Fixed(1.0)
        for value in x:
            if value > 0:
                one.x = one.x
        return one.x

    compiled = tilewright.jit(sets_its_own)
    for _ in range(2):
        with pytest.raises(AttributeError):
            compiled(X)
        assert compiled(-np.abs(X)) == 1.0


def test_an_error_in_an_iteration() -> None:
    def divides(x):
        one = Slots()
        for value in x:
            one.total = 1 / (3 - int(value)) + one.total
        return one.total

    compiled = tilewright.jit(divides)
    assert compiled(X) == pytest.approx(divides(X))
    with pytest.raises(ZeroDivisionError):
        compiled(X + 2)


def set_in_another_order(x):
    one = Pair(0.0, 1.0)
    for value in x:
        one.b = one.b * 0.5 + value
        one.a = one.a + one.b
        one.late, one.later = value, one.a
    return one


def set_by_a_loop_in_a_branch(x):
    one = Pair(0.0, 1.0)
    if x.sum() > 0:
        for value in x:
            one.a = one.a + value
    else:
        one.a = -1.0
    one.last = one.a
    return one


def added_in_two_orders(x):
    one = Pair(0.0, 1.0)
    for value in x:
        if value > 0:
            one.up = one.down = 1
        else:
            one.down = one.up = 2
    return one


def added_by_two_ways(x):
    one = Pair(0.0, 1.0)
    if x.max() > 0:
        one.up = one.down = x[0]
    else:
        one.down = one.up = x[1]
    return one


@pytest.mark.parametrize(
    "function", [set_in_another_order, set_by_a_loop_in_a_branch, added_in_two_orders, added_by_two_ways]
)
def test_an_object_has_its_attributes_in_pythons_order(function) -> None:
    compiled = tilewright.jit(function)
    for data in (X, -X, X[:2], X + 5, X - 5, X):
        got, wanted = vars(compiled(data)), vars(function(data))
        got.pop("inner"), wanted.pop("inner")
        assert agree(got, wanted, bits=False)


@pytest.mark.parametrize("function", [set_in_another_order, set_by_a_loop_in_a_branch])
def test_other_orders_are_compiled(function) -> None:
    assert "lines_" not in str(tilewright.jit(function, strict=True).for_args(X).explain(source=False))


def test_an_object_of_the_last_iteration_stays_there() -> None:
    def keeps_the_last(x):
        for value in x:
            one = Pair(value, 1.0)
        return one.a

    assert tilewright.jit(keeps_the_last)(X) == X[-1]
    with pytest.raises(tilewright.Error, match="a Pair with values of an iteration"):
        tilewright.jit(keeps_the_last, strict="kernels")(X)
