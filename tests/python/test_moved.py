"""np.roll, np.tile and np.repeat: the same elements in other places, wherever they come from."""

from __future__ import annotations

import re

import numpy as np
import pytest
import tilewright
from examples import one_in
from result_or_error import result, same
from tilewright.builder import default_schedule
from tilewright.native import compiler

pytestmark = pytest.mark.compile

SHIFTS = [
    lambda a, s: np.roll(a, 1),
    lambda a, s: np.roll(a, s) * a,
    lambda a, s: np.roll(a, 100, axis=0),
    lambda a, s: np.roll(a, s, axis=-1) + np.roll(a, -s, 0),
    lambda a, s: np.roll(a, (1, -2), axis=(0, -1)),
    lambda a, s: np.roll(a, (1, 2, 3), axis=0),
    lambda a, s: np.roll(a, 2, axis=(0, -1)),
    lambda a, s: np.roll(a.T, 1, axis=0),
    lambda a, s: np.roll(a, a.shape[0] // 2, 0),
    lambda a, s: np.roll(a[::2], np.int64(-1), 0),
    lambda a, s: np.roll(a, 0, 0),
]
OTHERS = [  # what stages or NumPy compute, and what it refuses
    lambda a, s: np.roll(a, 5, axis=3),
    lambda a, s: np.roll(a, (1, 2), axis=(0, 0, 0)),
    lambda a, s: np.roll(a, True),
    lambda a, s: np.roll(a, 1.7),
    lambda a, s: np.roll(a, ()),
    lambda a, s: np.roll(a, (), ()),
]


def array(shape, dtype):
    return (np.arange(np.prod(shape)).reshape(shape) + 1).astype(dtype)


@pytest.mark.parametrize(
    ("number", "shape", "dtype"),
    one_in(
        9,
        range(len(SHIFTS) + len(OTHERS)),
        [(7,), (5, 6), (1,), (0,), (3, 0), (2, 3, 4), (1, 40)],
        ("f8", "c16", "?"),
    ),
)
def test_rolls(number, shape, dtype):
    function = [*SHIFTS, *OTHERS][number]
    compiled = tilewright.jit(function, strict=True)
    for shift in (2, -9):
        same(result(compiled, array(shape, dtype), shift), result(function, array(shape, dtype), shift))


@pytest.mark.parametrize("number", range(len(SHIFTS)))
def test_rolls_are_kernels(number):
    compiled = tilewright.jit(SHIFTS[number], strict="kernels")
    for shift in (3, -4, 0):
        same(compiled(array((33, 70), "f4"), shift), SHIFTS[number](array((33, 70), "f4"), shift))


def life(cells, steps):
    for _ in range(steps):
        near = sum(np.roll(np.roll(cells, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
        cells = ((near == 3) | ((cells == 1) & (near == 2))).astype(cells.dtype)
    return cells


def rows_on_a_ring(a):
    made = np.empty_like(a)
    for i in range(a.shape[0]):
        made[i] = a[(i + 1) % a.shape[0]] - a[i - 1]
    return made


ON_A_RING = [
    lambda a: a[:, (np.arange(a.shape[1]) + 1) % a.shape[1]] - a[:, (np.arange(a.shape[1]) - 1) % a.shape[1]],
    lambda a: a[(np.arange(a.shape[0]) + 1) % a.shape[0]] + a[:, np.arange(a.shape[1]) - 1],
    lambda a: a[:, np.roll(np.arange(a.shape[1]), 1)] + a[np.roll(np.arange(a.shape[0]), -1)],
    lambda a: np.roll(np.roll(a, 1, 0), -1, 1) + np.roll(a, (2, -3), (1, 0)) + np.roll(np.roll(a, 3, 1), -2, 1),
    lambda a: np.roll(a, 7) + np.roll(a, -1) + np.roll(a.T, 2, 1).T,
    lambda a: np.roll(a[:, 1:-1], 1, 1) + np.roll(a[:, ::-1], -1, 1)[:, 2:],
    lambda a: a[:, (np.arange(a.shape[1] - 1) - 1) % (a.shape[1] - 1)],
    lambda a: a[:, (np.arange(a.shape[1]) + 5) % a.shape[1]] + a[:, (np.arange(a.shape[1]) - 9) % a.shape[1]],
    rows_on_a_ring,
    lambda a: life((a > 20).astype(a.dtype), 3),
]


@pytest.mark.parametrize(("number", "dtype"), [(k, "u1" if k % 2 else "f4") for k in range(len(ON_A_RING))])
def test_neighbours_on_a_ring(number, dtype):
    """Whole vectors, those that hold the end, and axes shorter than both."""
    function = ON_A_RING[number]
    compiled = tilewright.jit(function, strict=True)
    for shape in [(9, 131), (40, 200), (2, 3), (3, 33), (1, 2), (64, 64), (70, 300)]:
        a = np.random.default_rng(shape).integers(0, 50, shape).astype(dtype)
        same(compiled(a.copy()), function(a.copy()))


@pytest.mark.parametrize(
    "function", [lambda a: np.roll(a, 1, 1) + np.roll(a, -1, 1), lambda a: np.roll(a, 2) + np.roll(a, -3)]
)
def test_rolled_rows_are_read_in_vectors(function):
    specialization = tilewright.jit(function).for_args(np.ones((70, 300), "f4"))
    request = specialization.request(specialization.example)
    made = compiler().build(request.program, request.options(), default_schedule(request), request.isa, assembly=True)
    lines = made["kernels"][0]["lowered"].splitlines()
    assert any(len(re.findall(r"\ba(?:_flat)?\[ramp\(", line)) == 2 and "select" not in line for line in lines)


def flow(field, shifts, steps):
    for _ in range(steps):
        for k, shift in enumerate(shifts):
            field[k] = np.roll(field[k], shift, axis=1)
            field[k] = np.roll(field[k], -shift, axis=0) * 0.5 + field[k]
    return np.roll(field, shifts[0])


def test_shifts_that_data_say_in_loops():
    shifts = np.array([0, 1, -1, 5])
    field = np.random.default_rng(0).normal(size=(4, 20, 30))
    ours, theirs = field.copy(), field.copy()
    compiled = tilewright.jit(flow, strict="kernels")
    same(compiled(ours, shifts, 3), flow(theirs, shifts, 3))
    same(ours, theirs)


def squeeze(x):
    kept = x[x > 0]
    return np.roll(kept, 2).sum() + np.roll(kept, -1)[0]


def test_sizes_that_data_decide():
    x = np.random.default_rng(1).integers(-9, 9, 500)
    assert tilewright.jit(squeeze, strict=True)(x) == squeeze(x)


def written_behind(x, y, n):
    rows = np.tile(x, (n + 1, 1))
    rows[0, 2] = 9.0
    x[0] = 7.0
    return rows


REPEATED = [
    lambda x, y, n: np.tile(x, (n, 1)) * 2,
    lambda x, y, n: np.tile(x[:, None], (1, n)),
    lambda x, y, n: np.tile(y, (2, 1, 1)),
    lambda x, y, n: np.tile(y[0], (n, 1)).sum(0),
    lambda x, y, n: np.tile(2.5, (3, n)),
    lambda x, y, n: np.tile([1, 2], (n, 1)),
    lambda x, y, n: np.tile(np.arange(4), (x.shape[0], 1)) + np.tile(np.arange(x.shape[0]), (4, 1)).T,
    lambda x, y, n: np.tile(x, (0, 1)),
    lambda x, y, n: np.repeat(x[None, :], n, axis=0),
    lambda x, y, n: np.repeat(x[:, None], 3, -1),
    lambda x, y, n: np.repeat(n, 4),
    written_behind,
    lambda x, y, n: np.tile(x, n),
    lambda x, y, n: np.tile(x, (n, 1, 2)),
    lambda x, y, n: np.tile(y[::-1, ::2], (2, n)),
    lambda x, y, n: np.tile(y.T, (n, 2, 3)) * 2,
    lambda x, y, n: np.repeat(x, n),
    lambda x, y, n: np.repeat(y, n),
    lambda x, y, n: y.T.repeat(n, axis=1),
    lambda x, y, n: np.repeat(np.repeat(y, 2, axis=0), n, axis=1) + 1,
]
OF_STAGES = [
    lambda x, y, n: np.tile(x, (1,)),
    lambda x, y, n: np.repeat(y, [1, 2, 0], axis=0),
]


@pytest.mark.parametrize("function", REPEATED + OF_STAGES)
def test_axes_are_repeated_in_kernels(function):
    x, y = np.arange(5.0), np.arange(12.0).reshape(3, 4)
    jitted = tilewright.jit(function, strict=True if function in OF_STAGES else "kernels")
    for n in (3, 0, 1, 4):
        mine, theirs = x.copy(), x.copy()
        got, wanted = jitted(mine, y, n), function(theirs, y, n)
        assert type(got) is type(wanted)
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)
        np.testing.assert_array_equal(mine, theirs)
    try:
        wanted = function(x.copy(), y, -2)
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error))):
            tilewright.jit(function)(x.copy(), y, -2)
