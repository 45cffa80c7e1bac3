"""Sorting and medians along a few elements, as kernels, beside NumPy."""

import warnings

import numpy as np
import pytest
import tilewright
from examples import examples
from extreme_numbers import extreme_numbers
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view
from tilewright.ops.order import exchanges

pytestmark = pytest.mark.compile

DTYPES = ["float32", "float64", "int8", "int32", "int64", "uint8", "uint64", "bool"]
SPECIALS = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.5, 1e-310])


@pytest.mark.parametrize("count", range(1, 15))
def test_exchanges_sort_all_zeros_and_ones(count):
    """Then they sort everything (Knuth, the 0-1 principle)."""
    rows = (np.arange(2**count)[:, None] >> np.arange(count)) & 1
    for low, high in exchanges(count):
        rows[:, [low, high]] = np.sort(rows[:, [low, high]], axis=1)
    assert (np.diff(rows, axis=1) >= 0).all()


def data(dtype, shape, seed):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        values = rng.integers(-3, 4, shape) / 2
        where = rng.random(shape) < 0.3
        values[where] = rng.choice(SPECIALS, where.sum())
        return values.astype(dtype)
    return extreme_numbers(dtype, shape, rng)


def kernels(f):
    return tilewright.jit(f, strict="kernels")


def check(f, *args):
    compiled = kernels(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = f(*args)
    for _ in range(2):
        got = compiled(*args)
        assert type(got) is type(wanted)
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)
    return got, wanted


def sort_columns(a):
    return np.sort(np.stack([a[0], a[1], a[2], a[3], a[4]]), axis=0)


def sort_last(a):
    return np.sort(a, axis=-1)


def median_last(a):
    return np.median(a, axis=-1)


@settings(max_examples=examples(6), deadline=None)
@given(
    st.sampled_from(DTYPES), st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 3, 4, 7, 8]), st.sampled_from([16, 61])
)
def test_rows_of_a_few(dtype, seed, count, rows):
    a = data(dtype, (rows, max(count, 2)), seed)
    check(sort_last, a)
    check(median_last, a)
    check(median_last, np.asfortranarray(a))
    check(median_last, data(dtype, (rows, 2 * max(count, 2)), seed)[:, ::2])


@settings(max_examples=examples(4), deadline=None)
@given(st.sampled_from(DTYPES), st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 5, 40]))
def test_columns_of_a_few(dtype, seed, columns):
    check(sort_columns, data(dtype, (5, columns), seed))


@pytest.mark.parametrize("dtype", ["float64", "uint8"])
def test_median_of_windows(dtype):
    def median_filter(p):
        return np.median(sliding_window_view(p, (3, 3)), axis=(2, 3))

    def median_of_four(p):
        return np.median(sliding_window_view(p, (2, 2)), axis=(2, 3), keepdims=True)

    check(median_filter, data(dtype, (20, 33), 4))
    check(median_of_four, data(dtype, (20, 33), 4))


def test_median_of_shifted_images():
    def median_of_shifted(p):
        n, m = p.shape[0] - 2, p.shape[1] - 2
        return np.median(np.stack([p[i : i + n, j : j + m] for i in range(3) for j in range(3)]), axis=0)

    check(median_of_shifted, data("float32", (30, 41), 5))
    check(median_of_shifted, data("bool", (30, 41), 5))


def test_signs_of_zeros_stay():
    a = np.array([[0.0, -0.0, 0.0, -0.0]] * 20)
    got = kernels(sort_last)(a)
    np.testing.assert_array_equal(np.signbit(got).sum(axis=1), 2)
    assert not np.signbit(kernels(median_last)(-np.zeros((20, 3)))).any()  # as NumPy's mean has it


def test_sort_in_place():
    def f(a):
        a.sort(axis=1)
        return a[:, 0] + 1

    a = data("float64", (50, 4), 6)
    b = a.copy()
    np.testing.assert_array_equal(kernels(f)(a), f(b))
    np.testing.assert_array_equal(a, b)


def test_smallest_of_few():
    def f(a):
        return np.sort(a, axis=1)[:, :2].sum(axis=1)

    check(f, data("int64", (50, 5), 7))


def test_long_axes_are_numpys():
    def f(a):
        return np.sort(a) + np.median(a)

    compiled = tilewright.jit(f, strict=True)
    for n in (5, 6, 40):
        a = data("int64", (n,), n)
        np.testing.assert_array_equal(compiled(a), f(a))
    with pytest.raises(tilewright.TraceError, match="kernels sort along axes of at most 16 elements"):
        kernels(f)(np.arange(5.0))


def test_another_length_is_another_program():
    compiled = tilewright.jit(sort_last, strict=True)
    for n in (4, 5, 12, 100, 0, 1):
        a = data("float64", (20, n), n)
        np.testing.assert_array_equal(compiled(a), sort_last(a))


@pytest.mark.parametrize("axis", [2, -3, (0, 0)])
def test_wrong_axes_are_numpys_errors(axis):
    def f(a):
        return np.median(a, axis=axis)

    with pytest.raises(Exception) as wanted:  # noqa: PT011
        f(np.ones((20, 3)))
    with pytest.raises(wanted.type, match=str(wanted.value)[:20].replace("(", ".")):
        tilewright.jit(f, strict=True)(np.ones((20, 3)))


def test_kind_and_stable_change_nothing():
    def f(a):
        return np.sort(a, axis=1, kind="stable") + np.sort(a, axis=1, stable=True)

    def wrong(a):
        return np.sort(a, axis=1, kind="bubble")

    check(f, data("int32", (20, 3), 8))
    with pytest.raises(ValueError, match="bubble"):
        tilewright.jit(wrong, strict=True)(np.ones((20, 3)))


def sorted_parts(x, s):
    y = np.empty((4, x.shape[0]))
    y[:2] = x[:, :2].T
    y[2] = s
    y[3] = x[:, 2]
    stacked = np.stack([x[:, 1], x[:, 0], x[:, 2]])
    stacked[1] = 2.5
    return np.sort(y, axis=0), np.median(stacked, axis=0), np.sort(np.concatenate([x[:, :1], x[:, 1:]], axis=1), axis=1)


def test_arrays_that_are_written_in_parts_are_sorted():
    x = np.random.default_rng(8).normal(size=(40, 3))
    for got, wanted in zip(tilewright.jit(sorted_parts, strict=True)(x, 0.25), sorted_parts(x, 0.25), strict=True):
        np.testing.assert_array_equal(got, wanted)
