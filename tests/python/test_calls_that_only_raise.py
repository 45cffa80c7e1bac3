"""Calls in branches on data whose results nobody uses raise what they raise in Python."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile


def of_a_constant(a):
    if a[0] > 1:
        np.linalg.inv(np.zeros((2, 2)))
    return a * 2


def of_elements(a):
    if a[0] > 1:
        np.linalg.inv(a[:4].reshape(2, 2) * 0)
    return a * 2


def assigned(a):
    b = np.linalg.inv(a[:4].reshape(2, 2) * 0) if a[0] > 1 else a[:4].reshape(2, 2)  # noqa: F841
    return a * 2


def in_a_loop(a):
    for i in range(3):
        if a[i] > 1:
            np.linalg.inv(np.zeros((2, 2)))
    return a * 2


def deeper(a):
    total = 0.0
    for i in range(3):
        if a[i] > 0:
            total += a[i]
            if a[i] > 1:
                np.linalg.solve(np.zeros((2, 2)), a[:2])
    return a * 2, total


def otherwise(a):
    if a[0] < 1:
        pass
    else:
        np.histogram(a, bins=[3, 2, 1])
    return a * 2


def assigned_in_a_loop(a):
    found = a[:2] * 1
    for i in range(3):
        found = np.linalg.solve(np.eye(2) * (2 - a[i]), a[:2])  # noqa: F841
    return a * 2


@pytest.mark.parametrize(
    "function", [of_a_constant, of_elements, assigned, in_a_loop, deeper, otherwise, assigned_in_a_loop], ids=lambda f: f.__name__
)  # fmt: skip
@pytest.mark.parametrize("first", [0.5, 2.0])
def test_they_raise_what_they_raise(function, first):
    compiled = tilewright.jit(function, strict=True)

    def called(function, value):
        try:
            return repr(function(np.full(5, value)))
        except (ValueError, np.linalg.LinAlgError) as error:
            return repr(error)

    for value in (first, 2.5 - first, first, 2.0, 0.5):
        assert called(compiled, value) == called(function, value)
