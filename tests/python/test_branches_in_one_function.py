"""Branches of little work are one function with the kernels around them: random functions of small arrays, which way each goes
by the data."""

from __future__ import annotations

import random

import numpy as np
import pytest
import tilewright
from from_text import function_of

pytestmark = pytest.mark.compile

NAMES = ("a", "b", "c")
CONDITIONS = (
    "m[1, 2] > s", "{0}.sum() > 1", "{0}[3] < m[1, 2]", "np.trace(m[:, :4]) > s", "({0} > -1).all() and m[0, 0] < 1",
    "s > 0 or {0}.max() > 1",
)  # fmt: skip
EXPRESSIONS = (
    "{0} + {1}", "{0} * 0.5", "np.minimum({0}, {1})", "{0} - m.sum()", "np.diagonal(m, 1)[:2].sum() + {0}",
    "np.where({0} > {1}, 1.5, {1})", "m[2, 3] + {0}",
)  # fmt: skip


def block(choices: random.Random, indent: str, depth: int) -> list[str]:
    def one() -> str:
        return choices.choice(NAMES)

    lines = []
    for _ in range(choices.randrange(1, 4)):
        kind = choices.randrange(8) if depth < 3 else choices.randrange(5)
        if kind < 2:
            lines.append(f"{indent}{one()} = {choices.choice(EXPRESSIONS).format(one(), one())}")
        elif kind == 2:
            lines.append(f"{indent}m[{choices.randrange(4)}, {choices.randrange(5)}] = {one()}[{choices.randrange(5)}]")
        elif kind == 3:
            lines.append(f"{indent}m[{choices.randrange(4)}] = {one()}")
        elif kind == 4:
            lines.append(f"{indent}s = s * 0.5 + {one()}.max()")
        else:
            lines += [
                f"{indent}if {choices.choice(CONDITIONS).format(one())}:",
                *block(choices, indent + "    ", depth + 1),
            ]
            if choices.random() < 0.6:
                lines += [f"{indent}else:", *block(choices, indent + "    ", depth + 1)]
    if depth and choices.random() < 0.15:
        lines.append(f"{indent}return a, b, c, s")
    return lines


@pytest.mark.parametrize("seed", range(8))
def test_each_way_gives_what_it_gives_in_numpy(seed):
    choices = random.Random(seed)
    lines = ["def f(x, m):", "    a, b, c, s = x * 1.0, x[::-1] + m[1], m[2] * x, m[0, 1]"]
    for _ in range(3):
        lines += block(choices, "    ", 0)
    function = function_of("\n".join([*lines, "    return a, b, c, s", ""]))
    compiled, rng = tilewright.jit(function), np.random.default_rng(seed)
    for k in range(8):
        x, m = rng.normal(size=5).round(2), rng.normal(size=(4, 5)).round(2)
        if k == 4:
            m[0, 0] = np.nan
        ours, theirs = m.copy(), m.copy()
        got, wanted = compiled(x, ours), function(x, theirs)
        for mine, other in zip((*got, ours), (*wanted, theirs), strict=True):
            assert type(mine) is type(other)
            np.testing.assert_allclose(mine, other, rtol=1e-13, atol=1e-13)


def judged(board):
    if board.sum(axis=1).max() > 3:
        return 1
    if (board * board).sum() > 9.0 and board.min() < 0:
        return 2 if np.trace(board) > 0 else 3
    return 0


def test_small_work_is_one_call_of_the_plan_and_large_work_is_not():
    small, large = (tilewright.jit(judged, strict="kernels") for _ in range(2))
    boards = [np.full((4, 4), 2.0), np.diag([3.0, 1.0, -1.0, 0.5]), np.diag([-3.0, 1.0, -1.0, 0.5]), np.zeros((4, 4))]
    for board in boards:
        assert small(board) == judged(board)
    steps = small.specializations[0].plan_text().splitlines()
    assert sum(line.lstrip().startswith("call ") for line in steps) == 1
    assert not any(line.lstrip().startswith("if ") for line in steps)
    board = np.random.default_rng(0).normal(size=(600, 600)) * 0.01
    assert large(board) == judged(board)
    assert any(line.startswith("if ") for line in large.specializations[0].plan_text().splitlines())
