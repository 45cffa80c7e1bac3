"""Numbers in attributes, globals and closures are read at each call; what has to be a constant compiles eight times at most."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright.errors import FallbackWarning, TraceError

pytestmark = pytest.mark.fast

X = np.linspace(0.25, 1.75, 3000)
G: Any = 0.5


class Model:
    def __init__(self) -> None:
        self.t: Any = 1
        self.omega, self.rate, self.decay = 0.5, 0.1, 0.9
        self.scale: Any = np.float64(2.0)
        self.narrow: Any = np.float32(3.0)
        self.flag = True

    def change(self, k: int) -> None:
        self.t, self.omega, self.rate, self.decay = k + 1, 0.1 + k * 0.01, 0.1 + k, 0.9 - k * 0.001
        self.scale, self.narrow, self.flag = np.float64(k), np.float32(k), k % 2 == 0

    def stepped(self, x):
        return self.rate * x / (1 - self.decay**self.t)

    def of_math(self, x):
        return x * math.sin(self.omega * self.t) + math.exp(-self.t / 50.0) + math.sqrt(self.t)

    def of_numpy(self, x):
        return x * np.cos(self.t * 0.1) + np.exp(-self.omega * self.t)

    def divided(self, x):
        return x * (self.rate / self.decay) + x / self.t + self.t // 2 + self.t % 3

    def scaled(self, x):
        return x * self.scale + self.narrow + G

    def compared(self, x):
        return np.where(x > self.omega, self.t, x)

    def sliced(self, x):
        return x[self.t :] * x[self.t : self.t + 10].sum() + x[self.t]

    def powered(self, x):
        return x**self.omega

    def squared(self, x):
        return x**self.t

    def looped(self, x):
        y = x.copy()
        for _ in range(self.t):
            y = y * 1.001 + self.omega
        return y

    def decided(self, x):
        return x * 2 if self.flag else x * 3

    def switched(self, x):
        return x * 2 if self.t > 20 else x * 3


# Method -> how many programs there are after many values.
PROGRAMS = {
    "stepped": 1, "of_math": 1, "of_numpy": 1, "divided": 1, "scaled": 1, "compared": 1, "sliced": 1, "powered": 1, "squared": 2,
    "looped": 2, "decided": 2, "switched": 2,
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_number_that_changes_at_each_call_is_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, model = tilewright.jit(getattr(Model, name), strict=True), Model()
    for k in range(40):
        model.change(k)
        monkeypatch.setitem(globals(), "G", k / 7)
        got, expected = function(model, X), getattr(model, name)(X)
        np.testing.assert_allclose(got, expected, rtol=1e-12)
        assert got.dtype == expected.dtype
    assert len(function.specializations) == PROGRAMS[name]


def test_a_method_compiles_once_for_150_values_of_an_attribute() -> None:
    class Wave:
        t = 0.0

        @tilewright.jit(strict=True)
        def at(self, x):
            return np.sin(x * self.t) + self.t

    wave = Wave()
    for k in range(150):
        wave.t = k * 0.1
        np.testing.assert_allclose(wave.at(X), np.sin(X * wave.t) + wave.t, rtol=1e-12)
    assert len(Wave.at.specializations) == 1 and Wave.at.misses <= 2
    assert len(Wave.at.explain(source=False)) < 2000


def test_what_python_raises_is_raised() -> None:
    class Box:
        a, b = 1.0, 2.0

        @tilewright.jit
        def divided(self, x):
            return x * (self.a / self.b)

        @tilewright.jit
        def rooted(self, x):
            return x * math.sqrt(self.a) + math.log(self.b) + self.a**self.b

    box = Box()
    box.divided(X)
    box.rooted(X)
    box.b = 0.0
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        box.divided(X)
    with pytest.raises(ValueError, match="math domain error"):
        box.rooted(X)
    box.a, box.b = 1e200, 1e3
    with pytest.raises(OverflowError):
        box.rooted(X)
    box.a, box.b = 4.0, math.inf
    np.testing.assert_array_equal(box.rooted(X), X * math.inf)


def test_what_has_to_be_a_constant_compiles_eight_times_and_then_runs_in_numpy() -> None:
    class Labelled:
        name: Any = ""

    def f(x, box):
        return x + len(box.name)

    function, box = tilewright.jit(f), Labelled()
    line = f.__code__.co_firstlineno
    text = (
        f"runs in NumPy: {__file__}:{line}, in f: box.name decides what is compiled, and has had 8 values; calls with others run in "
        "NumPy. If it is a number, use it only in array arithmetic; otherwise write a function for each value."
    )
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for k in range(30):
            box.name = "x" * k
            np.testing.assert_array_equal(function(X, box), X + k)
    assert [str(warning.message) for warning in seen if warning.category is FallbackWarning] == [text]
    assert len(function.specializations) == 8
    box.name = "xx"  # one of the eight
    misses = function.misses
    np.testing.assert_array_equal(function(X, box), X + 2)
    assert function.misses == misses
    strict = tilewright.jit(f, strict=True)
    for k in range(8):
        box.name = "y" * k
        strict(X, box)
    box.name = "z" * 9
    with pytest.raises(TraceError) as raised:
        strict(X, box)
    assert f"runs in NumPy: {raised.value}" == text


def test_an_argument_that_decides_is_limited_too() -> None:
    def f(x, n):
        return x.reshape(n, -1).sum(axis=0) if n > 0 and [0] * n else x

    function = tilewright.jit(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20):
            np.testing.assert_allclose(function(X, n), f(X, n), rtol=1e-12)
    assert len(function.specializations) <= 8


def test_what_chooses_a_formula_may_come_from_outside():
    order, keep, low, high = 1, True, -1, 300

    @tilewright.jit(strict=True)
    def f(x, u):
        return np.linalg.norm(x, order, axis=1), x.sum(axis=0, keepdims=keep), np.clip(u, low, high)

    x, u = np.arange(12.0).reshape(3, 4) - 5, np.arange(200, 256, dtype=np.uint8)
    for ours, numpys in zip(f(x, u), f.__wrapped__(x, u), strict=True):
        assert ours.dtype == numpys.dtype
        np.testing.assert_array_equal(ours, numpys)


def test_a_number_that_kernels_cannot_count_with_is_compiled_for_once(monkeypatch):
    monkeypatch.setattr(tilewright.decorator.JitFunction, "_loses", lambda *_: False)
    held = {"k": 2.5}  # with a number from outside the call takes another way

    def plain(x, k):
        return x * 2, k * 3 + k

    def reading(x, k):
        return x * held["k"], k * 3 + k

    x = np.ones(8)
    for function in (plain, reading):
        f = tilewright.jit(function)
        for k in (7, 2**40, 2**40 + 1, 2**41, 5, 2**42):
            assert f(x, k)[1] == function(x, k)[1]
        (one,) = f.specializations
        assert len(one.versions) == 2
