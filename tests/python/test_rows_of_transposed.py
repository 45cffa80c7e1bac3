"""Rows and elements of a transposed array are read and written where they lie, without a transposed copy of all of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright.trace import trace

pytestmark = pytest.mark.fast
A = np.arange(12.0).reshape(3, 4)
CUBE = np.arange(24.0).reshape(2, 3, 4)


def columns_by_rows(a: Any) -> Any:
    b = a.copy().T
    for row in range(len(b)):
        d = b[row]
        for q in range(1, len(d)):
            d[q] = d[q - 1] * 0.5 + d[q]
    return b


def several_steps(a: Any) -> Any:
    b = a.copy()
    t = b.T
    t[-1][0] = -1.0
    t[1:3][::-1] = t[0]
    t[0, 1:] += t[1, :-1]
    return b, t, t[2]


def an_argument(a: Any) -> Any:
    for i in range(a.shape[1]):
        a.T[i, 0] = a.T[i - 1, 1] + i
    return a.T[0]


def of_three_axes(a: Any) -> Any:
    b = a.copy()
    t = b.transpose(2, 0, 1)
    t[1] = 7.0  # axes in order
    s = b.transpose(2, 1, 0)
    s[0] += s[3]  # and in another one
    s[1][2, 1] = -3.0
    return b, t[2, 1], s[2]


CASES = [(columns_by_rows, A), (several_steps, A), (an_argument, A), (of_three_axes, CUBE),
         (columns_by_rows, A[:1]), (columns_by_rows, A[:, :1]), (columns_by_rows, A[:, :0])]  # fmt: skip


@pytest.mark.parametrize(("function", "array"), CASES)
def test_results_are_numpys(function: Callable[..., Any], array: Any) -> None:
    mine, theirs = array.copy(), array.copy()
    given, expected = tilewright.jit(function, strict=True)(mine), function(theirs)
    np.testing.assert_array_equal(mine, theirs)
    for one, other in zip(*[r if isinstance(r, tuple) else (r,) for r in (given, expected)], strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_loop_over_rows_of_it_makes_no_copy() -> None:
    loop = trace(columns_by_rows, (A,), {}).program_text.partition("= for ")[2].rpartition("\n}")[0]
    assert "update(" in loop
    assert "transpose" not in loop
