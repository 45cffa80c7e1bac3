"""Breaks on data in loops that are unrolled, operators of objects that a function makes, math of numbers of the run, lists
of tuples that a loop fills."""

from __future__ import annotations

import math

import numpy as np
import pytest
import tilewright
from test_early_ends import breaks_out_of_a_list

pytestmark = pytest.mark.compile


class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __rmul__(self, factor):
        return Vector(self.x * factor, self.y * factor)

    def __neg__(self):
        return Vector(-self.x, -self.y)

    def __getitem__(self, k):
        return (self.x, self.y)[k]

    def __len__(self):
        return 2

    def __lt__(self, other):
        return self.x < other.x


def winner(board):
    for player in (1, -1):
        if (board.sum(axis=0) == 3 * player).any() or np.trace(board) == 3 * player:
            return player
    return 0


def first_limit(x):
    total = 0.0
    for k, limit in enumerate([0.5, 1.0, 2.0]):
        if x.sum() < limit:
            break
        if x[0] > limit:
            continue
        total += k + 1.0
    else:
        total = -1.0
    return total, k


def vectors(x):
    a, b = Vector(x[0], x[1]), Vector(x[1], x[2])
    c = -(2.0 * a + b)
    c += a
    return c[0], c.y, len(c), a < b


def mathematics(x):
    out = np.zeros(6)
    out[0] = math.log(x[0]) + math.sqrt(x[1]) + math.erf(x[2])
    out[1] = math.atan2(x[0], x[1]) + math.log(x[0], 3)
    out[2] = round(x[2] * 10) + math.floor(-x[0] * 7) + math.ceil(x[1] * 3)
    return out, math.isnan(x[0])


def path(x):
    i, j = len(x), 0
    found = [(0, 0)]
    while i > 0:
        if x[i - 1] > 0.5:
            j += 1
        i -= 1
        found.append((i, j))
    found.reverse()
    return np.array(found), found


def stacked(x):
    stack = [(0, 1.0)]
    total = 0.0
    while stack:
        k, weight = stack.pop()
        total += weight * x[k]
        if 2 * k + 2 < len(x) and x[k] > 0.3:
            stack.append((2 * k + 1, weight * 0.5))
            stack.append((2 * k + 2, weight * 0.25))
    return total


BOARDS = [np.eye(3, dtype=int), -np.eye(3, dtype=int), np.zeros((3, 3), int)]
VALUES = [np.array([0.1, 0.3, 0.05]), np.array([0.6, 0.2, 0.1]), np.array([0.4, 1.1, 0.7]), np.array([2.5, 1.1, 0.7])]
LONG = [np.random.default_rng(k).random(101) for k in range(2)]


@pytest.mark.parametrize(
    ("function", "calls"),
    [(winner, BOARDS), (first_limit, VALUES), (breaks_out_of_a_list, VALUES), (vectors, VALUES), (mathematics, VALUES),
     (path, LONG), (stacked, LONG)],
)  # fmt: skip
def test_as_python_does_it(function, calls) -> None:
    compiled = tilewright.jit(function, strict=True)
    for argument in calls:
        expected, got = function(argument.copy()), compiled(argument.copy())
        assert type(got) is type(expected)
        items = zip(expected, got, strict=True) if isinstance(expected, tuple) else [(expected, got)]
        for one, other in items:
            assert type(other) is type(one)
            np.testing.assert_allclose(other, one, rtol=1e-12)


def test_what_python_raises_is_raised() -> None:
    compiled = tilewright.jit(mathematics, strict=True)
    compiled(VALUES[0])
    with pytest.raises(ValueError, match="math domain|positive"):
        compiled(-VALUES[0])
