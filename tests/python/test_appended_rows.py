"""Lists to which rows of numbers are appended, and of which nothing but an array is made."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.fast
X = np.linspace(-2.0, 3.0, 90)
X[4], X[7] = np.nan, -0.0


def orbit(x: Any) -> Any:
    points = []
    a, b = 0.0, 1.0
    for v in x:
        a, b = a + v * 0.1, b * 0.9 + v
        points.append((a, b))
    return np.array(points)


def of_several_types(x: Any) -> Any:
    rows = [[0, 0.0, 1]]
    for i, v in enumerate(x):
        if v > 0:
            rows.append([i, v, 2])
    return np.asarray(rows), len(x)


def of_arrays(x: Any) -> Any:
    p = np.zeros(2)
    path = [p.copy()]
    for v in x:
        p += np.array([math.cos(v), math.sin(v)])
        path.append(p.copy())
    return np.array(path)


def in_two_loops(x: Any) -> Any:
    out = []
    for v in x[:5]:
        for w in x[:7]:
            out.append((v, w, 1))
    return np.array(out)


def the_same_array(x: Any) -> Any:
    """All items of Python's list are one array."""
    p = np.zeros(2)
    path = [p]
    for v in x:
        p += v
        path.append(p)
    return np.array(path)


def named_rows(x: Any) -> Any:
    out = []
    row = [0, 0.0]
    for v in x:
        row[1] = v
        out.append(row)
    return np.array(out)


@pytest.mark.parametrize("function", [orbit, of_several_types, of_arrays, in_two_loops, the_same_array, named_rows])
def test_results_are_numpys(function: Callable[..., Any]) -> None:
    compiled = tilewright.jit(function, strict=function not in (the_same_array, named_rows))
    for x in (X, X[::-1].copy(), X[:20], X[:70]):
        for _ in range(2):
            given, expected = compiled(x.copy()), function(x.copy())
            if isinstance(expected, tuple):
                assert given[1:] == expected[1:]
                given, expected = given[0], expected[0]
            assert given.dtype == expected.dtype
            assert given.shape == expected.shape
            np.testing.assert_allclose(given, expected, rtol=1e-13)
    if function in (orbit, of_several_types, in_two_loops):
        assert ".append(" not in compiled.explain(source=False)


@pytest.mark.parametrize("function", [orbit, in_two_loops])
def test_of_no_rows_the_array_is_numpys(function: Callable[..., Any]) -> None:
    compiled = tilewright.jit(function)
    compiled(X)
    given, expected = compiled(X[:0]), function(X[:0])
    assert (given.dtype, given.shape) == (expected.dtype, expected.shape)


def seen_otherwise(x: Any) -> Any:
    points = []
    for v in x:
        points.append((v, 1))
    return np.array(points), points[0], len(points)


def test_a_list_that_is_seen_keeps_its_tuples() -> None:
    compiled = tilewright.jit(seen_otherwise)
    for _ in range(4):
        given, expected = compiled(X), seen_otherwise(X)
        assert type(given[1]) is tuple
        assert given[1:] == expected[1:]
        np.testing.assert_array_equal(given[0], expected[0])
