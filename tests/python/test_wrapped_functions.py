"""A wrapper's own parameters count, whatever functools.wraps() or `__signature__` shows."""

from __future__ import annotations

import functools
import inspect
import math
import random

import numpy as np
import pytest
import tilewright
from strictly import agree, check

pytestmark = pytest.mark.compile

X, Y = np.arange(4.0), np.ones(4)


def hands_on(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


def in_another_order(function):
    @functools.wraps(function)
    def wrapper(y, x=3.0):
        return function(x, y)

    return wrapper


def shows(signature):
    def decorate(function):
        function.__signature__ = signature
        return function

    return decorate


@hands_on
def scaled(x, *, by=2.0):
    return x * by


@in_another_order
def difference(x, y=7.0):
    return x - y


@shows(inspect.signature(lambda y, x=3.0: None))
def shown_in_another_order(x, y=7.0):
    return x - y


@shows(inspect.signature(lambda x: None))
def shown_without_keywords(*args, flag=False, **kwargs):
    return args[0] * kwargs.get("by", 2.0)


@hands_on
def into(x, out=None):
    total = x + 1
    if out is not None:
        out[...] = total * 2
        return out
    return total


@pytest.mark.parametrize("function", [scaled, difference, shown_in_another_order, shown_without_keywords, into])
def test_a_call_binds_as_in_python(function):
    check(function, X)
    if function in (difference, shown_in_another_order):
        check(function, X, Y)
        check(function, X, 5.0)
        for call in ({"x": X, "y": Y}, {"x": Y, "y": X}):
            compiled = tilewright.jit(function, strict=True)
            assert agree(compiled(**call), function(**call))
            assert agree(compiled(**call), function(**call))
    if function in (scaled, shown_without_keywords):
        assert agree(tilewright.jit(function, strict=True)(X, by=3.0), function(X, by=3.0))


def test_out_is_that_of_the_function_where_it_has_one():
    own, ours = np.zeros(4), np.zeros(4)
    assert np.array_equal(tilewright.jit(into)(X, out=own), (X + 1) * 2)
    assert np.array_equal(own, (X + 1) * 2)
    assert tilewright.jit(scaled, strict=True)(X, out=ours) is ours
    assert np.array_equal(ours, X * 2)


@pytest.mark.parametrize("function", [difference, shown_in_another_order])
def test_a_module_binds_as_in_python(function, tmp_path, monkeypatch):
    compiled = tilewright.jit(function, strict=True)
    compiled(X, Y)
    compiled(X)
    compiled.export(tmp_path / f"wrapped_{function.__name__}", targets=("x86-64",))
    monkeypatch.syspath_prepend(tmp_path)
    made = getattr(__import__(f"wrapped_{function.__name__}"), function.__name__)
    for args, kwargs in (
        ((X, Y), {}),
        ((X,), {}),
        ((), {"x": X, "y": Y}),
        ((Y,), {"x": X} if function is difference else {"y": X}),
    ):
        assert agree(made(*args, **kwargs), function(*args, **kwargs))


def test_out_of_a_wrapper_shares_no_element_with_itself():
    memory = np.zeros(len(X))
    shared = np.lib.stride_tricks.as_strided(memory, X.shape, (0,) * X.ndim)
    with pytest.raises(ValueError, match="out"):
        tilewright.jit(scaled)(X, out=shared)


CALLS = []


@functools.wraps(math.sqrt)
def root(x):
    CALLS.append("root")
    return x**0.5


@functools.wraps(np.mean)
def mean(x):
    return np.mean(x) + 1


@functools.wraps(np.linalg.norm)
def norm(x):
    CALLS.append("norm")
    return float(len(x))


@functools.wraps(random.random)
def four():
    return 4.0


def as_pythons(x):
    return root(x.sum()) * x


def as_numpys(x):
    return mean(x) * x


def as_pure(x):
    return x * norm([1, 2, 3])


def as_a_draw(x):
    return x * four()


@pytest.mark.parametrize(
    "function", [as_pythons, as_numpys, as_pure, as_a_draw], ids=lambda function: function.__name__
)
def test_functions_that_say_they_are_another_modules(function):
    """They are what their code is: what it does besides happens at each call."""
    compiled = tilewright.jit(function, strict=True)
    CALLS.clear()
    expected, once = function(X), [*CALLS]
    for _ in range(3):
        CALLS.clear()
        assert agree(compiled(X), expected)
        assert once == CALLS
