"""np.pad as places around an array, which what reads it computes: every mode, spelling of widths, size and dtype."""

from __future__ import annotations

import re

import numpy as np
import pytest
import tilewright
from examples import one_in
from numpy.lib.stride_tricks import sliding_window_view
from result_or_error import result, same
from tilewright.builder import default_schedule
from tilewright.native import compiler

pytestmark = pytest.mark.compile

KERNELS = [  # of arrays with two axes of 4 elements at least
    lambda a: np.pad(a, 1),
    lambda a: np.pad(a, (2, 0), mode="edge"),
    lambda a: np.pad(a, [(0, 3), (1, 0)], "reflect"),
    lambda a: np.pad(a, ((2,), (3,)), mode="symmetric"),
    lambda a: np.pad(a, np.array([1, 4]), mode="wrap"),
    lambda a: np.pad(a, {0: 2}, mode="reflect"),
    lambda a: np.pad(a, {-1: (0, 2), 0: (1, 1)}, mode="wrap"),
    lambda a: np.pad(a, 2, constant_values=7),
    lambda a: np.pad(a, 1, constant_values=(3, -2.7)),
    lambda a: np.pad(a, ((1, 2), (2, 1)), constant_values=((1, 2), (3, 4))),
    lambda a: np.pad(a, 3, mode="reflect", reflect_type="even"),
    lambda a: np.pad(a.T, 1, mode="edge"),
    lambda a: np.pad(a[::-1, ::2], 1, mode="wrap"),
    lambda a: np.pad(np.pad(a, 1, mode="edge"), 1, mode="reflect"),
    lambda a: np.pad(a * 2 + a[0], 2, mode="symmetric"),
]
OTHERS = [  # what stages or NumPy compute, and what it refuses
    lambda a: np.pad(a, 0),
    lambda a: np.pad(a, 9, mode="reflect"),
    lambda a: np.pad(a, 11, mode="symmetric"),
    lambda a: np.pad(a, (12, 1), mode="wrap"),
    lambda a: np.pad(a, 1, mode="reflect", reflect_type="odd"),
    lambda a: np.pad(a, 1, mode="linear_ramp", end_values=2),
    lambda a: np.pad(a, 1, mode="mean"),
    lambda a: np.pad(a, 1, mode="maximum", stat_length=2),
    lambda a: np.pad(a, -1),
    lambda a: np.pad(a, 1.5),
    lambda a: np.pad(a, True),
    lambda a: np.pad(a, ((1, 2), (3, 4), (5, 6))),
    lambda a: np.pad(a, 1, mode="nearest"),
    lambda a: np.pad(a, 1, mode="edge", constant_values=1),
    lambda a: np.pad(a, 1, constant_values="x"),
    lambda a: np.pad(a, {5: 1}),
    lambda a: np.pad(a, {0: np.int64(2)}),
    lambda a: np.pad(a, {0: (2, np.int64(2))}),
    lambda a: np.pad(a, {0: (1,)}),
    lambda a: np.pad(a, a.shape[0], mode="wrap"),
]


def array(shape, dtype):
    return (np.arange(np.prod(shape)).reshape(shape) % 113 + 1).astype(dtype)


@pytest.mark.parametrize(
    ("number", "shape", "dtype"),
    one_in(
        11,
        range(len(KERNELS) + len(OTHERS)),
        [(7,), (5, 6), (1,), (0,), (3, 0), (2, 3, 4), (1, 40), (3, 33)],
        ("f8", "c16", "?", "u1", "f2"),
    ),
)
def test_pads(number, shape, dtype):
    function = [*KERNELS, *OTHERS][number]
    compiled = tilewright.jit(function, strict=True)
    for _ in range(2):
        same(result(compiled, array(shape, dtype)), result(function, array(shape, dtype)))


@pytest.mark.parametrize("number", range(len(KERNELS)))
def test_pads_are_kernels(number):
    compiled = tilewright.jit(KERNELS[number], strict="kernels")
    for shape in [(4, 4), (33, 70), (70, 9), (300, 130)]:
        same(compiled(array(shape, "f4")), KERNELS[number](array(shape, "f4")))


def box(mode, width):
    def filtered(a):
        padded = np.pad(a, width, mode=mode)
        made = np.zeros_like(a)
        for i in range(2 * width + 1):
            for j in range(2 * width + 1):
                made += (i + 2 * j) * padded[i : i + a.shape[0], j : j + a.shape[1]]
        return made

    return filtered


def moving_mean(a):
    return sliding_window_view(np.pad(a, (3, 3), mode="reflect"), 7).mean(axis=-1)


def written_afterwards(a):
    padded = np.pad(a, 1)
    padded[0] = padded[-2]
    padded[:, 0] += 1
    return padded, padded[1:-1, 1:-1] - a


def steps(a, count):
    for _ in range(count):
        p = np.pad(a, 1, mode="wrap")
        a = (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]) // 4
    return a


READERS = [
    *(box(mode, 1) for mode in ("constant", "edge", "reflect")),
    *(box(mode, 2) for mode in ("symmetric", "wrap")),
    lambda a: np.median(sliding_window_view(np.pad(a, 1, mode="edge"), (3, 3)), axis=(2, 3)),
    lambda a: moving_mean(a[0]),
    lambda a: np.convolve(np.pad(a[:, 0], 2, mode="edge"), np.ones(5, a.dtype), "valid"),
    lambda a: written_afterwards(a)[0],
    lambda a: written_afterwards(a)[1],
    lambda a: steps(a, 3),
    lambda a: np.pad(a, ((1, 0), (0, 0)))[:-1] + a,
    lambda a: np.diff(np.pad(a, ((0, 0), (1, 0)), mode="edge"), axis=1),
    lambda a: np.pad(a, 1).sum(axis=0) + np.pad(a, 1, mode="edge").max(),
    lambda a: np.stack([np.pad(x, 1, mode="symmetric") for x in (a, a + 1)]),
]


@pytest.mark.parametrize(("number", "dtype"), [(k, "i4" if k % 2 else "f4") for k in range(len(READERS))])
def test_what_reads_pads(number, dtype):
    """Whole vectors, those at the ends, rows that are kept for several rows of a stencil, and axes shorter than a vector."""
    function = READERS[number]
    compiled = tilewright.jit(function, strict=True)
    for shape in [(9, 131), (40, 200), (4, 4), (5, 33), (64, 64), (300, 310)]:
        a = np.random.default_rng(shape).integers(0, 50, shape).astype(dtype)
        got, wanted = compiled(a.copy()), function(a.copy())
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(got, wanted, rtol=1e-5)


def clipped(a):
    rows = np.clip(np.arange(a.shape[0]) + 2, 0, a.shape[0] - 1)
    columns = np.minimum(np.maximum(np.arange(a.shape[1] + 2) - 1, 0), a.shape[1] - 1)
    beyond = np.arange(a.shape[1]) + 1
    turned = np.where(beyond > a.shape[1] - 1, 2 * a.shape[1] - 2 - beyond, beyond)
    return a[rows][:, columns], a[:, turned], np.where(np.arange(a.shape[1]) < 2, -1, a)


def far_away(a):
    far = np.arange(a.shape[1]) + 2147483647
    near = np.minimum(np.maximum(np.arange(a.shape[1]) + 2147483000, 0), a.shape[1] - 1)
    return np.where(far < 5, a, 2), np.where(np.arange(a.shape[1]) - 2147483647 - 9 > 3, a, 2), a[:, near]


def test_places_beyond_32_bits():
    compiled = tilewright.jit(far_away, strict=True)
    for shape in [(3, 131), (2, 2)]:
        for got, wanted in zip(compiled(array(shape, "f8")), far_away(array(shape, "f8")), strict=True):
            same(got, wanted)


def test_places_that_users_compute():
    compiled = tilewright.jit(clipped, strict=True)
    for shape in [(9, 131), (2, 2), (3, 5), (40, 70)]:
        for got, wanted in zip(compiled(array(shape, "f8")), clipped(array(shape, "f8")), strict=True):
            same(got, wanted)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
def test_padded_rows_are_read_in_vectors(mode):
    specialization = tilewright.jit(lambda a: np.pad(a, 1, mode=mode)[:, 2:]).for_args(np.ones((70, 300), "f4"))
    request = specialization.request(specialization.example)
    made = compiler().build(request.program, request.options(), default_schedule(request), request.isa, assembly=True)
    lines = made["kernels"][0]["lowered"].splitlines()
    assert any(re.search(r"= a\[ramp\(", line) and "select" not in line for line in lines)


def halves(a):
    p = np.pad(a, 1, mode="edge")
    return (p[1:-1, 2:] - p[1:-1, :-2]) / 2.0, (p[2:, 1:-1] - p[:-2, 1:-1]) / 2.0


WIDER = [
    lambda a: np.hypot(*halves(a)),
    lambda a: np.sqrt(halves(a)[0] ** 2 + halves(a)[1] ** 2),
    lambda a: (halves(a)[0] ** 2).sum(axis=1),
    lambda a: (halves(a)[1].astype("f8") ** 2).sum(),
    lambda a: (np.pad(a, 1)[1:-1, 2:].astype("f8") - np.pad(a, 1)[1:-1, :-2].astype("f8")) ** 2,
    lambda a: ((np.roll(a, -1, 1) - np.roll(a, 1, 1)) / 2.0) ** 2,
    lambda a: ((np.pad(a, 1)[2:, 1:-1] - np.pad(a, 1)[:-2, 1:-1]) ** 2).sum(axis=0, dtype="f8"),
]


@pytest.mark.parametrize(("number", "dtype"), one_in(2, range(len(WIDER)), ("i4", "u1", "f2", "f4", "i2")))
def test_values_that_are_wider_than_what_is_padded(number, dtype):
    compiled = tilewright.jit(WIDER[number], strict=True)
    for shape in [(60, 70), (3, 4), (300, 400)]:
        a = np.random.default_rng(shape).integers(0, 9, shape).astype(dtype)
        got, wanted = compiled(a), WIDER[number](a)
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(got, wanted, rtol=1e-6 if got.dtype.itemsize > 2 else 1e-3)
