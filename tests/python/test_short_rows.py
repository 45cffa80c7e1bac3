"""Vectors go across rows that are too short for one: NumPy's bits for rows of broadcast operands, with gaps between
them, in any order and written in place."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from examples import examples, one_in
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.compile

DTYPES = [np.float64, np.float32, np.int64, np.int32, np.uint8, np.complex128]
NARROWEST_VECTOR_BYTES = 32  # of AVX2
ROWS = (0, 1, 2, 3, 7, 8, 9, 16, 17, 31, 64, 701)


def by_row(x, c):
    return x * c + c


def by_column(x, c):
    return x * x[..., :1] + c


def in_place(x, c):
    x *= c
    return x


def part_in_place(x, c):
    x[1:-1] += x[1:-1] * c
    return x


def some_columns(x, c):
    return x[..., ::2] * 2 + c[::2]


def neighbours(x, c):
    return (x[1:] - x[:-1]) * c


def with_its_sum(x, c):
    y = x * c
    return y - y.sum(axis=-1, keepdims=True), y + c


def of_the_largest(x, c):
    return (x == x.max(axis=-1)[..., None]) * c


FUNCTIONS = [by_row, by_column, in_place, part_in_place, some_columns, neighbours, with_its_sum, of_the_largest]
EMPTY_ROWS = {part_in_place: 2, neighbours: 1}  # fewer are none


def laid_out(array, layout):
    if layout == "f":
        return np.asfortranarray(array)
    if layout == "reversed":
        return array[::-1].copy()[::-1]
    if layout == "columns":
        return np.concatenate([array, array], axis=-1)[..., : array.shape[-1]]
    return np.repeat(array, 2, axis=0)[::2] if layout == "strided" else array


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@settings(max_examples=examples(3), deadline=None)
@given(data=st.data())
def test_answers_are_numpys_for_every_dtype_layout_and_size(function, data):
    dtype = data.draw(st.sampled_from(DTYPES[:-1] if function is of_the_largest else DTYPES))
    compiled = tilewright.jit(function, strict=True)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    last = data.draw(st.sampled_from([1, 2, 3, 4, 5, 7, 8, 9]))
    middle = data.draw(st.sampled_from([(), (), (1,), (3,), (20,)]))
    layouts = st.sampled_from(["c", "f", "reversed", "columns", "strided"])
    two = st.sampled_from(data.draw(st.lists(layouts, min_size=2, max_size=2)))  # each is compiled for
    for rows in ROWS:
        if rows < EMPTY_ROWS.get(function, 0):
            continue
        # Whole numbers: sums of a row are exact, in any order.
        x = rng.integers(0, 9, (rows, *middle, last)).astype(dtype)
        c = rng.integers(0, 9, last).astype(dtype)
        if x.size and np.issubdtype(dtype, np.floating) and function not in (with_its_sum, of_the_largest):
            x.flat[0], c[-1] = np.nan, -0.0
        layout = data.draw(two)
        # A copy would lie in C order.
        results = [as_tuple(f(laid_out(x.copy(), layout), c)) for f in (compiled, function)]
        for got, expected in zip(*results, strict=True):
            np.testing.assert_array_equal(got, expected)
            assert got.dtype == expected.dtype and got.shape == expected.shape


def power(x, c):
    return (x * c) ** 2.5


def lengths(x, c):
    y = x * c
    return y / np.sqrt((y * y).sum(axis=1, keepdims=True))


SHORT = one_in(2, [power, lengths], [np.float64, np.float32], [(1000, 3), (1000, 7), (50, 2), (40_000, 3)])


@pytest.mark.parametrize("function", [power, lengths], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_they_have_the_bits_of_single_elements(function, dtype):
    rng = np.random.default_rng(5)
    for rows, last in (shape for *each, shape in SHORT if each == [function, dtype]):
        args = (rng.random((rows, last)) + 0.5).astype(dtype), rng.random(last).astype(dtype)
        vectors, elements = (tilewright.jit(function, strict=True) for _ in range(2))
        # A longer row fills a vector of some machines, which then goes along it.
        if last < NARROWEST_VECTOR_BYTES // args[0].itemsize:
            assert "reorder(ix, j, iv" in vectors.for_args(*args).schedule
        elements.for_args(*args).schedule = f"tilewright-schedule 1\nschedule {function.__name__} for x86-64\n"
        np.testing.assert_array_equal(vectors(*args), elements(*args))
        np.testing.assert_allclose(vectors(*args), function(*args), rtol=1e-5 if dtype is np.float32 else 1e-12)


def test_a_program_compiled_for_short_rows_serves_long_ones():
    compiled = tilewright.jit(by_row, strict=True)
    for shape in ((1000, 3), (3, 1000), (1, 50), (50, 1), (2, 2), (0, 3), (5, 0), (1000, 4)):
        for layout in ("c", "f", "strided"):
            x, c = (
                laid_out(np.arange(np.prod(shape), dtype=np.float64).reshape(shape), layout),
                np.arange(shape[1]) + 0.5,
            )
            np.testing.assert_array_equal(compiled(x, c), by_row(x, c))


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (by_row, (np.ones((100, 3)), np.ones(3))),
        (by_column, (np.ones((100, 3)), np.ones(3))),
        (in_place, (np.ones((100, 3)), np.ones(3))),
        (by_row, (np.ones((100, 3), order="F"), np.ones(3))),
        (by_row, (np.ones((200, 3))[::2], np.ones(3))),
        (by_row, (np.ones((100, 1)), np.ones(1))),
    ],
)
def test_the_rows_of_points_are_not_what_vectors_go_along(function, args):
    assert "vectorize(ix).reorder(ix, j, iv)" in tilewright.jit(function, strict=True).for_args(*args).schedule


def test_a_device_compiles_them_as_before():
    specialization = tilewright.jit(by_row, strict=True, target="cuda").for_args(np.ones((100, 3)), np.ones(3))
    assert "gpu_threads" in specialization.schedule
