"""The index of a loop in Python's own arithmetic of floats, and as the shift of np.roll: numbers that each iteration has."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from strictly import agree, check

pytestmark = pytest.mark.compile

X = np.arange(300.0)
RNG = np.random.default_rng(3)


def divided(x, n, s):
    t = np.zeros(len(x))
    for k in range(n):
        t += x * np.exp(-k / (2 * s * s)) + k / s
    return t


def quotients(x, n, s):
    t = np.zeros(len(x))
    for k in range(n):
        t += x * (s / (k + 1)) + k // s + k % s
    return t


def powers(x, n, s):
    t = np.zeros(len(x))
    for k in range(n):
        t += x * 0.95**k + abs(s) ** k + k ** abs(s)
        t += (k / 7.0) ** 1.5 + k**0.5 + (-k - 1.0) // s
    return t


def whole_powers(x, n, s):
    t = np.zeros(len(x))
    for k in range(n):
        t += x * ((2.5 - k) / s) ** 2 + (2.5 - k) ** 3 + (k - 3.25) ** -1
    return t * (n / 3.0 - 9.0) ** 3


def numbers(_, n, s):
    t, u = 0.0, 0
    for k in range(n):
        t = t + 1.0 / (k - 200 + s) + s // (k + 0.5) + (k + 1) % s
        u = (k * 0.25) ** 2
    return t, u


def by_zero(_, n, s):
    t = 0.0
    for k in range(n):
        t = t + s / (k - 50) + k / (k - 60) + 3 / (60 - k)
    return t


def power_of_zero(_, n, s):
    t = 0.0
    for k in range(n):
        t = t + (k - 50) ** s + (k - 50.0) ** -1.0
    return t


def autocorrelation(x, n):
    out = np.zeros(n)
    for k in range(n):
        out[k] = np.sum(x * np.roll(x, k - 3))
    return out


def of_two_axes(image, n):
    total = np.zeros(image.shape)
    for dx in range(-n, n + 1):
        for dy in range(-n, n + 1):
            total += np.roll(image, [dy, dx], axis=[0, 1]) * np.exp(-(dx * dx + dy * dy) / 9.0)
            total += np.roll(image, (dx, dy), axis=0)
    return total


def of_what_changes(x, steps):
    total = 0.0
    for k in range(len(steps)):
        x = np.roll(x, steps[k])
        total += x[0] * k
        x[k % len(x)] += 1
    return x, total


def of_all_elements(table, n):
    total = np.zeros_like(table)
    for k in range(n):
        total += np.roll(table, k * 3) + np.roll(table, -k, -1)
    return total


def _outcome(function, args):
    try:
        with np.errstate(all="ignore"):
            return function(*args)
    except (ArithmeticError, np.exceptions.AxisError) as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("numbers_of_the_call", [(100, 0.7), (100, -0.3), (70, 0.0), (1, 2.5), (0, 1.5)])
@pytest.mark.parametrize("function", [divided, quotients, powers, whole_powers, numbers, by_zero, power_of_zero])
def test_arithmetic(function, numbers_of_the_call) -> None:
    args = (X, *numbers_of_the_call)
    compiled, expected = tilewright.jit(function, strict="kernels"), _outcome(function, args)
    for _ in range(2):
        assert agree(_outcome(compiled, args), expected, bits=False)


def test_a_whole_power_of_a_negative_number_is_in_the_kernel() -> None:
    check(whole_powers, X, 20, 0.7, bits=False)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (autocorrelation, (RNG.random(101), 120)),
        (autocorrelation, (RNG.random(1), 120)),
        (autocorrelation, (np.zeros(0), 120)),
        (of_two_axes, (RNG.random((9, 7, 3)), 4)),
        (of_two_axes, (RNG.random((5, 1)), 40)),
        (of_what_changes, (RNG.random(50), RNG.integers(-200, 200, 90))),
        (of_what_changes, (RNG.random(3), RNG.integers(-9, 9, 90).astype(np.int8))),
        (of_all_elements, (RNG.random((6, 5)), 80)),
        (of_all_elements, (np.zeros((0, 5)), 80)),
        (of_all_elements, (np.float64(1.5) + np.zeros(()), 80)),
    ],
)
def test_rolls(function, args) -> None:
    compiled = tilewright.jit(function, strict=function is not of_all_elements or args[0].ndim > 0)
    expected = _outcome(function, [np.copy(one) if isinstance(one, np.ndarray) else one for one in args])
    for _ in range(2):
        given = [np.copy(one) if isinstance(one, np.ndarray) else one for one in args]
        assert agree(_outcome(compiled, given), expected, bits=False)
