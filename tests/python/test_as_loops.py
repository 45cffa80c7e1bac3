"""NumPy functions that are compiled as loops of our own, and histograms, beside NumPy."""

import warnings

import numpy as np
import pytest
import tilewright
from examples import examples
from extreme_numbers import extreme_numbers
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright.ops import counts

pytestmark = pytest.mark.compile

FLOATS = ["float32", "float64"]
NUMBERS = [*FLOATS, "int8", "int32", "int64", "uint16", "uint64"]
SPECIALS = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.5, 1e-310])


def data(dtype, shape, seed, specials=True):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        values = rng.normal(size=shape)
        if specials:
            where = rng.random(shape) < 0.1
            values[where] = rng.choice(SPECIALS, where.sum())
        return values.astype(dtype)
    return extreme_numbers(dtype, shape, rng)


def outcome(f, args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return f(*args), None
        except Exception as error:
            return None, error


def check(f, *args, strict="kernels", tolerance=0.0):
    """The same values, dtypes and errors, twice."""
    wanted, error = outcome(f, args)
    compiled = tilewright.jit(f, strict=strict)
    for _ in range(2):
        got, raised = outcome(compiled, args)
        assert type(raised) is type(error), raised
        assert str(raised) == str(error)
        for one, other in zip(*((x if isinstance(x, tuple) else (x,)) for x in (got, wanted)), strict=True):
            assert type(one) is type(other)
            if error is None:
                assert one.dtype == other.dtype
                np.testing.assert_allclose(one, other, rtol=tolerance, atol=0)
    return compiled


# ---- scans


def cumsum_rows(a):
    return np.cumsum(a, axis=0)


def cumprod_middle(a):
    return np.cumprod(a, axis=1)


def running_maximum(a):
    return np.maximum.accumulate(a) + np.minimum.accumulate(a, axis=-2)


@settings(max_examples=examples(2), deadline=None)
@given(st.sampled_from([*NUMBERS, "bool"]), st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 2, 3, 9, 40]))
def test_scans_of_rows(dtype, seed, rows):
    check(cumsum_rows, data(dtype, (rows, 17), seed))
    check(cumsum_rows, data(dtype, (17, rows), seed).T)
    check(cumsum_rows, data(dtype, (rows, 0), seed))
    check(cumprod_middle, data(dtype, (3, rows, 5), seed))
    check(cumprod_middle, data(dtype, (3, 2 * rows, 10), seed)[:, ::-2, ::2])
    if dtype != "bool":
        check(running_maximum, data(dtype, (max(rows, 1), 6), seed))


def test_scans_in_another_dtype():
    def f(a):
        return np.cumsum(a, axis=0, dtype=np.float32), np.add.accumulate(a, dtype=np.int16)

    check(f, data("int8", (30, 7), 1))


def test_scans_along_the_last_axis_are_numpys():
    def f(a):
        return np.cumsum(a, axis=-1)

    check(f, data("float64", (30, 7), 1), strict=True)
    with pytest.raises(tilewright.TraceError, match="no kernel computes it along the last axis"):
        tilewright.jit(f, strict="kernels")(np.ones((30, 7)))


# ---- searches


def left(a, v):
    return np.searchsorted(a, v)


def right(a, v):
    return np.searchsorted(a, v, side="right")


@settings(max_examples=examples(2), deadline=None)
@given(
    st.sampled_from([*NUMBERS, "bool"]),
    st.sampled_from(NUMBERS),
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2, 3, 8, 31, 32, 33, 100]),
)
def test_searches(dtype, of_keys, seed, n):
    a, v = np.sort(data(dtype, n, seed)), data(of_keys, (5, 7), seed + 1)
    check(left, a, v)
    check(right, a, v)
    check(left, a, a)
    check(right, a, a[::2])
    check(left, a, v[:0])


def test_searches_in_nothing_and_of_one():
    check(right, np.zeros(0), np.ones(3))
    check(left, np.arange(5.0), np.float64(2.5), strict=True)
    check(left, np.ones((2, 2)), np.ones(3), strict=True)


def digitized(x, bins):
    return np.digitize(x, bins), np.digitize(x, bins, right=True)


@settings(max_examples=examples(2), deadline=None)
@given(st.sampled_from(NUMBERS), st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 5, 20]))
def test_digitize(dtype, seed, count):
    bins = np.unique(data(dtype, count, seed, specials=False))
    x = data(dtype, (4, 9), seed)
    check(digitized, x, bins)
    check(digitized, x, bins[::-1])
    check(digitized, x, np.repeat(bins, 2))


def test_digitize_in_what_is_not_ordered():
    check(digitized, np.ones(4), np.array([1.0, 3.0, 2.0]))
    check(digitized, np.ones(4), np.array([1.0, 1.0, 3.0, 2.0, 0.0]))


# ---- filters


def convolved(a, v):
    return np.convolve(a, v), np.convolve(v, a, mode="same"), np.convolve(a, v, mode="valid")


def correlated(a, v):
    return (
        np.correlate(a, v),
        np.correlate(v, a),
        np.correlate(a, v, "full"),
        np.correlate(a, v, "same"),
        np.correlate(v, a, "same"),
    )


@pytest.mark.parametrize("function", [convolved, correlated])
@settings(max_examples=examples(2), deadline=None)
@given(
    st.sampled_from(["float64", "float32", "int32", "int16"]), st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2, 5, 16, 17, 40, 50, 51]),
)  # fmt: skip
def test_convolutions_and_correlations(function, dtype, seed, taps):
    rng = np.random.default_rng(seed)
    a, v = (rng.integers(1, 9, n).astype(dtype) for n in (40, taps))  # exact sums
    check(function, a, v)
    check(function, a[::-2], v)


def test_convolutions_are_searched():
    rng = np.random.default_rng(4)
    tuned = tilewright.jit(np_convolve)
    tuned.tune(rng.normal(size=5000), rng.normal(size=64), budget=1)  # NumPy adds in another order: no wrong answer


def test_convolution_is_as_accurate_as_numpys():
    rng = np.random.default_rng(3)
    a, v = rng.normal(size=3000), rng.normal(size=100)
    exact = np.convolve(a.astype(np.longdouble), v)
    ours = tilewright.jit(np_convolve, strict="kernels")(a, v)
    assert np.abs(ours - exact).max() <= np.abs(np.convolve(a, v) - exact).max() * 1.5


def np_convolve(a, v):
    return np.convolve(a, v)


def test_convolutions_with_specials():
    a = np.random.default_rng(5).integers(-3, 4, 60).astype(float)
    a[[7, 20, 21]] = np.inf, -np.inf, np.nan
    check(np_convolve, a, np.ones(4))
    check(np_convolve, np.ones(20), np.array([1.0, np.inf, 2.0]), strict=True)
    check(np_convolve, np.array([np.nan, 1.0]), np.ones(20), strict=True)
    check(np_convolve, np.ones(20), np.zeros(0), strict=True)
    check(np_convolve, np.zeros(0), np.ones(3), strict=True)


# ---- histograms


def counted(x, bins):
    return np.histogram(x, bins)


def counted_between(x, bins):
    return np.histogram(x, bins=bins, range=(-1.5, 2))


def densities(x):
    return np.histogram(x, 20, (-2.0, 2.0), density=True)


@settings(max_examples=examples(3), deadline=None)
@given(
    st.sampled_from(["float32", "float64", "int8", "uint8", "int32", "uint16"]),
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2, 3, 10, 255, 1025]),
    st.sampled_from([(1,), (2,), (40,), (30, 50)]),
)
def test_histograms(dtype, seed, bins, shape):
    x = data(dtype, shape, seed, specials=False)
    check(counted, x, bins, strict=True)
    check(counted_between, data(dtype, shape, seed), bins, strict=True)
    check(densities, x, strict=True)


WEIGHED = tilewright.jit(lambda x, bins, weights: np.histogram(x, bins, weights=weights), strict="kernels")


@settings(max_examples=examples(6), deadline=None)
@given(
    st.sampled_from(["float32", "float64", "int16"]),
    st.sampled_from(["float32", "float64", "int32", "uint32", "int64"]),
    st.sampled_from([1, 10, 1024]),
    st.sampled_from([1, 3, 2000, 65536, 65537, 1_400_000]),
    st.integers(0, 2**32 - 1),
)
def test_histograms_of_weights(dtype, weight_dtype, bins, size, seed):
    """NumPy's bits: it adds up the sums of blocks of 65,536 elements."""
    rng = np.random.default_rng(seed)
    x = (rng.normal(size=size) * 100).astype(dtype)
    weights = (rng.random(size) * 50).astype(weight_dtype)
    for got, wanted in zip(WEIGHED(x, bins, weights), np.histogram(x, bins, weights=weights), strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)


def test_weights_of_another_shape():
    for x, weights in [(np.ones(3), np.ones(4)), (np.ones((3, 1)), np.ones(3))]:
        with pytest.raises(ValueError, match="weights should have the same shape as a"):
            WEIGHED(x, 4, weights)


@settings(max_examples=examples(8), deadline=None)
@given(st.integers(1, 400), st.sampled_from(FLOATS), st.integers(0, 2**32 - 1))
def test_elements_on_edges_and_beside_them(bins, dtype, seed):
    """What the quotient puts into a neighbour is put right."""
    low, high = np.sort(np.random.default_rng(seed).normal(size=2))
    low, high = float(low), float(high)
    edges = np.linspace(low, high, bins + 1).astype(dtype)
    x = np.concatenate([edges, np.nextafter(edges, edges - 1), np.nextafter(edges, edges + 1)])
    wanted = np.histogram(x, bins, (low, high))
    got = HISTOGRAM(x, bins, low, high)
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


HISTOGRAM = tilewright.jit(lambda x, bins, low, high: np.histogram(x, bins, (low, high)))


@settings(max_examples=examples(8), deadline=None)
@given(
    st.sampled_from(FLOATS),
    st.sampled_from([1, 3, 100]),
    st.integers(0, 2**32 - 1),
    st.sampled_from([-322, -310, -42, -38, 0, 7, 30, 300]),
    st.sampled_from([0.0, 1.0, -3.0]),
)
def test_histograms_of_numbers_of_any_size_and_close_to_each_other(dtype, bins, seed, exponent, centre):
    """Extents of no normal number, of a few ULP and near the largest number: the edges decide, or NumPy counts."""
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        x = (rng.integers(-50, 51, 60) * 10.0**exponent).astype(dtype)
        close = (centre + rng.integers(-3 * bins, 3 * bins + 1, 60) * np.spacing(np.dtype(dtype).type(2))).astype(dtype)
    check(counted, x, bins, strict=True)
    check(counted, close, bins, strict=True)


def test_more_bins_than_floats_count_are_looked_up(monkeypatch):
    monkeypatch.setattr(counts, "BINS_IN_FLOATS", 1)
    looked_up = tilewright.jit(lambda x, bins, low, high: np.histogram(x, bins, (low, high)), strict=True)
    for dtype in FLOATS:
        edges = np.linspace(-1.5, 2.0, 31).astype(dtype)
        x = np.concatenate([data(dtype, 50, 1), edges, np.nextafter(edges, edges - 1), np.nextafter(edges, edges + 1)])
        for got, wanted in zip(looked_up(x, 30, -1.5, 2.0), np.histogram(x, 30, (-1.5, 2.0)), strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_histograms_that_numpy_refuses():
    check(counted, np.array([1.0, np.nan]), 5, strict=True)
    check(counted, np.array([1.0, np.inf]), 5, strict=True)
    check(counted, np.ones(4), 0, strict=True)
    check(counted, np.zeros(0), 4, strict=True)
    check(counted, np.array([1.0, np.nextafter(1.0, 2.0)]), 10, strict=True)
    check(counted, np.ones(5), 4, strict=True)
    check(counted, np.ones(5) > 0, 4, strict=True)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda x, n: np.histogram(x, n, (0, x.size / n)), "between ends that the source does not give as numbers"),
        (lambda x, n: np.histogram(x, n, (0, 1e99)), "between ends as large as 1e+99"),
        (lambda x, n: np.histogram(x, [0.0, 0.5, 2.0]), "but with a number of equal bins"),
        (lambda x, n: np.histogram(x[x > 0.5], n, (0, 2)), "of no elements, or as many as the data decide"),
        (lambda x, n: np.histogram(x, 2000, (0, 2), weights=x), "with weights in more than 1,024 bins"),
        (lambda x, n: np.histogram(x, n, (0, 2), weights=x * 1j), "with weights of complex128"),
    ],
)
def test_histograms_that_no_kernel_computes_say_why(function, why):
    traced = tilewright.jit(function, strict=True)
    x = np.linspace(0.0, 2.0, 50)
    np.testing.assert_array_equal(traced(x, 5)[0], function(x, 5)[0])
    (stage,) = (one for one in traced.specializations[0].numpy_stages if "histogram" in one.stage)
    assert stage.why == f"np.histogram(); no kernel computes it {why}"


# ---- elements at positions


def taken(a, i):
    return np.take(a, i)


def rows_taken(a, i):
    return np.take(a, i, axis=0)


@settings(max_examples=examples(5), deadline=None)
@given(
    st.sampled_from([*NUMBERS, "bool", "complex64", "complex128", "float16"]),
    st.sampled_from(["int64", "int32", "int8", "uint8", "uint32"]),
    st.tuples(st.sampled_from([(7,), (1,), (0,), (3, 4), (2, 0)]), st.sampled_from([(5,), (0,), (1,), (2, 3)])),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
def test_take(dtype, index, shapes, seed, is_backwards):
    shape, count = shapes
    rng = np.random.default_rng(seed)
    a = rng.integers(-3, 4, shape).astype(dtype)
    low = -2 if np.dtype(index).kind == "i" else 0
    i = rng.integers(low, 8 if seed % 2 else 2, count).astype(index)
    if is_backwards:
        a, i = a[::-1], i[::-1]
    strict = "kernels" if a.size and dtype in NUMBERS else True
    check(taken, a, i, strict=strict)
    check(rows_taken, a, i, strict=strict)


def test_what_take_leaves_to_numpy():
    a, i = np.arange(12.0).reshape(3, 4), np.array([0, 5, -9])
    check(lambda a, i: np.take(a, i, mode="wrap"), a, i, strict=True)
    check(lambda a, i: np.take(a, i, mode="clip"), a, i, strict=True)
    check(lambda a, i: np.take(a, i, axis=1), a, np.array([0, 3]), strict=True)
    check(lambda a, i: np.take(a, i, axis=-2), a, np.array([0, 2]), strict="kernels")
    check(taken, a, np.array([True, False]), strict=True)
    check(taken, a, np.array([0, 1], np.uint64), strict=True)
    check(lambda a, i: np.take(a[a > 3], i), a, np.array([0, 3]), strict=True)
    check(lambda a, m: np.take(a, np.flatnonzero(m)), a, np.array([0, 3]), strict=True)


def table_of_distances(a, b):
    columns = np.arange(len(b) + 1)
    previous = columns.copy()
    for i, c in enumerate(a):
        current = previous + 1
        current[0] = i + 1
        current[1:] = np.minimum(current[1:], previous[:-1] + (b != c))
        previous = np.minimum.accumulate(current - columns) + columns
    return previous


def sums_and_products_of_vectors(x, n):
    y = np.zeros(x.shape)
    for i in range(n):
        y += np.cumsum(x * i) - np.cumprod(x[::-1])
        y[: x.shape[0] // 2] -= np.maximum.accumulate(x[: x.shape[0] // 2])
    return y


@pytest.mark.parametrize("n", [1, 2, 90, 333])
def test_vectors_accumulated_in_a_loop(n: int) -> None:
    rng = np.random.default_rng(n)
    a, b = rng.integers(0, 4, n).astype(np.uint8), rng.integers(0, 4, n // 2 + 1).astype(np.uint8)
    compiled = tilewright.jit(strict="kernels" if n > 64 else True)(table_of_distances)
    np.testing.assert_array_equal(compiled(a, b), table_of_distances(a, b))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8", "uint16"])
def test_accumulations_of_vectors_are_numpys(dtype: str) -> None:
    def f(x, out, lows):
        for i in range(out.shape[0]):
            out[i] = np.cumsum(x[i])
            lows[i] = np.minimum.accumulate(x[i]) + np.maximum.accumulate(x[i, ::-1])

    compiled = tilewright.jit(strict="kernels")(f)
    rng = np.random.default_rng(5)
    for n in (1, 7, 130):
        x = (rng.standard_normal((80, n)) * 40).astype(dtype)
        if x.dtype.kind == "f":
            x[3, n // 2] = np.nan
            x[4] = -0.0
            x[5, 0] = np.inf
        wide = np.cumsum(x[0]).dtype
        got, expected = ([np.zeros((80, n), wide), np.zeros((80, n), dtype)] for _ in range(2))
        compiled(x, *got)
        f(x, *expected)
        for mine, theirs in zip(got, expected, strict=True):
            np.testing.assert_array_equal(mine, theirs)
            assert mine.dtype.kind != "f" or not (np.signbit(mine) != np.signbit(theirs))[~np.isnan(theirs)].any()


@pytest.mark.parametrize("n", [1, 5, 200])
def test_sums_and_products_in_a_loop(n: int) -> None:
    x = np.random.default_rng(n).uniform(0.5, 1.5, n)
    compiled = tilewright.jit(strict="kernels")(sums_and_products_of_vectors)
    np.testing.assert_allclose(compiled(x, 90), sums_and_products_of_vectors(x, 90), rtol=1e-12)


def test_loops_over_arrays_of_the_trace_stay_loops() -> None:
    def f(text, x):
        total = 0.0
        for i, c in enumerate(np.frombuffer(text, np.uint8)):
            total = total * 0.5 + x[i % x.shape[0]] * c
        for c, d in zip(np.arange(500) % 7, np.frombuffer(text, np.uint8)[:500], strict=True):
            total = total + c * d
        return total

    text, x = bytes(range(200)) * 20, np.linspace(0, 1, 33)
    assert tilewright.jit(strict="kernels")(f)(text, x) == f(text, x)


def between_peaks(x, t):
    d = np.diff(x)
    peaks = np.where((d[:-1] > 0) & (d[1:] <= 0))[0] + 1
    peaks = np.concatenate([[0], peaks, [len(x) - 1]])
    return np.interp(t, t[peaks], x[peaks])


def over_gaps(x, t):
    gaps = np.isnan(x)
    filled = x.copy()
    filled[gaps] = np.interp(np.flatnonzero(gaps), np.flatnonzero(~gaps), x[~gaps])
    return filled + t * 0


def with_ends(x, t):
    at = np.nonzero(x > 0)[0]
    return np.interp(t, at, x[at], left=-1.0, right=5)


@pytest.mark.parametrize("function", [between_peaks, over_gaps, with_ends])
def test_interpolation_between_as_many_points_as_data_say(function) -> None:
    compiled = tilewright.jit(function, strict=True)
    t, x = np.arange(300) / 7.0, np.random.default_rng(0).normal(size=300)
    gaps, one, two, inf = x.copy(), np.full(300, -1.0), np.full(300, -1.0), x.copy()
    gaps[::7], one[7], two[[7, 100]], inf[3] = np.nan, 2.0, 3.0, np.inf
    for data in (gaps, x, -x, one, two, np.full(300, -1.0), np.full(300, np.nan), inf, gaps, x):
        results = []
        for run in (compiled, function):
            try:
                results.append(run(data, t))
            except ValueError as error:
                results.append(str(error))
        ours, expected = results
        assert type(ours) is type(expected)
        assert np.array_equal(ours, expected, equal_nan=True) if isinstance(ours, np.ndarray) else ours == expected
    assert function is not between_peaks or "numpy.interp" not in compiled.explain(source=False)
