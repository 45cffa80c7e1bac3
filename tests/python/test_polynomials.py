"""np.poly1d objects that the function makes, of plain coefficients and of arrays, and np.trim_zeros."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from strictly import check

pytestmark = pytest.mark.compile

X = np.arange(6.0)
C = np.array([1.0, 2.0, 4.0])


def value_and_slope(x):
    p = np.poly1d([1.0, 2.0, 3.0])
    return p(x) + p.deriv()(x)


def integral(x):
    return np.poly1d([1.0, 2.0, 3.0]).integ(2)(x)


def arithmetic(x):
    p = np.poly1d([1.0, 2.0, 3.0])
    return (p * p + p - 2)(x)


def asked(x):
    p = np.poly1d([1.0, 2.0, 3.0])
    return np.polyval(p, x), p[1], p.order, p.coeffs, p.roots.sum()


def of_roots(x):
    p = np.poly1d([2, 3], True)
    return x * p(2.0), p(x[0]), x + p(3)


def newton(x):
    p = np.poly1d([1.0, 0.0, -2.0])
    slope, s = p.deriv(), 0.0
    for k in range(1, len(x)):
        s += x[k] - p(x[k]) / slope(x[k])
    return s


@pytest.mark.parametrize(
    "function", [value_and_slope, integral, arithmetic, asked, of_roots, newton], ids=lambda function: function.__name__
)
def test_polynomials_of_plain_coefficients(function):
    check(function, X, bits=False)


class Doubled(np.poly1d):
    def __call__(self, x):
        return 2 * super().__call__(x)


def test_what_a_class_of_its_own_says():
    doubled = Doubled([1.0, 2.0])

    def of_its_own(x):
        return doubled(x) + 1

    compiled = tilewright.jit(of_its_own)
    for _ in range(2):
        assert np.array_equal(compiled(X), of_its_own(X))


def fitted(x, y):
    p = np.poly1d(np.polyfit(x, y, 2))
    return p(x), p.c


def given(x, c):
    p = np.poly1d(c)
    return p(x * 2)


def test_polynomials_of_arrays():
    check(fitted, X, np.sin(X), bits=False)
    for c in (C, C * 0, C[:1], np.array([0.0, 0.0, 5.0])):
        check(given, X, c)


def trimmed(x):
    return np.trim_zeros(x), x + 1


def in_front(x):
    return np.trim_zeros(x, "F") * 2


def behind(x):
    return np.trim_zeros(x, "b"), x + 1


def written(x):
    part = np.trim_zeros(x)
    part[...] = 7
    return part.size, x * 2


@pytest.mark.parametrize("function", [trimmed, in_front, behind, written], ids=lambda function: function.__name__)
@pytest.mark.parametrize(
    "x",
    [
        np.array([0, 0, 1.0, 2, 0, 3, 0]), np.zeros(3), np.array([1.0, 2]), np.zeros(1), np.zeros(0, int),
        np.array([0, np.nan, -0.0]), np.array([0, 3, 0]), np.array([0, 3j, 0]), np.array([False, True]),
    ],
    ids=lambda x: f"{x.dtype}{x.size}",
)  # fmt: skip
def test_zeros_at_the_ends(function, x):
    check(function, x)


def test_what_is_trimmed_is_a_view():
    compiled = tilewright.jit(trimmed, strict=True)
    x = np.array([0.0, 1, 2, 0])
    for _ in range(2):
        compiled(x)[0][0] += 1
    assert x[1] == 3


CURVE = np.poly1d([1.0, 2.0])


def on_the_curve(x):
    return x * CURVE(2.0)


def test_a_polynomial_from_outside_is_what_it_is_at_the_call(monkeypatch):
    compiled, x = tilewright.jit(on_the_curve, strict=True), np.arange(3.0)
    for coefficients in ([1.0, 2.0], [1.0, 5.0], [1.0, 2.0, 3.0]):
        monkeypatch.setitem(globals(), "CURVE", np.poly1d(coefficients))
        assert np.array_equal(compiled(x), on_the_curve(x))
    CURVE.coeffs[1] = 7.0
    assert np.array_equal(compiled(x), on_the_curve(x))
