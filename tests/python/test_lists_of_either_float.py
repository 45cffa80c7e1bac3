"""Lists whose items are floats or np.float64s as data decide: `out.append(b - a if b > a else 0.0)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.fast
X = np.array([0.5, -1.0, 2.0, 2.0, np.nan, 3.0, -0.0, 0.0, 7.0, -2.0, 1.0])


def gains(x: Any) -> Any:
    out = []
    for a, b in zip(x[:-1], x[1:], strict=False):
        out.append(b - a if b > a else 0.0)
    return np.array(out), np.mean(out), max(out)


def squares(x: Any) -> Any:
    return np.array([v * v if v > 0 else -1.0 for v in np.tile(x, 8)])


def read_again(x: Any) -> Any:
    out = []
    for i in range(len(x)):
        out.append(x[i] if x[i] > 0 else 0.0)
    total = 0.0
    for i in range(len(out)):
        total += out[i] * out[-1]
    return total + out[0]


def branches(x: Any) -> Any:
    out = []
    for v in x:
        if v > 1:
            out.append(v)
        elif v < -1:
            out.append(-1.0)
        else:
            out.append(0.0)
    return np.cumsum(out)


@pytest.mark.parametrize("function", [gains, squares, read_again, branches])
@pytest.mark.parametrize("x", [X, X[::-1], X[:2], np.full(5, -3.0)], ids=["all", "reversed", "two", "no gain"])
def test_they_lie_in_arrays(function: Callable[..., Any], x: Any) -> None:
    compiled = tilewright.jit(function, strict=True)
    for _ in range(3):
        given, expected = compiled(x.copy()), function(x.copy())
        pairs = zip(given, expected, strict=True) if isinstance(expected, tuple) else [(given, expected)]
        for one, other in pairs:
            assert np.asarray(one).dtype == np.asarray(other).dtype
            np.testing.assert_allclose(one, other, rtol=1e-14)
    assert ".append(" not in compiled.explain(source=False)


def the_list_itself(x: Any) -> Any:
    out = []
    for v in x:
        out.append(v if v > 0 else 0.0)
    return out


def types_of_items(x: Any) -> Any:
    out = []
    for v in x:
        out.append(v if v > 0 else 0.0)
    return [type(v).__name__ for v in out]


@pytest.mark.parametrize("function", [the_list_itself, types_of_items])
def test_whose_items_somebody_sees_they_are_pythons(function: Callable[..., Any]) -> None:
    compiled = tilewright.jit(function)
    for _ in range(4):
        given, expected = compiled(X), function(X)
        assert list(map(type, given)) == list(map(type, expected))
        assert repr(given) == repr(expected)


def links_of(n: int) -> Any:
    links = []
    for i in range(n):
        for j in range(n):
            if j + 1 < n:
                links.append((i * n + j, i * n + j + 1, 1.0))
            if i + 1 < n:
                links.append((i * n + j, i * n + j + n, np.sqrt(2.0)))
    return links


def pulled_by_a_loop_of_the_run(x: Any, n: int) -> Any:
    x, pinned = x.copy(), {0, n - 1}
    for a, b, rest in links_of(n):
        d = x[b] - x[a] - rest
        if a in pinned:
            x[b] -= d / 2
        elif b not in (n, n + 1):
            x[a] += d / 4
    return x


TABLE = [(k % 7, 0.5 if k % 3 else np.float64(0.25)) for k in range(100)]


def of_a_table(x: Any, _: int) -> Any:
    total = 0.0
    for k, w in TABLE:
        total += x[k] * w
    return total, [w for _, w in TABLE[:3]]


@pytest.mark.parametrize("function", [pulled_by_a_loop_of_the_run, of_a_table])
def test_tuples_of_either_float_are_gone_through_by_loops(function: Callable[..., Any]) -> None:
    compiled = tilewright.jit(function, strict=True)
    for n in (9, 9, 9, 6):
        x = np.random.default_rng(n).random(n * n)
        given, expected = compiled(x, n), function(x, n)
        np.testing.assert_allclose(np.hstack(given), np.hstack(expected), rtol=1e-12)
        assert repr(given[1:]) == repr(expected[1:])
    assert "lines_" not in compiled.explain(source=False)
