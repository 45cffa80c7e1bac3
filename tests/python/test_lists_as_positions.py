"""Lists as positions of arrays, and ufunc.at in loops, where a stage would be handed copies each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.fast
P = np.array([[0.5, np.nan], [-0.0, 2.0], [3.0, 1e300], [4.0, -5.0]])
LONG = [(k * 7 + 1) % 4 - 4 * (k % 3 == 0) for k in range(90)]  # some from the end


def springs(p: Any, ci: Any, cj: Any) -> Any:
    acc = np.zeros(p.shape)
    for _ in range(5):
        d = p[ci] - p[cj]
        acc = np.zeros(p.shape)
        np.add.at(acc[:, 0], ci, -1.5 * d[:, 0])
        np.subtract.at(acc, cj, d)
        np.maximum.at(acc, (ci, 1), 0.25)
        p = p + 0.01 * acc
    return p, acc


def parts(p: Any, ci: Any, cj: Any) -> Any:
    q = p.copy()
    q[ci, 0] = 7.0
    q[cj] *= 2.0
    return q, p[ci, :], p[:, 1][cj], q[[k % 2 for k in ci]]


def few_positions(p: Any, ci: Any, cj: Any) -> Any:
    out = np.zeros(4)
    np.add.at(out, ci, 1.0)
    np.add.at(out, cj, np.arange(float(len(cj))))
    return out


LISTS = {"long": (LONG, LONG[::-1]), "short": ([0, 1, 1, -1], [3, 3, 0, 2]), "one": ([2], [-2]),
         "arrays": (np.array(LONG), np.array(LONG[::-1]))}  # fmt: skip


@pytest.mark.parametrize("function", [springs, parts, few_positions])
@pytest.mark.parametrize("which", LISTS)
def test_results_are_numpys(function: Callable[..., Any], which: str) -> None:
    compiled = tilewright.jit(function, strict=True)
    for _ in range(2):
        given, expected = compiled(P.copy(), *LISTS[which]), function(P.copy(), *LISTS[which])
        for one, other in (
            zip(np.atleast_1d(given), np.atleast_1d(expected), strict=True)
            if function is few_positions
            else zip(given, expected, strict=True)
        ):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("which", ["long", "arrays"])
def test_at_in_a_loop_is_no_stage(which: str) -> None:
    compiled = tilewright.jit(springs, strict=True)
    compiled(P.copy(), *LISTS[which])
    assert "numpy.add.at(" not in compiled.explain(source=False)


@pytest.mark.parametrize("function", [springs, parts, few_positions])
def test_a_position_outside_is_numpys_error(function: Callable[..., Any]) -> None:
    compiled = tilewright.jit(function, strict=True)
    compiled(P.copy(), LONG, LONG)
    for bad in (4, -5):
        with pytest.raises(IndexError) as theirs:
            function(P.copy(), [*LONG, bad], LONG + [0])
        with pytest.raises(IndexError) as mine:
            compiled(P.copy(), [*LONG, bad], LONG + [0])
        assert str(mine.value) == str(theirs.value)


def test_another_list_is_no_other_program() -> None:
    compiled = tilewright.jit(springs, strict=True)
    for shift in range(3):
        lists = [(k + shift) % 4 for k in LONG], LONG[::-1]
        for one, other in zip(compiled(P.copy(), *lists), springs(P.copy(), *lists), strict=True):
            np.testing.assert_array_equal(one, other)
    assert compiled.explain(source=False).count("springs(p: ") == 1


def pairs_of_data(x: Any, table: Any) -> Any:
    chosen = x[x >= 0].astype(int) % 4
    counts = np.zeros((4, 4), dtype=int)
    np.add.at(counts, (chosen[:-1], chosen[1:]), 1)
    np.add.at(table, (chosen[:-1], chosen[1:]), 1.0)
    single = np.zeros(4)
    np.add.at(single, chosen, 0.5)
    return counts, single


def test_positions_whose_number_data_decide() -> None:
    compiled = tilewright.jit(pairs_of_data, strict=True)
    for x in (np.arange(-5.0, 30.0) * 1.3, np.array([1.0]), np.array([-1.0, -2.0])):
        mine, theirs = np.zeros((4, 4)), np.zeros((4, 4))
        for one, other in zip(compiled(x, mine), pairs_of_data(x, theirs), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(mine, theirs)
