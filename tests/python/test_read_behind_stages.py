"""What a loop leaves of stages whose sizes only the run knows, read behind it: Python runs the loop, the rest is compiled."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from strictly import check

pytestmark = pytest.mark.compile


def kept(x, limit):
    print(end="")  # not followed: what it gives has a size of the run
    return x[x > limit], x * limit


def the_last_of_a_loop(x, limits):
    total = 0.0
    for k in range(limits.shape[0]):
        found, scaled = kept(x, limits[k])
        total = total + scaled
    return found, total * 2


def the_last_of_one_with_a_break(x, limits):
    total = 0.0
    for k in range(limits.shape[0]):
        found, scaled = kept(x, limits[k])
        total = total + scaled
        if total[0] > 1:
            break
    return found + 1, total * 2


@pytest.mark.parametrize("function", [the_last_of_a_loop, the_last_of_one_with_a_break])
@pytest.mark.parametrize("limits", [[0.5], [0.2, 0.9, 0.7], [2.0, 3.0]])
def test_arrays_of_sizes_of_the_run_come_out_of_a_loop(function, limits):
    check(function, np.linspace(0, 1, 20), np.array(limits))


def test_a_loop_without_an_iteration_leaves_nothing():
    compiled = tilewright.jit(the_last_of_a_loop, strict=True)
    x = np.linspace(0, 1, 20)
    for _ in range(2):
        compiled(x, np.array([0.5, 0.2]))
    with pytest.raises(UnboundLocalError):
        compiled(x, np.array([]))


def states(x):
    print(end="")  # not followed: the size of what it gives is the run's
    return np.outer(x, x), x * 0.5


def stepped(x, count):
    matrix, state = states(x)
    path = np.zeros((count, len(state)))
    path[0] = state
    for i in range(1, count):
        path[i] = path[i - 1] @ matrix + x[0]
    return path * 2


def test_memory_is_made_for_the_sizes_that_a_stage_decides():
    """Not for the most that they may be."""
    compiled = check(stepped, np.array([0.1, 0.2, 0.3]), 100, bits=False)
    for count in (60, 100, 60):
        check(compiled, np.array([0.1, 0.2]), count, bits=False)
    checks = [line for one in compiled.specializations for line in one.traced.program_text.splitlines()]
    assert not any("2147483647" in line for line in checks)
