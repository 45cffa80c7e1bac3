"""`np.array([[1, t, t**2] for t in x])`: rows of numbers of several types, of which an array is made at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.fast
X = np.linspace(-2.0, 3.0, 80)
X[3], X[5] = np.nan, -0.0


def powers(x: Any) -> Any:
    return np.array([[1, t, t**2] for t in x])


def places(x: Any) -> Any:
    return np.asarray([(t, i) for i, t in enumerate(x)])


def integers_and_truths(x: Any) -> Any:
    return np.array([[1, i, True] for i in range(len(x))])


def matrices(x: Any) -> Any:
    return np.array([[[t, 1], [0, -t]] for t in x])


def narrow(x: Any) -> Any:
    return np.array([[np.float32(t), 1] for t in x]) @ np.array([1.0, 2.0])


def either(x: Any) -> Any:
    return np.array([[t if t > 0 else 0.0, 1] for t in x])


def of_python_alone(x: Any) -> Any:
    return np.array([[1.0, math.exp(-abs(t)), float(t)] for t in x])


FUNCTIONS = [powers, places, integers_and_truths, matrices, narrow, either, of_python_alone]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_results_are_numpys(function: Callable[..., Any]) -> None:
    compiled = tilewright.jit(function, strict=True)
    for x in (X, X[::-1].copy(), X[:70], X[:1]):
        given, expected = compiled(x), function(x)
        assert given.dtype == expected.dtype
        assert given.shape == expected.shape
        np.testing.assert_allclose(given, expected, rtol=1e-14)
        np.testing.assert_array_equal(np.signbit(given)[given == 0], np.signbit(expected)[expected == 0])
    assert "NumPy computes it" not in compiled.explain(source=False)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_of_no_rows_the_array_is_numpys(function: Callable[..., Any]) -> None:
    if function is narrow:
        pytest.skip("a product of no rows is an error")
    compiled = tilewright.jit(function)
    compiled(X)
    given, expected = compiled(X[:0]), function(X[:0])
    assert (given.dtype, given.shape) == (expected.dtype, expected.shape)


def the_list(x: Any) -> Any:
    return [[1, t] for t in x]


def with_a_dtype(x: Any) -> Any:
    return np.array([[1, t] for t in x], dtype=np.float32)


def ragged(x: Any) -> Any:
    return np.array([[1, t] if i else [t] for i, t in enumerate(x)])


def test_other_uses_are_as_they_were() -> None:
    assert repr(tilewright.jit(the_list)(X)) == repr(the_list(X))
    np.testing.assert_array_equal(tilewright.jit(with_a_dtype)(X), with_a_dtype(X))
    with pytest.raises(ValueError, match="inhomogeneous"):
        tilewright.jit(ragged)(X)
