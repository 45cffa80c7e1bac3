"""Variables that only a while sets, read behind it: a check says that it had an iteration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.fast
A = np.array([[4.0, 1.0], [1.0, 3.0]])


def power_iteration(a: Any, v: Any, tol: Any, most: int = 100) -> Any:
    converged, previous, iterations = False, 0, 0
    while not converged:
        w = a @ v
        v = w / np.linalg.norm(w)
        value = v @ (a @ v)
        error = np.abs(value - previous) / value
        iterations += 1
        if error <= tol or iterations >= most:
            converged = True
        previous = value
    return float(value), v, error, iterations


def until_small(a: Any, v: Any, tol: Any) -> Any:
    x = v.sum()
    while x > tol:
        x = x * 0.5
        last = x + 1.0
        parts = v * x
    return last, parts, x


def in_a_loop(a: Any, v: Any, tol: Any) -> Any:
    out = np.zeros(3)
    for i in range(3):
        x = v.sum() + i
        while x > tol:
            x = x * 0.5
            last = x
        out[i] = last
    return out


def with_a_break(a: Any, v: Any, tol: Any) -> Any:
    x = v.sum()
    while x > tol:
        x = x * 0.5
        last = x
        if x < 0.75:
            break
    return last + 1.0


@pytest.mark.parametrize("function", [power_iteration, until_small, in_a_loop, with_a_break])
@pytest.mark.parametrize("tol", [1e-3, 0.4])
def test_results_are_pythons(function: Callable[..., Any], tol: float) -> None:
    compiled = tilewright.jit(function, strict=True)
    for v in (np.array([1.0, 0.5]), np.array([3.0, 4.0])):
        given, expected = compiled(A, v, tol), function(A, v, tol)
        pairs = zip(given, expected, strict=True) if isinstance(expected, tuple) else [(given, expected)]
        for one, other in pairs:
            assert type(one) is type(other)
            np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("function", [until_small, in_a_loop, with_a_break])
def test_of_no_iteration_it_is_pythons_error(function: Callable[..., Any]) -> None:
    compiled = tilewright.jit(function, strict=True)
    compiled(A, np.array([1.0, 0.5]), 0.4)
    with pytest.raises(UnboundLocalError, match="last"):
        compiled(A, np.array([-9.0, 0.5]), 0.4)
    with pytest.raises(UnboundLocalError, match="last"):
        compiled(A, np.array([np.nan, 0.5]), 0.4)
