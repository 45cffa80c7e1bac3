"""Calls that are too long to be followed, under strict: Python's, where loops or functions in them are compiled by themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.fast
GRAPH = [[(k * 7 + step) % 600 for step in range(1, 3 + k % 13)] for k in range(600)]


def degrees(graph: Any, x: Any) -> Any:
    out = np.zeros(len(graph))
    for node, neighbours in enumerate(graph):
        for other in neighbours:
            out[node] += x[other]
    return out


def nothing_inside(graph: Any, x: Any) -> Any:
    return np.array(graph[0]) + x[0]


def test_nested_lists_of_thousands_of_numbers_are_no_refusal() -> None:
    x = np.arange(600.0)
    compiled = tilewright.jit(degrees, strict=True)
    for shift in range(4):
        graph = [[(one + shift) % 600 for one in row] for row in GRAPH]
        np.testing.assert_array_equal(compiled(graph, x), degrees(graph, x))
    assert "operations were traced" in compiled.explain(source=False)
    with pytest.raises(IndexError):
        compiled([[*GRAPH[0], 600], *GRAPH[1:]], x)


def test_without_anything_to_compile_they_are_refused() -> None:
    with pytest.raises(tilewright.TraceError, match="operations were traced"):
        tilewright.jit(nothing_inside, strict=True)(GRAPH, np.arange(3.0))


def test_kernels_alone_refuse_them() -> None:
    with pytest.raises(tilewright.TraceError, match="operations were traced"):
        tilewright.jit(degrees, strict="kernels")(GRAPH, np.arange(600.0))
