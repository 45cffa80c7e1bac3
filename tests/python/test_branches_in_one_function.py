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


class Filter:
    """A gate and a missing measurement leave attributes as they were."""

    def __init__(self, n=3):
        self.x = np.zeros(n)
        self.p = np.eye(n) * 2
        self.gain = np.zeros((n, n))
        self.seen = 0

    def update(self, z, gate=None):
        if np.isnan(z).any():
            return False
        y = z - self.x
        d = y @ y
        if gate is not None and d > gate:
            return False
        self.gain = self.p * 0.5
        self.x = self.x + self.gain @ y
        self.p = self.p - self.gain @ self.p * 0.25
        self.seen += 1
        return True


@pytest.mark.parametrize("first", ["nan", "gated", "taken"])
@pytest.mark.parametrize("gate", [None, 4.0])
def test_early_returns_leave_attributes_the_very_objects_that_they_were(first, gate):
    compiled = tilewright.jit(Filter.update)
    ours, theirs = Filter(), Filter()
    kinds = [first, *["taken", "nan", "taken", "gated", "taken", "taken"] * 5]
    for k, kind in enumerate(kinds):
        z = np.full(3, np.nan if kind == "nan" else 50.0 * (k + 1) if kind == "gated" else theirs.x[0] + 0.1)
        held = ours.x, ours.p, ours.gain
        assert compiled(ours, z, gate) is Filter.update(theirs, z, gate)
        changed = kind == "taken" or (kind == "gated" and gate is None)
        assert [one is other for one, other in zip(held, (ours.x, ours.p, ours.gain), strict=True)] == [not changed] * 3
        assert ours.seen == theirs.seen and np.array_equal(ours.x, theirs.x) and np.array_equal(ours.p, theirs.p)
    missed = compiled.misses
    for _ in range(5):
        compiled(ours, ours.x + 0.1, gate)
    assert compiled.misses == missed and any(one.versions for one in compiled.specializations)


def chosen_twice(a, b, x):
    if x[0] > 0:
        if x[1] > 0:
            return a
        return b * 2
    if x[1] > 0:
        return b
    return a + b


def squared_where(a, x):
    if x.sum() > 0:
        x = a @ x
    return x


def test_which_array_nested_branches_give():
    compiled = tilewright.jit(chosen_twice)
    a, b = np.arange(3.0), np.ones(3)
    for _ in range(6):
        for signs in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            x = np.array(signs, float)
            got, wanted = compiled(a, b, x), chosen_twice(a, b, x)
            assert np.array_equal(got, wanted)
            assert [got is one for one in (a, b)] == [wanted is one for one in (a, b)]


def test_both_ways_leave_one_shape_under_a_guard():
    compiled = tilewright.jit(squared_where, strict=True)
    rng = np.random.default_rng(0)
    for rows, columns in ((3, 3), (5, 5), (4, 3), (3, 4), (3, 3)):
        for sign in (1, -1):
            a, x = rng.random((rows, columns)), sign * rng.random(columns)
            np.testing.assert_allclose(compiled(a, x), squared_where(a, x), rtol=1e-14)
