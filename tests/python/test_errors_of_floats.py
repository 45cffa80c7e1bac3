"""np.errstate(divide="raise"): Python runs the block between kernels, and NumPy raises there as ever."""

from __future__ import annotations

import numpy as np
import pytest
from strictly import agree
from tilewright import jit

pytestmark = pytest.mark.compile

X, ZEROS = np.arange(1.0, 9), np.arange(8.0)


def caught_around(x, y):
    x = np.sin(x) * 2
    try:
        with np.errstate(divide="raise"):
            z = x / y
    except FloatingPointError:
        z = np.zeros_like(x)
    return z * 2 + x


def not_caught(x, y):
    s = np.abs(x).sum()
    with np.errstate(all="raise", under="ignore"):
        z = np.sqrt(y) / s
    return z + 1


def in_a_loop(x, y):
    t = np.zeros_like(x)
    for i in range(len(x)):
        with np.errstate(invalid="raise", divide="raise"):
            try:
                t[i] = x[i] / y[i]
            except FloatingPointError:
                t[i] = -1
    return t * 2


def quotient(x, y):
    return x / y


def in_what_it_calls(x, y):
    u = x * 2
    for _ in range(3):
        with np.errstate(divide="raise"):
            try:
                u = quotient(u, y)
            except FloatingPointError:
                u = u + 1
    return u - 1


def outcome(function, x, y):
    try:
        return function(x, y)
    except FloatingPointError as error:
        return str(error)


@pytest.mark.parametrize(
    "function", [caught_around, not_caught, in_a_loop, in_what_it_calls], ids=lambda function: function.__name__
)
def test_numpy_raises_in_the_block(function):
    compiled = jit(function, strict=True)
    for y in (X, X, ZEROS, X, ZEROS, -X, X[::-1]):
        ours, theirs = outcome(compiled, X, y), outcome(function, X, y)
        assert ours == theirs if isinstance(theirs, str) else agree(ours, theirs, bits=False)


def test_what_is_called_there_is_not_compiled_by_itself():
    """Compiled code raises nothing."""
    compiled = jit(in_what_it_calls)
    x, zeros = np.ones(200_000), np.zeros(200_000)
    for _ in range(12):
        compiled(x, x)
    assert agree(compiled(x, zeros), in_what_it_calls(x, zeros))
