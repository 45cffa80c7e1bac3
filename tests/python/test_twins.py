"""Functions of NumPy's that our own code computes where they are stages: as NumPy has them, and NumPy's where they are not of the kind."""

from __future__ import annotations

import functools
import importlib
import itertools
import os
import sys

import numpy as np
import pytest
import tilewright
from as_numpy_has_it import alike
from examples import examples, one_in
from hypothesis import given, settings
from hypothesis import strategies as st
from strictly import check
from tilewright._face import threads, twin, twins
from tilewright.machine import host_isa
from tilewright.symbolic.stages import Stage, imported

pytestmark = pytest.mark.compile

LARGE = 1 << 15  # elements, from which on twins compute
SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.sampled_from([LARGE - 1, LARGE, LARGE + 1, 3 * LARGE + 7, 20 * LARGE + 13])


class Called(Exception):  # noqa: N818 - no error: the function itself was called
    pass


def own(name):
    """A twin whose callee must not be called."""

    def callee(*args, **kwargs):
        raise Called

    return twin(name, callee)


def same(got, wanted):
    assert type(got) is type(wanted)
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    np.testing.assert_array_equal(got, wanted)
    assert np.array_equal(np.signbit(got), np.signbit(wanted)) if got.dtype.kind == "f" else True


def as_numpy(function, numpy, *args, **kwargs):
    """The same bits, but for NaN, or the same error."""
    alike(function, numpy, same, args, kwargs)


def test_each_twin_stands_for_a_function():
    for name in twins():
        assert callable(imported(name))
        assert type(twin(name, imported(name))).__name__ == "Twin"
    assert twin("numpy.partition", np.partition) is np.partition


# ---- running sums


@settings(max_examples=examples(8), deadline=None)
@given(SIZES, st.sampled_from(["float64", "float32", "int64"]), SEEDS)
def test_running_sums(size, dtype, seed):
    x = np.random.default_rng(seed).integers(-9, 9, size).astype(dtype)  # exact sums
    x[:3] = -0.0
    for name in ("numpy.cumsum", "numpy.add.accumulate"):
        same(twin(name, np.cumsum)(x), np.cumsum(x))
        rows = x[: size // 7 * 7].reshape(7, -1)
        same(twin(name, np.cumsum)(rows, axis=1), np.cumsum(rows, axis=1))
        same(twin(name, np.cumsum)(rows.T.copy(), -1), np.cumsum(rows.T.copy(), -1))


def test_running_sums_never_fall_and_do_not_depend_on_threads():
    x = np.random.default_rng(1).random(1_000_003)
    sums = own("numpy.cumsum")(x)
    assert np.all(np.diff(sums) >= 0)
    np.testing.assert_allclose(sums, np.cumsum(x), rtol=1e-12)
    with threads(1):
        same(own("numpy.cumsum")(x), sums)
    exact = np.cumsum(x.astype(np.longdouble))
    assert np.abs(sums - exact).max() <= np.abs(np.cumsum(x) - exact).max()


def test_running_sums_keep_the_sign_of_zero():
    x = np.full(3 * LARGE, -0.0)
    same(own("numpy.cumsum")(x), np.cumsum(x))
    x[2 * LARGE] = 0.0
    same(own("numpy.cumsum")(x), np.cumsum(x))


def test_running_sums_of_integers_wrap():
    x = np.full(LARGE * 3, 2**62)
    same(own("numpy.cumsum")(x), np.cumsum(x))


@pytest.mark.parametrize("specials", [[np.nan], [np.inf, -np.inf], [np.inf]])
def test_running_sums_of_specials(specials):
    x = np.ones(2 * LARGE)
    x[40_000 : 40_000 + len(specials)] = specials
    same(own("numpy.cumsum")(x), np.cumsum(x))


@settings(max_examples=examples(30), deadline=None)
@given(
    st.sampled_from([0, 1, 255, 256, 257, LARGE + 5]), st.sampled_from(["f8", "f4", "i8", "i4"]),
    st.sampled_from(["any", "nan", "zeros", "infinite"]), SEEDS,
)  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_running_products_and_extremes(size, dtype, kind, seed):
    x = np.random.default_rng(seed).normal(size=size) * 3
    if kind == "nan":
        x[size // 2 :: 50] = np.nan
    elif kind == "zeros":
        x[::3], x[1::3] = -0.0, 0.0
    elif kind == "infinite":
        x[size // 3 :: 70], x[size // 2 :: 70] = np.inf, -np.inf
    x = np.nan_to_num(x, posinf=2**31 - 1, neginf=-(2**31)).astype(dtype) if dtype[0] == "i" else x.astype(dtype)
    names = [f"{name}.accumulate" for name in ("multiply", "maximum", "minimum", "fmax", "fmin")]
    for name in ["cumprod", *names]:
        function = imported(f"numpy.{name}")
        ours = twin(f"numpy.{name}", function)
        rows = np.repeat(x, 3).reshape(-1, 3)
        for array in (x, x[::-1], np.ascontiguousarray(rows.T), rows):
            for axis in (None, 0, 1, -1) if name == "cumprod" else (0, 1, -1):
                as_numpy(ours, function, array, axis)
        as_numpy(ours, function, x)
        as_numpy(ours, function, x, dtype=np.float64)


def test_running_products_that_are_ours():
    x = np.random.default_rng(0).normal(size=300)
    for name in ("cumprod", "maximum.accumulate", "fmin.accumulate"):
        same(own(f"numpy.{name}")(x), imported(f"numpy.{name}")(x))
        with pytest.raises(Called):
            own(f"numpy.{name}")(x[:200])
    x[7] = np.nan
    with pytest.raises(Called):
        own("numpy.fmax.accumulate")(x)


# ---- counts


@settings(max_examples=examples(12), deadline=None)
@given(
    SIZES,
    st.sampled_from(["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"]),
    st.sampled_from([1, 3, 100, 20_000]),
    SEEDS,
)
def test_counts(size, dtype, bins, seed):
    x = np.random.default_rng(seed).integers(0, min(bins, np.iinfo(dtype).max), size, endpoint=True).astype(dtype)
    counts = twin("numpy.bincount", np.bincount)
    same(counts(x), np.bincount(x))
    same(counts(x, minlength=bins + 50), np.bincount(x, minlength=bins + 50))
    same(counts(x, None, 2), np.bincount(x, None, 2))


def test_counts_that_grow_late():
    x = np.zeros(5 * LARGE * max(2, os.cpu_count() or 1), np.int64)  # each thread has counts of its own
    x[-1] = 200_000
    x[LARGE] = 5_000
    same(own("numpy.bincount")(x), np.bincount(x))


def test_counts_that_are_numpys():
    x = np.arange(LARGE)
    x[77] = -1
    with pytest.raises(ValueError, match="negative"):
        twin("numpy.bincount", np.bincount)(x)
    for args in (
        (np.abs(x), None, None),
        (np.array([2**40] * LARGE),),
        (x[::2],),
        (np.ones(LARGE),),
        (x, x),
        (x[:5],),
        ([1, 2],),
        (x.reshape(2, -1),),
    ):
        with pytest.raises(Called):
            own("numpy.bincount")(*args)


# ---- scattered sums


@settings(max_examples=examples(8), deadline=None)
@given(SIZES, st.sampled_from([1, 7, 1000, 100_000]), st.sampled_from(["float64", "float32", "int32", "int64"]), SEEDS)
def test_scattered_sums(count, size, dtype, seed):
    rng = np.random.default_rng(seed)
    at = rng.integers(-size, size, count)
    terms, start = rng.integers(-9, 9, count).astype(dtype), rng.integers(-9, 9, size).astype(dtype)
    start[0] = -0.0
    for b in (terms, 3):
        ours, theirs = start.copy(), start.copy()
        assert twin("numpy.add.at", np.add.at)(ours, at, b) is None
        np.add.at(theirs, at, b)
        same(ours, theirs)


@pytest.mark.parametrize("size", [50_000, 100])
def test_terms_are_added_in_numpys_order(size):
    rng = np.random.default_rng(2)
    at, terms = rng.integers(0, size, 100_000), rng.normal(size=100_000)
    ours, theirs = np.zeros(size), np.zeros(size)
    own("numpy.add.at")(ours, at, terms)
    np.add.at(theirs, at, terms)
    same(ours, theirs)


def test_scattered_sums_do_not_depend_on_threads():
    rng = np.random.default_rng(3)
    at, terms = rng.integers(0, 1_000, 300_000), rng.normal(size=300_000)
    ours, alone = np.full(1_000, -0.0), np.full(1_000, -0.0)
    own("numpy.add.at")(ours, at, terms)
    with threads(1):
        own("numpy.add.at")(alone, at, terms)
    same(ours, alone)
    np.testing.assert_allclose(ours, np.bincount(at, terms, 1_000), rtol=1e-9)


def test_nothing_is_added_where_a_position_is_outside():
    y, at = np.zeros(9), np.zeros(LARGE, int)
    at[-1] = 9
    with pytest.raises(IndexError):
        twin("numpy.add.at", np.add.at)(y, at, 1.0)
    assert y[0] in (0, LARGE - 1)  # NumPy's own way to fail


def test_scattered_sums_that_are_numpys():
    y, at = np.zeros(LARGE), np.zeros(LARGE, int)
    for args in (
        (y, at, y),
        (y, at, np.ones(LARGE, "f4")),
        (y, at[::2], 1.0),
        (at, at, at),
        (y, at, 1j),
        (y.astype(np.float32), at, 2**24 + 1),
        (y, (at,), 1.0),
        (at.copy(), at, 2**70),
    ):
        with pytest.raises(Called):
            own("numpy.add.at")(*args)


@settings(max_examples=examples(12), deadline=None)
@given(
    st.sampled_from(["add", "subtract"]), st.sampled_from(["float64", "float32", "int64", "int32"]),
    st.sampled_from([((40, 3), 300), ((40, 3), LARGE), ((5, 2, 3), 1000), ((1, 1), 256), ((700, 1), LARGE + 3)]), SEEDS,
)  # fmt: skip
def test_scattered_rows(name, dtype, sizes, seed):
    shape, count = sizes
    rng = np.random.default_rng(seed)
    start, at = rng.normal(size=shape) * 9, rng.integers(-shape[0], shape[0], count)
    terms = rng.normal(size=(count, *shape[1:])) * 9
    ufunc = getattr(np, name)
    for b in (terms.astype(dtype), 3):
        ours, theirs = start.astype(dtype), start.astype(dtype)
        assert own(f"numpy.{name}.at")(ours, at, b) is None
        ufunc.at(theirs, at, b)
        same(ours, theirs)


@settings(max_examples=examples(8), deadline=None)
@given(st.sampled_from(["add", "subtract"]), st.sampled_from([(26, 26), (3, 4, 5), (1, 300)]), SEEDS)
def test_elements_of_several_indices(name, shape, seed):
    rng = np.random.default_rng(seed)
    start, at = rng.normal(size=shape), tuple(rng.integers(-n, n, 4000) for n in shape)
    for b in (rng.normal(size=4000), 1.5, 1):
        ours, theirs = start.copy(), start.copy()
        assert own(f"numpy.{name}.at")(ours, at, b) is None
        getattr(np, name).at(theirs, at, b)
        same(ours, theirs)


def test_an_array_that_is_its_own_index():
    start = np.random.default_rng(1).integers(0, 9, (9, 9))
    ours, theirs = start.copy(), start.copy()
    for x, at in ((ours, twin("numpy.add.at", np.add.at)), (theirs, np.add.at)):
        at(x, (x.reshape(-1).repeat(9) % 9, np.arange(729) % 9), 1)
        at(x, (x[0].repeat(81) % 9, np.arange(729) % 9), x.reshape(-1).repeat(9))
    same(ours, theirs)


def test_rows_that_are_numpys():
    y, at = np.zeros((9, 3)), np.zeros(LARGE, int)
    outside = at.copy()
    outside[-1] = 9
    for args in (
        (y, at[:255], 1.0),
        (y, at, np.ones(3)),
        (y, at, np.ones((LARGE, 1))),
        (y, at, np.array(1.0)),
        (y, (at,), 1.0),
        (y, (at, 0), 1.0),
        (y, (at, at[1:]), 1.0),
        (y, outside, 1.0),
        (y, (at, outside), 1.0),
        (y.T, at, 1.0),
        (y, at, np.ones((LARGE, 3), "f4")),
    ):
        with pytest.raises(Called):
            own("numpy.subtract.at")(*args)
    assert not y.any()


@settings(max_examples=examples(8), deadline=None)
@given(st.sampled_from([1, 50, 70_000]), st.sampled_from([None, 0, 80_000]), SEEDS)
def test_sums_of_weights(size, least, seed):
    rng = np.random.default_rng(seed)
    at, weights = rng.integers(0, size, 3 * LARGE), rng.normal(size=3 * LARGE)
    weights[rng.integers(weights.size, size=3)] = -0.0, np.inf, np.nan
    options = {} if least is None else {"minlength": least}
    same(own("numpy.bincount")(at, weights, **options), np.bincount(at, weights, **options))


def test_sums_of_weights_that_are_numpys():
    at, w = np.arange(LARGE), np.ones(LARGE)
    negative, far = at - 1, at.copy()
    far[0] = 2**40
    for args in (
        (negative, w),
        (far, w),
        (at, w.astype("f4")),
        (at, w[1:]),
        (at.astype("i4"), w),
        (at, w[::-1]),
        (at, w, -1),
    ):
        with pytest.raises(Called):
            own("numpy.bincount")(*args)


# ---- quantiles


@settings(max_examples=examples(10), deadline=None)
@given(st.sampled_from([1, 2, 3, 10, 101, 1000]), st.sampled_from([0, 100, 50, 90, 12.5, 33.3, 99.99]), SEEDS)
def test_quantiles(length, share, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(LARGE // length + 1, length))
    x[0] = 1
    x[-1, 0] = rng.choice([np.inf, -np.inf, np.nan, 5])
    same(own("numpy.percentile")(x, share, axis=1), np.percentile(x, share, axis=1))
    rows = x.reshape(-1, 1, length)
    same(own("numpy.quantile")(rows, share / 100, -1), np.quantile(rows, share / 100, -1))


def series_of(kind, shape, rng):
    """Elements whose order is easy to get wrong: ties, one value, NaN, infinities, far apart, in order already."""
    x = rng.normal(size=shape)
    flat = x.reshape(-1)
    if kind == "ties":
        flat[:] = rng.integers(-2, 3, flat.size)
    elif kind == "one value":
        flat[:] = 3.5
    elif kind == "nan":
        flat[rng.integers(flat.size, size=2)] = np.nan
    elif kind == "infinite":
        flat[::3], flat[1::3] = np.inf, -np.inf
    elif kind == "far apart":
        flat[:] = np.exp(50 * flat)
    elif kind == "in order":
        flat.sort()
    return x


KINDS = st.sampled_from(["normal", "ties", "one value", "nan", "infinite", "far apart", "in order"])
SHAPES = st.sampled_from(
    [
        (LARGE,),
        (LARGE + 1,),
        (9 * LARGE + 1,),
        (LARGE, 1),
        (1, LARGE),
        (200, 300),
        (LARGE + 5, 3),
        (7, 4097, 3),
        (2, 17, 1000),
    ]
)


@settings(max_examples=examples(20), deadline=None)
@given(SHAPES, KINDS, st.sampled_from(["float64", "float32"]), SEEDS)
def test_medians(shape, kind, dtype, seed):
    with np.errstate(all="ignore"):
        x = series_of(kind, shape, np.random.default_rng(seed)).astype(dtype)
        for axis in (None, *range(-1, x.ndim)):
            same(abs(own("numpy.median")(x, axis)), abs(np.median(x, axis)))  # of equal zeros and of NaN any sign
        same(abs(own("numpy.median")(x)), abs(np.median(x)))


@settings(max_examples=examples(10), deadline=None)
@given(SHAPES, KINDS, st.sampled_from([0, 100, 50, 90, 12.5, 99.99]), SEEDS)
def test_quantiles_along_each_axis(shape, kind, share, seed):
    x = series_of(kind, shape, np.random.default_rng(seed))
    with np.errstate(all="ignore"):
        for axis in (None, *range(-1, x.ndim)):
            for name, q in (("percentile", share), ("quantile", share / 100)):
                numpy = getattr(np, name)
                same(abs(twin(f"numpy.{name}", numpy)(x, q, axis)), abs(numpy(x, q, axis)))


@pytest.mark.parametrize(
    ("values", "shape"),
    one_in(
        2,
        [[0.0, -0.0], [0.0, -0.0, 1.0, -1.0], [0.0, -0.0, np.inf, -np.inf, 1.0], [-0.0], [-0.0, 1.0]],
        [(LARGE,), (9 * LARGE + 1,), (LARGE + 5, 3), (200, 300)],
    ),
)
def test_zeros_have_numpys_sign(shape, values):
    for seed in range(3):
        x = np.random.default_rng(seed).choice(values, shape)
        for axis in (None, *range(-1, x.ndim)):
            for share in (0.25, 0.5, 0.3, 0.0):
                with np.errstate(invalid="ignore"):
                    same(twin("numpy.quantile", np.quantile)(x, share, axis), np.quantile(x, share, axis))
            same(own("numpy.median")(x, axis), np.median(x, axis))


def test_a_zero_whose_sign_follows_from_numpys_order_is_numpys():
    zeros = np.zeros((2, LARGE))
    zeros[1, ::2] = -0.0
    with pytest.raises(Called):
        own("numpy.quantile")(zeros, 0.5, 1)
    zeros[1] += np.arange(LARGE) % 3 - 1.0  # one series with both, whose quantile is none of them
    same(own("numpy.quantile")(zeros, 0.9, 1), np.quantile(zeros, 0.9, 1))


@pytest.mark.parametrize("size", [7, 300, LARGE + 1])
def test_what_overwrites_its_input_leaves_numpys_order_there(size):
    def overwritten(a, b, c):
        half = np.median(a, overwrite_input=True)
        return half, a[0], np.percentile(b, 30, overwrite_input=True), np.nanmedian(c, 0, overwrite_input=True)

    a = np.random.default_rng(6).normal(size=size)
    check(overwritten, a, a.copy(), a.copy())


def test_medians_that_are_numpys():
    x = np.ones((2, LARGE))
    for args in ((x.T, 0), (x, (0, 1)), (x, 2), (x, True), (x > 0,), (x[:, :9],), (x, 1, None, False, True)):
        with pytest.raises(Called):
            own("numpy.median")(*args)


def test_quantiles_that_are_numpys():
    x = np.ones((2, LARGE))
    with pytest.raises(Called):
        own("numpy.quantile")(x, 1, 1)  # an integer: the element as it is, next to infinities too
    for args in (
        (x, 101, 1),
        (x, -1, 1),
        (x, 5, 2),
        (x, (5,), 1),
        (x, [5, "6"], 1),
        (x.T, 5, 1),
        (x[0, ::2], 5),
        (x.astype(np.int32), 5, 1),
        (x.astype(np.float32), 5, 1),
        (x, np.nan, 1),
    ):
        with pytest.raises(Called):
            own("numpy.percentile")(*args)


# ---- pads


@settings(max_examples=examples(12), deadline=None)
@given(
    st.sampled_from(["constant", "edge", "reflect", "symmetric", "wrap"]), st.sampled_from(["bool", "int16", "float32", "complex128"]),
    st.sampled_from([1, (2, 0), ((0, 3),), ((1, 2), (3, 4), (0, 0)), 0]), SEEDS,
)  # fmt: skip
def test_pads(mode, dtype, widths, seed):
    x = np.random.default_rng(seed).integers(0, 99, (11, 300, 12)).astype(dtype)
    got = twin("numpy.pad", np.pad)(x, widths, mode)
    same(got, np.pad(x, widths, mode))


def test_pads_of_long_rows():
    x = np.arange(1_000_003.0)
    for mode in ("constant", "edge", "reflect", "symmetric", "wrap"):
        same(own("numpy.pad")(x, (3, 70_000), mode=mode), np.pad(x, (3, 70_000), mode=mode))
    wide = x[:1_000_000].reshape(2, -1)
    same(own("numpy.pad")(wide, ((1, 0), (5, 2)), "edge"), np.pad(wide, ((1, 0), (5, 2)), "edge"))


def test_pads_that_are_numpys():
    x = np.ones((LARGE, 2))
    for args in (
        (x, 2, "reflect"),
        (x, 3, "wrap"),
        (x, 1, "mean"),
        (x, 1, None),
        (x, 1, lambda *given: None),
        (x, ((0, 0), (0, 10**6))),
        (x, -1),
        (x, [1, 2]),
        (x, ((1, 2),) * 3),
        (x.T, 1),
        (x[:0], 1, "edge"),
    ):
        with pytest.raises(Called):
            own("numpy.pad")(*args)


# ---- what a mask picks out


@settings(max_examples=examples(10), deadline=None)
@given(
    SIZES,
    st.sampled_from(["bool", "int16", "float32", "float64", "complex128"]),
    st.sampled_from([0, 0.01, 0.5, 1]),
    SEEDS,
)
def test_masks(size, dtype, share, seed):
    rng = np.random.default_rng(seed)
    x, mask = rng.integers(0, 99, (size, 3)).astype(dtype), rng.random(size) < share
    pick = twin("numpy.ndarray.__getitem__", np.ndarray.__getitem__)
    same(pick(x, (mask,)), x[mask])
    same(pick(x[:, 0].copy(), (mask,)), x[:, 0][mask])
    whole = rng.random((size, 3)) < share
    same(pick(x, (whole,)), x[whole])


@pytest.mark.parametrize("share", [0, 0.001, 0.02, 0.5, 1])
@pytest.mark.parametrize("count", [1 << 11, (1 << 11) + 3, (1 << 15) + 1])
def test_masks_of_few_and_many_items_of_all_sizes(count, share):
    rng = np.random.default_rng(3)
    mask = rng.random(count) < share
    for width in (1, 2, 3, 4, 5):
        for dtype in (np.uint8, np.int16, np.float32, np.float64, np.complex128):
            x = rng.integers(0, 99, (count, width)).astype(dtype)
            same(own("numpy.ndarray.__getitem__")(x, (mask,)), x[mask])
    mask[-1] = True
    same(own("numpy.ndarray.__getitem__")(np.arange(count), (mask,)), np.flatnonzero(mask))


@pytest.mark.parametrize("share", [0, 0.001, 0.02, 0.5, 1])
@pytest.mark.parametrize(
    "shape",
    [(1 << 11,), (1 << 11, 1), (1, (1 << 11) + 3), (300, 217), (70_001, 1), (13, 17, 19), (3, 1, 2, 5000), (9, 0, 9)],
)
def test_positions(shape, share):
    mask = np.random.default_rng(5).random(shape) < share
    if mask.size < 1 << 11:
        with pytest.raises(Called):
            own("numpy.nonzero")(mask)
        return
    found = own("numpy.nonzero")(mask)
    assert type(found) is tuple
    for got, wanted in zip(found, np.nonzero(mask), strict=True):
        same(got, wanted)
    for other in (mask.astype(np.int8), np.repeat(mask, 2, axis=-1)[..., ::2]):
        with pytest.raises(Called):
            own("numpy.nonzero")(other)


@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
def test_triangles(name):
    numpys = getattr(np, name)
    ours = own(f"numpy.{name}")
    for n, k, m in itertools.product((0, 1, 5, 40), (-50, -3, -1, 0, 1, 2, 4, 60), (None, 0, 1, 3, 50)):
        for got, wanted in zip(ours(n, k=k, m=m), numpys(n, k, m), strict=True):
            same(got, wanted)
    assert type(ours(3)) is tuple
    for args in (
        (3.0,),
        (-1,),
        (np.int64(3),),
        (3, np.int64(1)),
        (3, 0, -1),
        (3, 2**40),
        (True,),
        (3, 0, 3, 3),
        (3, 1.0),
    ):
        with pytest.raises(Called):
            ours(*args)


def test_a_mask_of_other_bytes():
    x, mask = np.arange(2.0 * LARGE), (np.arange(2 * LARGE) % 3).astype(np.uint8).view(bool)
    same(own("numpy.ndarray.__getitem__")(x, (mask,)), x[np.arange(2 * LARGE) % 3 > 0])


def test_items_that_are_numpys():
    x, mask = np.ones((LARGE, 2)), np.ones(LARGE, bool)
    for key in (mask, (mask, 0), (mask[:-1],), (mask[::2],), (0,), (slice(None),), (np.zeros(LARGE, int),)):
        with pytest.raises(Called):
            own("numpy.ndarray.__getitem__")(x, key)


# ---- in functions


def everything(x, at, y, rows):
    np.add.at(y, at, x * 2)
    kept = x[x > 0.5]
    padded = np.pad(rows, 1, mode="edge")
    sums = np.cumsum(x + 1) - 1
    return sums, np.bincount(at % 50), kept, padded[1:] - padded[:-1], np.percentile(rows + 1, 25, axis=-1)


def data(seed=0, size=2 * LARGE):
    rng = np.random.default_rng(seed)
    x = np.round(rng.random(size) * 64) / 64  # exact sums
    return x, rng.integers(0, 900, size), np.zeros(900), x.reshape(-1, 64)


def test_functions_with_twins(tmp_path, monkeypatch):
    compiled = tilewright.jit(everything, strict=True)
    for seed in (0, 1):
        given, wanted = data(seed), data(seed)
        for got, ours in zip(everything(*wanted), compiled(*given), strict=True):
            same(ours, got)
        same(given[2], wanted[2])
    compiled.export(tmp_path / "twins_module", targets=("x86-64",))
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("twins_module")
    given, wanted = data(2), data(2)
    for got, ours in zip(everything(*wanted), module.everything(*given), strict=True):
        same(ours, got)
    sys.modules.pop("twins_module")


@functools.wraps(np.cumsum)
def under_another_name(a):
    return np.cumsum(a) * 2


def test_a_function_that_is_called_as_numpys_has_no_twin():
    stage = Stage("numpy.cumsum($0)", "lambda held, a0: callee(a0)", "numpy.cumsum", under_another_name)
    assert not stage.has_twin
    x = np.ones(2 * LARGE)
    same(stage.function()({}, x), under_another_name(x))
    assert Stage("numpy.cumsum($0)", "lambda held, a0: callee(a0)", "numpy.cumsum", np.cumsum).has_twin


def scan_in_place(x):
    x[:] = np.cumsum(x)
    return x


def test_a_twin_whose_operand_is_written_behind_it():
    compiled = tilewright.jit(scan_in_place, strict=True)
    ours, theirs = np.ones(2 * LARGE), np.ones(2 * LARGE)
    scan_in_place(theirs)
    assert compiled(ours) is ours
    same(ours, theirs)


def picked_and_changed(x):
    kept = x[x > 0.5]
    other = kept
    kept[:2] = 7
    return kept, other, kept + 1


def test_what_a_mask_picks_out_is_changed():
    compiled = tilewright.jit(picked_and_changed, strict=True)
    x = data()[0]
    for got, ours in zip(picked_and_changed(x.copy()), compiled(x), strict=True):
        same(ours, got)


def kept_of_calls(x):
    return x[x > 0.5]


def test_results_of_calls_are_apart():
    compiled = tilewright.jit(kept_of_calls, strict=True)
    x = data()[0]
    first = compiled(x)
    before = first.copy()
    second = compiled(x * 0.75)
    assert not np.shares_memory(first, second)
    same(first, before)
    assert first.flags.owndata
    assert first.flags.writeable


# ---- unique integers


@settings(max_examples=examples(60), deadline=None)
@given(
    st.sampled_from("bhilqBHILQ"),
    st.sampled_from([0, 1, 2, 7, 300, 5000]),
    st.sampled_from([(0, 1), (0, 7), (-100, 100), (60, 127), (-(2**62), 2**62), (2**31 - 60, 2**31 - 1)]),
    SEEDS,
)
def test_unique_integers(code, size, bounds, seed):
    limits = np.iinfo(code)
    low, high = (min(max(bound, limits.min), limits.max) for bound in bounds)
    x = np.random.default_rng(seed).integers(low, high, size, endpoint=True).astype(code)
    x[: seed % 2] = limits.max
    unique = twin("numpy.unique", np.unique)
    wanted_parts = [{}, {"return_counts": True}, {"return_index": True}, {"return_inverse": True}, {"axis": 0}]
    wanted_parts.append({"return_counts": True, "return_index": True, "return_inverse": True})
    for given_parts in wanted_parts:
        for array in (x, x[::-1], x.reshape(-1, 1)):
            got, wanted = unique(array, **given_parts), np.unique(array, **given_parts)
            assert type(got) is type(wanted)
            for one, other in zip(
                *((each if isinstance(each, tuple) else (each,)) for each in (got, wanted)), strict=True
            ):
                same(one, other)


@settings(max_examples=examples(30), deadline=None)
@given(
    st.sampled_from(["f8", "f4", "i8", "u8", "i4"]), st.sampled_from(["any", "few", "far", "ordered", "special"]),
    st.sampled_from([1023, 1024, 5000]), SEEDS,
)  # fmt: skip
def test_unique_numbers(dtype, kind, size, seed):
    x = of_kind(kind, size, dtype, seed)
    unique = twin("numpy.unique", np.unique)
    names = ("return_index", "return_inverse", "return_counts")
    for wanted in ((), *((name,) for name in names), names):
        given_parts = dict.fromkeys(wanted, True)
        for array in (x, x[::-1], x[:1022].reshape(2, -1)):
            got, theirs = unique(array, **given_parts), np.unique(array, **given_parts)
            for one, other in zip(
                *((each if isinstance(each, tuple) else (each,)) for each in (got, theirs)), strict=True
            ):
                same(one, other)


def test_unique_integers_are_ours_where_a_table_is_small():
    unique = own("numpy.unique")
    same(unique(np.array([5, 3, 5, -1])), np.array([-1, 3, 5]))
    for given_to in (np.array([0, 1 << 40]), np.array([1.0]), [1, 2], np.array([], int), np.array([True])):
        with pytest.raises(Called):
            unique(given_to)
    with pytest.raises(Called):
        unique(np.array([1, 2]), sorted=False)
    with pytest.raises(Called):
        unique(np.array([1, 2]), return_counts=1)


# ---- sorts

DTYPES_IN_ORDER = ["f8", "f4", "i8", "i4", "i2", "u8", "u4", "u2"]


def of_kind(kind, size, dtype, seed):
    """Numbers with many equal ones, with far and near ones, in order, backwards, or with what stands last."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=size) * 1000
    if kind == "few":
        x = np.round(x / 400)
    elif kind == "far":  # most have their highest bits in common
        x = 1e9 + x / 1000
        x[seed % size] = -3.0
    elif kind == "ordered":
        x = np.sort(x)
    elif kind == "backwards":
        x = np.sort(x)[::-1]
    elif kind == "special":
        x[::7], x[1::7], x[2::9], x[3::9], x[4::11] = -0.0, 0.0, np.inf, -np.inf, np.nan
        x[5::13] = -np.nan
    if np.dtype(dtype).kind == "f":
        return x.astype(dtype)
    limits = np.iinfo(dtype)
    x = np.clip(np.nan_to_num(x), max(limits.min, -(2.0**62)), min(limits.max, 2.0**62)).astype(dtype)
    x[:2] = limits.min, limits.max
    return x


@settings(max_examples=examples(40), deadline=None)
@given(
    st.sampled_from(DTYPES_IN_ORDER),
    st.sampled_from(["any", "few", "far", "ordered", "backwards", "special"]),
    st.sampled_from([0, 1, 2, 1023, 1024, 1025, 5000, LARGE + 1, 200_003]),
    SEEDS,
)
def test_sorts(dtype, kind, size, seed):
    x = of_kind(kind, size, dtype, seed) if size > 2 else np.ones(size, dtype)
    sort, argsort, lexsort = (twin(f"numpy.{f.__name__}", f) for f in (np.sort, np.argsort, np.lexsort))
    for options in ({}, {"kind": "stable"}, {"stable": True}, {"kind": "heapsort"}, {"axis": None}):
        for array in (x, x[::-1], np.repeat(x, 2)[::2]):
            same(sort(array, **options), np.sort(array, **options))
            same(argsort(array, **options), np.argsort(array, **options))
    other = np.random.default_rng(seed).integers(0, 9, size)
    same(lexsort((x, other)), np.lexsort((x, other)))
    same(lexsort((other, x)), np.lexsort((other, x)))


@pytest.mark.parametrize("kind", ["any", "special"])
def test_rows_are_sorted_each_by_itself(kind):
    x = of_kind(kind, 7 * 3 * 5000, "f8", 5).reshape(7, 3, 5000)
    for function in (np.sort, np.argsort):
        ours = twin(f"numpy.{function.__name__}", function)
        for array in (x, x[::-1, ::2], x.transpose(2, 0, 1)):
            for axis in (-1, 0, 1, 2, None):
                for stability in (None, True):
                    same(ours(array, axis, stable=stability), function(array, axis, stable=stability))


def test_sorts_are_ours_where_there_is_one_answer():
    x = np.random.default_rng(1).normal(size=5000)
    if host_isa() != "x86-64-v4":
        same(own("numpy.sort")(x), np.sort(x))
        same(own("numpy.argsort")(x), np.argsort(x))
    same(own("numpy.argsort")(np.round(x), kind="stable"), np.argsort(np.round(x), kind="stable"))
    x[:2] = -0.0, np.nan
    same(own("numpy.sort")(x, kind="stable"), np.sort(x, kind="stable"))
    equal, one_pair = np.round(x, 1), np.random.default_rng(2).permutation(5000)
    one_pair[4000] = one_pair[17]
    in_vectors = [(name, (x.astype(t),)) for name in ("sort", "argsort", "unique") for t in ("f4", "f8")]
    for name, args in (
        *(in_vectors if host_isa() == "x86-64-v4" else ()),
        ("sort", (x,)),
        ("sort", (x[:1000],)),
        ("sort", (np.zeros(5000, "i2"), -1, "stable")),
        ("argsort", (np.zeros(5000, "u2"), -1, "stable")),
        ("sort", (np.ones(5000, bool),)),
        ("sort", (np.ones(5000, complex),)),
        ("sort", (list(range(5000)),)),
        ("sort", (x.reshape(5, -1), 0)),
        ("sort", (x.astype(">f8"), -1, "stable")),
        ("argsort", (equal,)),
        ("argsort", (one_pair,)),
        ("lexsort", ((x, x[:-1]),)),
        ("lexsort", (np.stack([x, x]),)),
        ("lexsort", ((x, x), 0)),
    ):
        with pytest.raises(Called):
            own(f"numpy.{name}")(*args)
    as_numpy(twin("numpy.sort", np.sort), np.sort, x, kind="fast")
    as_numpy(twin("numpy.sort", np.sort), np.sort, x, kind="stable", stable=True)
    as_numpy(twin("numpy.argsort", np.argsort), np.argsort, x, 1)


@pytest.mark.parametrize("size", [7, 3000])
def test_sorts_of_a_function(size):
    def ranked(x, group):
        order = np.argsort(-x, kind="stable")
        return order, np.sort(x)[::2] * 2, x[np.lexsort((x, group))], np.sort(x.reshape(1, -1))

    compiled = tilewright.jit(ranked, strict=True)
    for seed in range(4):
        x, group = of_kind("few", size, "f8", seed), np.arange(size) % 3
        for ours, theirs in zip(compiled(x, group), ranked(x, group), strict=True):
            same(ours, theirs)


# ---- draws

DRAWS = [
    ("random", (100,)), ("random", ((7, 11),)),  ("random", (3,)), ("random", ((),)), ("random", (70_001,)),
    ("uniform", (-1.5, 2.0, 99)), ("uniform", (2, 3, (8, 9))), ("uniform", (1.0, 1.0, 99)), ("uniform", (3.0, 1.0, 99)),
    ("uniform", (0.0, -0.0, 99)), ("uniform", (0.0, np.inf, 99)), ("uniform", (np.zeros(3), 1.0, (33, 3))),
    ("standard_normal", (99,)), ("standard_normal", ((7, 11, 3),)), ("standard_normal", (3,)), ("standard_normal", (300_001,)),
    ("standard_normal", (99, "f4")), ("normal", (0.5, 2.0, (11, 9))), ("normal", (1, 3, 99)), ("normal", (0.0, 0.0, 99)),
    ("normal", (0.0, -0.0, 99)), ("normal", (0.0, -1.0, 99)), ("normal", (np.nan, 1.0, 99)), ("normal", (0.0, np.inf, 99)),
    ("normal", (np.zeros(3), 1.0, (33, 3))),
    ("integers", (0, 1, 99)), ("integers", (0, 1500, (10, 15))), ("integers", (7, None, 99)), ("integers", (-5, 5, 101)),
    ("integers", (0, 2**31, 99)), ("integers", (0, 3 * 2**30, 99)), ("integers", (0, 2**32 - 1, 99)),
    ("integers", (0, 2**32, 99)), ("integers", (0, 2**32 + 1, 99)), ("integers", (-(2**63), 2**63 - 1, 99)),
    ("integers", (5, 5, 99)), ("integers", (2, 1, 99)), ("integers", (0, 10)), ("integers", (0, 10, 70_001)),
    ("choice", (7, 99)), ("choice", (0, 99)), ("choice", (np.arange(5.0), (9, 11))), ("choice", (np.arange(9)[::2], 99)),
    ("choice", (np.ones((3, 4)), 99)), ("choice", ([1, 2], 99)), ("choice", (99, 70, False)), ("choice", (np.array(["a", "b"]), 99)),
    ("permutation", (99,)), ("permutation", (3,)), ("permutation", (0,)), ("permutation", (np.arange(70_001.0),)),
    ("permutation", (np.ones((70, 2)).cumsum(0),)), ("permutation", (np.arange(300)[::3],)),
]  # fmt: skip


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937])
@pytest.mark.parametrize("draw", DRAWS, ids=str)
def test_draws(draw, bits):
    name, args = draw
    for seed in (0, 5):
        ours, theirs = np.random.Generator(bits(seed)), np.random.Generator(bits(seed))
        method = twin(f"numpy.random.Generator.{name}", getattr(ours, name))
        for _ in range(3):  # of an odd number of halves as well
            as_numpy(method, getattr(theirs, name), *args)
            assert str(ours.bit_generator.state) == str(theirs.bit_generator.state)


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "f4", "i8", "f8", "c16", "O"])
def test_shuffles(dtype):
    for size in (0, 1, 2, 63, 64, 65, 511, 512, 513, 1025, 70_001):
        ours, theirs = np.random.default_rng(size), np.random.default_rng(size)
        x, y = ((np.arange(size) % 251).astype(dtype) for _ in range(2))
        for _ in range(2):
            assert twin("numpy.random.Generator.shuffle", ours.shuffle)(x) is None
            theirs.shuffle(y)
            np.testing.assert_array_equal(x, y)
            assert ours.bit_generator.state == theirs.bit_generator.state


def test_draws_that_are_numpys():
    class Own(np.random.Generator):
        pass

    for generator in (Own(np.random.PCG64(1)), np.random.Generator(np.random.MT19937(1))):
        alike = type(generator)(type(generator.bit_generator)(1))
        same(twin("numpy.random.Generator.random", generator.random)(99), alike.random(99))
    with pytest.raises(Called):
        own("numpy.random.Generator.random")(99)  # no method of a generator
    generator = np.random.default_rng(1)
    same(twin("numpy.random.Generator.random", generator.random)(size=99), np.random.default_rng(1).random(99))
    rows = np.arange(300.0).reshape(100, 3)
    twin("numpy.random.Generator.shuffle", np.random.default_rng(1).shuffle)(rows)
    wanted = np.arange(300.0).reshape(100, 3)
    np.random.default_rng(1).shuffle(wanted)
    same(rows, wanted)
    frozen = np.arange(99)
    frozen.flags.writeable = False
    as_numpy(
        twin("numpy.random.Generator.shuffle", np.random.default_rng(1).shuffle),
        np.random.default_rng(1).shuffle,
        frozen,
    )


def test_normal_numbers_of_all_layers():
    ours, theirs = np.random.default_rng(7), np.random.default_rng(7)
    method = twin("numpy.random.Generator.standard_normal", ours.standard_normal)
    for _ in range(3):
        drawn = method(1_000_003)
        same(drawn, theirs.standard_normal(1_000_003))
        assert np.abs(drawn).max() > 3.66  # the tail
        assert ours.bit_generator.state == theirs.bit_generator.state


@pytest.mark.parametrize("count", [8191, 8192, 8193, 65_535, 65_536, 131_071, 200_003, 524_289])
@pytest.mark.parametrize("threads_used", [1, 2, 3])
def test_normal_numbers_of_threads_are_those_of_one(count, threads_used):
    """Chunks that begin inside of a number are drawn again."""
    with threads(threads_used):
        for seed in range(12):
            ours, theirs = np.random.default_rng(seed), np.random.default_rng(seed)
            for generator in (ours, theirs):
                generator.integers(0, 9)  # half a word is left
            method = twin("numpy.random.Generator.normal", ours.normal)
            same(method(1.5, 0.25, count), theirs.normal(1.5, 0.25, count))
            same(twin("numpy.random.Generator.random", ours.random)(count), theirs.random(count))
            assert ours.bit_generator.state == theirs.bit_generator.state
            assert ours.integers(0, 9) == theirs.integers(0, 9)


def test_draws_of_a_function():
    def draws(x, n, seed):
        rng = np.random.default_rng(seed)
        total = 0.0
        pooled = np.concatenate([x, -x])
        for _ in range(5):
            rng.shuffle(pooled)
            total += pooled[: len(x)].mean()
        idx = rng.integers(0, len(x), size=(n, len(x)))
        return (
            total,
            x[idx].mean(axis=1),
            rng.permutation(n),
            rng.choice(x, n),
            rng.uniform(-1, 1, n) + rng.normal(size=n),
        )

    compiled = tilewright.jit(draws, strict=True)
    x = np.random.default_rng(3).normal(size=333)
    for seed in range(4):
        for ours, theirs in zip(compiled(x, 150, seed), draws(x, 150, seed), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-13)
    assert "a twin" in compiled.explain(source=False)


# ---- least squares


def close(got, wanted, scale=1e-9):
    assert type(got) is type(wanted)
    if isinstance(got, np.ndarray):
        assert got.dtype == wanted.dtype
        assert got.shape == wanted.shape
    np.testing.assert_allclose(got, wanted, rtol=scale, atol=scale)


@settings(max_examples=examples(30), deadline=None)
@given(
    st.tuples(st.sampled_from([127, 128, 129, 500, 3001]), st.sampled_from([1, 2, 3, 7, 16])), st.sampled_from([0, 1, 3]),
    st.sampled_from([None, 1e-3, -1.0]), st.sampled_from([1.0, 1e-120, 1e120]), SEEDS,
)  # fmt: skip
def test_least_squares(shape, sides, rcond, scale, seed):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=shape) * scale
    b = rng.normal(size=(shape[0], sides) if sides else shape[0])
    ours = twin("numpy.linalg.lstsq", np.linalg.lstsq)(a, b, rcond)
    theirs = np.linalg.lstsq(a, b, rcond)
    assert type(ours) is tuple
    close(ours[0] * scale, theirs[0] * scale)
    close(ours[1], theirs[1])
    assert ours[2] == theirs[2]
    assert type(ours[2]) is type(theirs[2])
    close(ours[3] / scale, theirs[3] / scale)


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("size", [127, 128, 1000, 20_001])
def test_polynomials_that_fit(size, degree):
    x = np.random.default_rng(size).uniform(-2, 3, size)
    y = np.cos(x) + 0.1 * x
    close(twin("numpy.polyfit", np.polyfit)(x, y, degree), np.polyfit(x, y, degree))
    if size > 200:
        own("numpy.polyfit")(x, y, degree)


@pytest.mark.filterwarnings("ignore")
def test_least_squares_that_are_numpys():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(300, 3)), rng.normal(size=300)
    twice, tiny, near = a.copy(), a * 1e-200, a.copy()
    twice[:, 2] = twice[:, 0]
    near[:, 2] = near[:, 0] + 1e-9 * near[:, 1]
    nothing, spoilt = a.copy(), b.copy()
    nothing[:, 1], spoilt[7] = 0.0, np.nan
    for args in (
        (twice, b), (tiny, b), (near, b), (nothing, b), (a, spoilt), (a, b[:-1]), (a.astype("f4"), b), (a.T, b),
        (a + 0j, b), (a, np.zeros((300, 0))), (a[:20], b[:20]), (a, b, 1), (a.tolist(), b), (a[:, :0], b),
    ):  # fmt: skip
        own_twin = twin("numpy.linalg.lstsq", np.linalg.lstsq)
        as_numpy(lambda *args, f=own_twin: f(*args)[0], lambda *args: np.linalg.lstsq(*args)[0], *args)
    ones = np.ones(300)
    for args in (
        (ones, b, 2), (b, spoilt, 2), (spoilt, b, 1), (b, b, -1), (b, b, 1.5), (b, a, 2), (b[:20], b[:20], 2), (b, b, 9),
        (b, b, 2, None, True), (b, b, 2, None, False, ones), (b, b[:-1], 2), (b.tolist(), b, 2), (b + 100000, b, 4),
    ):  # fmt: skip
        fit = twin("numpy.polyfit", np.polyfit)
        as_numpy(lambda *args, f=fit: f(*args)[0], lambda *args: np.polyfit(*args)[0], *args)
    with pytest.warns(np.exceptions.RankWarning):
        twin("numpy.polyfit", np.polyfit)(ones, b, 2)


def fit_of_a_part(x, y):
    mask = x > 0.25
    c = np.polyfit(x[mask], y[mask], 2)
    a = np.stack([x, x * x, np.ones(len(x))], axis=1)
    solution, rest, rank, values = np.linalg.lstsq(a, y, rcond=None)
    return np.polyval(c, x), a @ solution, rest, rank, values


@pytest.mark.parametrize("size", [40, 2000])
def test_fits_of_a_function(size):
    compiled = tilewright.jit(fit_of_a_part, strict=True)
    for seed in range(3):
        x, y = np.random.default_rng(seed).random((2, size))
        for ours, theirs in zip(compiled(x, y), fit_of_a_part(x, y), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-12)


# ---- small calls of what NumPy has in Python


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "i1", "u1", "u2", "u8", "?"])
@pytest.mark.parametrize("shape", [(1,), (2,), (3,), (31,), (4, 5), (1, 7), (6, 1), (3, 0), (0,)])
def test_small_calls(dtype, shape):
    rng = np.random.default_rng(3)
    functions = {name: twin(f"numpy.{name}", getattr(np, name)) for name in ("median", "percentile", "quantile", "pad")}
    kinds = [lambda x: x, np.round]
    if dtype[0] == "f" and np.prod(shape):
        kinds += [lambda x: x * np.nan, lambda x: np.where(x > 1, np.inf, -np.abs(x) * 0)]
    for kind in kinds:
        x = kind(rng.normal(size=shape) * 4)
        x = x.astype(dtype) if dtype[0] in "fi" else np.abs(x).astype(dtype)
        for axis in (None, 0, -1, 5):
            as_numpy(functions["median"], np.median, x, axis=axis)
            for q in (0, 50, 12.5, 100, 101, [25, 75], [0, 100.0], [], (5, 95)):
                as_numpy(functions["percentile"], np.percentile, x, q, axis=axis)
            for q in (0, 0.5, 1, [0.25, 1.0], [0, 1]):
                as_numpy(functions["quantile"], np.quantile, x, q, axis=axis)
        for width in (0, 2, (1, 3)):
            for mode in ("constant", "edge", "reflect", "symmetric", "wrap"):
                as_numpy(functions["pad"], np.pad, x, width, mode=mode)


def test_quantiles_of_integers_that_float64_does_not_hold_are_numpys():
    x = np.array([2**60 + 1, 2**60 + 3, 5])
    with pytest.raises(Called):
        own("numpy.percentile")(x, 50)
    same(twin("numpy.median", np.median)(x), np.median(x))


@pytest.mark.parametrize(
    ("function", "dtype"),
    one_in(
        3,
        [
            lambda x, y: np.union1d(x, y[::2]) + 1,
            lambda x, y: np.union1d(x.reshape(2, -1), y).size,
            lambda x, y: np.intersect1d(x, y)[::-1] * 2,
            lambda x, y: np.intersect1d(x, [1, 2, 3]),
            lambda x, y: np.intersect1d(x, y, assume_unique=True),
            lambda x, y: np.intersect1d(x, y, return_indices=True),
        ],
        ["f8", "i8", "i1"],
    ),
)
def test_sets_are_what_unique_makes_of_them(function, dtype):
    random = np.random.default_rng(1)
    compiled = tilewright.jit(function, strict=True)
    for size in (2, 0, 8, 40, 300):
        x, y = (random.integers(0, 30, n).astype(dtype) for n in (size, size + 1))
        if dtype == "f8" and size > 2:
            x[1] = y[0] = np.nan
        got, wanted = compiled(x, y), function(x, y)
        assert type(got) is type(wanted)
        for one, other in zip(*((each if isinstance(each, tuple) else (each,)) for each in (got, wanted)), strict=True):
            assert np.asarray(one).dtype == np.asarray(other).dtype
            np.testing.assert_array_equal(one, other)


# ---- small systems

LINALG = ("inv", "det", "solve")


def linalg(name):
    return twin(f"numpy.linalg.{name}", getattr(np.linalg, name))


def matrices(rng, kind, n, dtype):
    a = rng.normal(size=(n, n))
    if kind == "singular":
        a[:, n - 1] = a[:, 0] * 2 if n > 1 else 0.0
    elif kind == "zeros":
        a[:] = 0.0
    elif kind == "nan":
        a[n // 2, 0] = np.nan
    elif kind == "inf":
        a[0, n // 2] = np.inf
    elif kind == "huge":
        a *= 1e200 if dtype == "float64" else 1e20
    elif kind == "tiny":
        a *= 1e-200 if dtype == "float64" else 1e-30
    elif kind == "swapped":
        a = np.eye(n)[rng.permutation(n)] * -1.5
    return a.astype(dtype)


@settings(max_examples=examples(150), deadline=None)
@given(
    st.sampled_from([1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33]), st.sampled_from(["float64", "float32", "int64", "complex128"]),
    st.sampled_from(["normal", "singular", "zeros", "nan", "inf", "huge", "tiny", "swapped"]), st.sampled_from(["C", "F", "strided"]),
    st.sampled_from([None, 1, 3]), SEEDS,
)  # fmt: skip
def test_small_systems(n, dtype, kind, order, sides, seed):  # noqa: PLR0917
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        a = matrices(rng, kind, n, dtype)
        b = rng.normal(size=n if sides is None else (n, sides)).astype(dtype)
    a = np.repeat(a, 2, axis=0)[::2] if order == "strided" else np.asarray(a, order=order)
    kept = a.copy(), b.copy()
    with np.errstate(all="ignore"):
        for name, args in (("inv", (a,)), ("det", (a,)), ("solve", (a, b))):
            as_numpy(linalg(name), getattr(np.linalg, name), *args)
    assert np.array_equal(a, kept[0], equal_nan=True) and np.array_equal(b, kept[1], equal_nan=True)


def test_small_systems_are_computed_without_numpy():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(4, 4)), rng.normal(size=(4, 2))
    same(own("numpy.linalg.inv")(a), np.linalg.inv(a))
    same(own("numpy.linalg.det")(a), np.linalg.det(a))
    same(own("numpy.linalg.solve")(a, b), np.linalg.solve(a, b))
    same(own("numpy.linalg.solve")(a, b=b[:, 0].copy()), np.linalg.solve(a, b[:, 0]))
    stack = rng.normal(size=(3, 2, 5, 5))
    same(own("numpy.linalg.inv")(stack), np.linalg.inv(stack))
    same(own("numpy.linalg.det")(stack), np.linalg.det(stack))
    for name in LINALG:
        with pytest.raises(Called):
            own(f"numpy.linalg.{name}")(*([np.eye(33)] * (2 if name == "solve" else 1)))


def test_calls_of_linear_algebra_that_are_numpys():
    a, b = np.eye(3) + 1.0, np.ones(3)
    for name, args in (
        ("inv", (np.ones((2, 3)),)), ("det", (np.ones(3),)), ("inv", (np.zeros((0, 0)),)), ("det", (np.zeros((0, 0)),)),
        ("inv", (np.zeros((0, 3, 3)),)), ("inv", (a.tolist(),)), ("solve", (a, np.ones(2))),
        ("solve", (a, b.astype("f4"))), ("solve", (a.astype("f4"), b)), ("solve", (a, np.ones((3, 0)))), ("solve", (a, np.ones((2, 3, 1)))),
        ("solve", (np.stack([a, a]), np.ones((2, 3, 1)))), ("solve", (a,)), ("inv", ()), ("inv", (a.astype(">f8"),)), ("det", (a > 1,)),
        ("solve", (np.zeros((3, 3)), b)), ("inv", (np.zeros((3, 3)),)), ("inv", (np.stack([a, np.zeros((3, 3))]),)),
        ("solve", (a, np.array(1.0))), ("det", (np.array(1.0),)),
    ):  # fmt: skip
        as_numpy(linalg(name), getattr(np.linalg, name), *args)


def of_small_systems(a, b):
    s = a * 0.125 + np.eye(len(a), dtype=a.dtype) * 4
    return np.linalg.inv(s), np.linalg.det(s), np.linalg.solve(s, b), b * 2


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_small_systems_between_kernels(dtype):
    rng = np.random.default_rng(5)
    for n in (1, 4, 32, 40):
        check(of_small_systems, rng.normal(size=(n, n)).astype(dtype), rng.normal(size=(n, 2)).astype(dtype))
