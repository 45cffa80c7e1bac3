"""np.unravel_index and np.ravel_multi_index as kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.fast
A = np.array([[3.0, np.nan, 1.0, 2.0], [0.5, -0.0, 9.0, 7.0], [1.0, 8.0, 4.0, 6.0]])


def where_largest(a: Any) -> Any:
    i, j = np.unravel_index(np.argmax(a), a.shape)
    return i, j, a[i, j]


def back_and_forth(a: Any) -> Any:
    order = np.argsort(-a, axis=None)
    rows, columns = np.unravel_index(order, a.shape)
    return rows, columns, np.ravel_multi_index((rows, columns), a.shape)


def in_a_loop(a: Any) -> Any:
    total = np.zeros(a.shape)
    for flat in np.argsort(a, axis=None):
        i, j = np.unravel_index(flat, a.shape)
        total[i, j] += total[i - 1, j] + 1
    return total


def other_kinds(a: Any) -> Any:
    k = int(a[1, 2])
    return np.unravel_index(k, (2, 3, 4)), np.unravel_index(np.uint8(k), (10,)), np.ravel_multi_index(
        (k % 2, np.arange(3)[:, None], np.arange(4)), (2, 3, 4)
    )  # fmt: skip


def flatten(value: Any) -> list[Any]:
    return [part for one in value for part in flatten(one)] if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("function", [where_largest, back_and_forth, in_a_loop, other_kinds])
@pytest.mark.parametrize("array", [A, np.full((2, 3), 5.0), np.array([[1.0]])], ids=["A", "fives", "one"])
def test_results_are_numpys(function: Callable[..., Any], array: Any) -> None:
    if function is other_kinds and array.shape != A.shape:
        pytest.skip("one shape is enough")
    compiled = tilewright.jit(function, strict=True)
    for one, other in zip(flatten(compiled(array)), flatten(function(array)), strict=True):
        assert type(one) is type(other)
        np.testing.assert_array_equal(one, other)
        assert np.asarray(one).dtype == np.asarray(other).dtype
    assert "unravel_index(" not in compiled.explain(source=False)


def unravelled(k: Any, a: Any) -> Any:
    return np.unravel_index(k[0], a.shape)


def ravelled(k: Any, a: Any) -> Any:
    return np.ravel_multi_index((k[0], k[1]), a.shape)


@pytest.mark.parametrize("function", [unravelled, ravelled])
@pytest.mark.parametrize("bad", [-1, 12])
def test_positions_outside_are_numpys_error(function: Callable[..., Any], bad: int) -> None:
    compiled = tilewright.jit(function, strict=True)
    compiled(np.array([1, 2]), A)
    with pytest.raises(ValueError) as theirs:  # noqa: PT011
        function(np.array([bad, 0]), A)
    with pytest.raises(ValueError) as mine:  # noqa: PT011
        compiled(np.array([bad, 0]), A)
    assert str(mine.value) == str(theirs.value)


def test_of_no_elements_numpy_says_so() -> None:
    with pytest.raises(ValueError, match="out of bounds"):
        tilewright.jit(unravelled)(np.array([0, 0]), np.zeros((0, 3)))
