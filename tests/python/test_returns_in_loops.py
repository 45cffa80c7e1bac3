"""Returns in loops of what the loop leaves as it is, or changes in place: the caller's very array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile


def until_it_solves(a: Any, b: Any, x: Any, tol: Any) -> Any:
    while True:
        r = b - a @ x
        if np.abs(r).max() < tol:
            return x
        x += r / np.diag(a)


def where_they_are(a: Any, b: Any, x: Any, tol: Any) -> Any:
    for _ in range(40):
        for k in range(len(b)):
            r = b[k] - a[k] @ x
            if abs(r) > tol:
                x[k] += r / a[k, k]
            elif k == len(b) - 1:
                return x, b
    return x, b


def that_is_large(a: Any, b: Any, x: Any, tol: Any) -> Any:
    for row in a:
        if row.sum() > b.sum() + tol:
            return b
    return x


def or_none(a: Any, b: Any, x: Any, tol: Any) -> Any:
    for k in range(len(b)):
        if b[k] > tol:
            return a
    return None


def with_the_finally_of_a_try(a: Any, b: Any, x: Any, tol: Any) -> Any:
    for k in range(len(b)):
        try:
            if b[k] > tol:
                return b
        finally:
            b = x
    return a


@pytest.mark.parametrize(
    "function", [until_it_solves, where_they_are, that_is_large, or_none, with_the_finally_of_a_try]
)
def test_a_loop_returns_the_array_that_it_was_handed(function: Any) -> None:
    rng = np.random.default_rng(0)
    a, b = np.eye(6) * 5 + rng.normal(size=(6, 6)) * 0.3, rng.normal(size=6)
    jitted = tilewright.jit(function)
    for x0 in (np.zeros(6), np.linalg.solve(a, b), np.ones(6)):
        ours, plain = (a.copy(), b.copy(), x0.copy()), (a.copy(), b.copy(), x0.copy())
        given, wanted = jitted(*ours, 1e-9), function(*plain, 1e-9)
        given, wanted = (one if isinstance(one, tuple) else (one,) for one in (given, wanted))
        for one, other in zip(given, wanted, strict=True):
            assert [one is held for held in ours] == [other is held for held in plain]
        for one, other in zip(ours, plain, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("function", [until_it_solves, where_they_are])
def test_it_is_compiled(function: Any) -> None:
    a, b = np.eye(6) * 5, np.arange(6.0)
    jitted = tilewright.jit(function, strict=True)
    x = np.zeros(6)
    given = jitted(a, b, x, 1e-9)
    assert given is x or given[0] is x
    assert jitted.specializations
