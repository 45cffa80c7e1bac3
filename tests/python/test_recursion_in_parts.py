"""Functions that call themselves until data end it: Python runs the call that came to them first, whole."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import tilewright
from strictly import agree

pytestmark = pytest.mark.compile

STEPS = np.array([(2, 1), (1, 2), (-1, 2), (-2, 1), (-2, -1), (-1, -2), (1, -2), (2, -1)])


def free_moves(board: Any, place: Any) -> Any:
    targets = place + STEPS
    targets = targets[np.all((targets >= 0) & (targets < len(board)), axis=1)]
    return targets[board[targets[:, 0], targets[:, 1]] == 0]


def goes_on(board: Any, place: Any, step: int) -> bool:
    if step > board.size:
        return True
    options = free_moves(board, place)
    degrees = [len(free_moves(board, one)) for one in options]
    for k in np.argsort(degrees, kind="stable"):
        r, c = options[k]
        board[r, c] = step
        if goes_on(board, options[k], step + 1):
            return True
        board[r, c] = 0
    return False


def tours(n: int) -> Any:
    board = np.zeros((n, n), dtype=int)
    board[0, 0] = 1
    ends = [start for start in (3, 1) if goes_on(np.ones((start, start), dtype=int), np.array((0, 0)), start * start)]
    return board, goes_on(board, np.array((0, 0)), 2), ends


def test_a_search_with_loops_is_traced_in_no_time() -> None:
    compiled = tilewright.jit(tours, strict=True)
    for n in (5, 5, 5, 5, 1):
        begun = time.process_time()
        assert agree(compiled(n), tours(n))
        assert time.process_time() - begun < 5  # a trace that follows three levels of it takes that long


def halved(x: Any) -> Any:
    return x if x.sum() < 1 else helped(x / 2)


def helped(x: Any) -> Any:
    return halved(x) + 1


def by_turns(x: Any) -> Any:
    y = x * 2
    return halved(y) - 1, y


def itself(x: Any) -> Any:
    return x if x.sum() < 1 else itself(x / 2) + 1


@pytest.mark.parametrize("function", [by_turns, itself])
def test_functions_that_call_each_other(function: Any) -> None:
    compiled = tilewright.jit(function, strict=True)
    for factor in (1.0, 4.0, 4.0, 4.0, 0.01, 0.01):
        x = np.arange(1.0, 6.0) * factor
        assert agree(compiled(x), function(x))
