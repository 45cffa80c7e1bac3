"""Statements that Python runs, in functions with closures: a closure sees what its variable is at each of its calls."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile

LOG = []


def assigned_between_calls(x):
    c = 1.0

    def scaled(a):
        LOG.append(c)
        return a * c

    a = scaled(x)
    c = 2.0
    b = scaled(x)
    return a, b


def a_parameter(x, c=3.0):
    scaled = lambda a: (LOG.append(c), a * c)[1]  # noqa: E731
    a = scaled(x)
    c = c + 1
    return a, scaled(x)


def read_by_a_comprehension(x):
    v = 2.0
    twice = lambda: v  # noqa: E731
    return [twice() + v for v in x], sum(twice() + v for v in x)


def set_in_a_comprehension(x):
    t = 0.0
    sums = [(t := t + v) for v in x]
    return sums[-1], t


@pytest.mark.parametrize(
    "function", [assigned_between_calls, a_parameter, read_by_a_comprehension, set_in_a_comprehension]
)
def test_closures_see_their_variables(function):
    """Or are refused: no call gives what another value of the variable gives."""
    compiled = tilewright.jit(strict=True)(function)
    for size in (100, 100, 100, 70, 3):
        x = np.arange(1.0, size + 1)
        LOG.clear()
        expected, log = function(x), list(LOG)
        LOG.clear()
        try:
            ours = compiled(x)
        except tilewright.TraceError:
            continue
        assert repr(ours) == repr(expected)
        assert log == LOG


def test_an_error_of_a_stage_is_raised_once():
    calls = []

    def checked(a):
        calls.append(1)
        if a[0] > 0:
            raise ValueError("positive")
        return a.sum()

    def both(x):
        return checked(x * 1.0), x + 1

    compiled = tilewright.jit(strict=True)(both)
    for sign in (-1, -1, 1, -1, 1, 1, -1, 1, -1, 1):
        calls.clear()
        x = np.full(10, float(sign))
        if sign > 0:
            with pytest.raises(ValueError, match="positive"):
                compiled(x)
        else:
            assert compiled(x)[0] == -10.0
        assert len(calls) == 1
