"""Loops over np.ndindex, np.ndenumerate and itertools.product are loops inside of one another, which stay loops."""

from __future__ import annotations

import itertools
from itertools import product

import numpy as np
import pytest
import tilewright
from strictly import agree

pytestmark = pytest.mark.compile


def smallest_around(x):
    padded, out = np.pad(x, 2, mode="edge"), np.zeros_like(x)
    for i, j in np.ndindex(x.shape):
        out[i, j] = np.min(padded[i : i + 5, j : j + 5])
    return out


def read_behind(x):
    s = 0.0
    for i, j in np.ndindex(*x.shape):
        if x[i, j] < 0:
            continue
        s += x[i, j] * i - j
    return s, i, j


def by_one_index(x):
    y = x.copy()
    for index in np.ndindex(x.shape):
        y[index] *= sum(index)
    return y


def returns_early(x):
    for i, j in np.ndindex(x.shape):
        if x[i, j] > 1.5:
            return i, j
    return -1, -1


def breaks_and_forgets(x):
    n = 0
    for i, j in np.ndindex(x.shape):
        for k in range(3):
            if x[i, j] > k:
                break
            n += 1
        if x[i, j] > 2.0:
            n += 100
            break
    return n


def breaks_and_remembers(x):
    for index in np.ndindex(x.shape):
        if x[index] > 1.5:
            break
    return index


def with_items(x):
    y, total = x.copy(), 0.0
    for (i, j), v in np.ndenumerate(y):
        y[i, j] = v * 2 + total
        total += v
    return y, total


def peaks(x):
    n, m = x.shape
    out = []
    for i, j in product(range(1, n - 1), range(m)):
        if x[i, j] > x[i - 1, j] and x[i, j] > x[i + 1, j]:
            out.append(i * m + j)
    return out


def of_three_axes(x):
    out = np.zeros((3, *x.shape))
    for k, i, j in itertools.product(range(3), range(x.shape[0]), range(x.shape[1])):
        out[k, i, j] = x[i, j] ** k
    return out


def of_arrays(x):
    total = 0.0
    for a, b in product(x[0], x[:, 0]):
        total += a * b - a
    return total


def of_an_array_that_changes(x):
    total = 0.0
    for a, b in product(x[0], x[:, 0]):
        x[0, 0] += 1
        x[-1, 0] = a
        total += a * b
    return total


def around_a_few(x):
    total = 0.0
    for dy, dx in product((-1, 0, 1), (-1, 0, 1)):
        total += np.roll(x, (dy, dx), (0, 1))[-1, -1]
    return total


def sets_its_index(x):
    n = 0
    for i, j in np.ndindex(x.shape):
        i += 1  # noqa: PLW2901
        n += i * j
    return n


LEFT_TO_PYTHON = [breaks_and_remembers]


@pytest.mark.parametrize(
    "function",
    [
        smallest_around, read_behind, by_one_index, returns_early, breaks_and_forgets, breaks_and_remembers, with_items, peaks,
        of_three_axes, of_arrays, of_an_array_that_changes, around_a_few, sets_its_index,
    ],
)  # fmt: skip
def test_they_are_pythons(function) -> None:
    compiled = tilewright.jit(function, strict=True)
    for shape in ((20, 30), (20, 30), (3, 4), (1, 70), (70, 1), (0, 5), (5, 0), (40, 8)):
        if 0 in shape and function in (
            of_arrays,
            of_an_array_that_changes,
            around_a_few,
            smallest_around,
            read_behind,
            breaks_and_remembers,
        ):
            continue
        x = np.random.default_rng(3).normal(size=shape)
        assert agree(compiled(x.copy()), function(x.copy()), bits=False)
    if function not in LEFT_TO_PYTHON:
        assert "lines_" not in compiled.explain(source=False)


def test_what_a_loop_without_an_iteration_leaves_unset() -> None:
    compiled = tilewright.jit(read_behind, strict=True)
    for shape in ((20, 30), (0, 30), (20, 0)):
        x = np.ones(shape)
        if 0 not in shape:
            assert agree(compiled(x), read_behind(x), bits=False)
            continue
        with pytest.raises(UnboundLocalError):
            compiled(x)
