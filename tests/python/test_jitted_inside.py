"""Jitted functions and methods that other jitted ones call are compiled in them, whether or not they stay jitted."""

from __future__ import annotations

import functools
import os

import numpy as np
import pytest
import tilewright
from tilewright import specializing

pytestmark = pytest.mark.compile


def decorated(wrap):
    """A class whose methods call each other, each of them `wrap`ped."""

    class Model:
        def __init__(self):
            self.u, self.steps = np.linspace(0.0, 1.0, 50), 0

        @wrap
        def slope(self):
            return self.u[1:] - self.u[:-1]

        @staticmethod
        @wrap
        def scaled(x, k):
            return x * k

        @classmethod
        @wrap
        def one(cls):
            return 1

        @wrap
        def base_step(self, k):
            d = self.slope()
            self.u[1:] += self.scaled(d, k)
            self.steps += self.one()
            return d.sum()

        @wrap
        def __call__(self, k):
            return self.base_step(k) * 2

    class Derived(Model):
        @wrap
        def base_step(self, k):
            return super().base_step(k) + 1

    return Model, Derived


@pytest.mark.parametrize("which", [0, 1])
def test_methods_call_each_other(which):
    ours, plain = decorated(functools.partial(tilewright.jit, strict=True)())[which](), decorated(lambda f: f)[which]()
    for k in (0.5, 0.25, 2.0):
        np.testing.assert_allclose(ours(k), plain(k), rtol=1e-14)
        np.testing.assert_array_equal(ours.u, plain.u)
        assert ours.steps == plain.steps
    step = type(ours).__dict__["base_step"]
    assert len(step.specializations) <= 1 and not step.refusals
    assert not type(ours).__call__.refusals


def doubled(x):
    return x * 2


def tripled(x):
    return x * 3


def test_what_a_program_calls_may_be_jitted_or_not_at_each_call(monkeypatch):
    compiled = tilewright.jit(lambda x: doubled(x) + 1, strict=True)
    x = np.arange(5.0)
    np.testing.assert_array_equal(compiled(x), x * 2 + 1)
    monkeypatch.setitem(globals(), "doubled", tilewright.jit(doubled))
    np.testing.assert_array_equal(compiled(x), x * 2 + 1)
    monkeypatch.setitem(globals(), "doubled", tilewright.jit(tripled))
    np.testing.assert_array_equal(compiled(x), x * 3 + 1)
    monkeypatch.setitem(globals(), "doubled", tripled)
    np.testing.assert_array_equal(compiled(x), x * 3 + 1)


def test_a_jitted_function_stays_what_a_program_calls_when_it_is_put_back(monkeypatch):
    original = doubled
    monkeypatch.setitem(globals(), "doubled", tilewright.jit(original))
    compiled = tilewright.jit(lambda x: doubled(x) + 1, strict=True)
    x = np.arange(5.0)
    np.testing.assert_array_equal(compiled(x), x * 2 + 1)
    monkeypatch.setitem(globals(), "doubled", original)
    np.testing.assert_array_equal(compiled(x), x * 2 + 1)
    assert len(compiled.specializations) == 1


def test_a_jitted_function_handed_in():
    compiled = tilewright.jit(lambda f, x: f(x) + 1, strict=True)
    x = np.arange(5.0)
    for function in (doubled, tilewright.jit(doubled), tilewright.jit(tripled), tripled, doubled):
        np.testing.assert_array_equal(compiled(function, x), function(x) + 1)
    assert len(compiled.specializations) <= 4


def nested(jit, said):
    """A compiled function whose stage, which no trace looks into, calls another one: that refuses data."""

    def note(value):
        said.append(f"note {value}")

    @jit
    def inside(x, mode, i):
        y = x * 2
        if mode == "notes":
            note(float(y[0]))
        if mode == "draws":
            y = y + np.random.exponential(1.0, len(x))
        return y[int(np.sqrt(y[3]) * 0) + i]

    def by_python(x, mode, i):
        with open(os.devnull) as file:
            file.read()
        try:
            return inside(x, mode, i)
        except IndexError:
            return -1.0

    @jit
    def around(x, mode, i, notes):
        before = np.random.exponential(2.0, 4)
        if notes:
            note("before")
        y = x + 1
        found = by_python(y, mode, i)
        if notes:
            note("behind")
        y[:4] += before
        return y * found, np.random.exponential(2.0, 4)

    return inside, around


@pytest.mark.parametrize("in_python", [False, True])
@pytest.mark.parametrize("notes", [0, 1])
@pytest.mark.parametrize("mode", ["plain", "notes", "draws"])
def test_a_failed_call_inside_of_another_one_takes_none_of_its_effects(monkeypatch, mode, notes, in_python):
    """Data that the inner plan refuses are NumPy's, behind what that plan had done: it took what the outer one had done by then, which was
    done twice or, for draws, undone."""
    if in_python:
        monkeypatch.setattr(specializing, "c_binding", lambda *_: None)
    seen = []
    for jit in (tilewright.jit, lambda function: function):
        said: list[str] = []
        inside, around = nested(jit, said)
        np.random.seed(3)
        x = np.arange(200.0)
        for _ in range(3):
            for each in ("plain", "notes", "draws"):
                inside(x, each, np.int64(3))
        for k in range(8):
            result, last = around(x + k, mode, np.int64(5000 if k > 3 and k % 2 else 3), notes)
            said += [f"{result.sum():.6f} {last.sum():.6f} {np.random.get_state()[2]}"]
        seen.append(said)
    assert seen[0] == seen[1]
