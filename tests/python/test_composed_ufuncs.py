"""Ufuncs that are formulas of others, and functions that are loops over vectors: in kernels, as NumPy gives them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.compile

SPECIAL = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1.0,
    -1.0,
    0.5,
    -0.5,
    5e-324,
    -1e-310,
    1e308,
    2.0**60,
    2.0**28,
    1.0000001,
]


def calling(ufunc: np.ufunc) -> Any:
    """A function of the user's, of as many arguments."""
    if ufunc.nin == 1:
        return lambda x: ufunc(x)  # noqa: PLW0108
    return lambda x, y: ufunc(x, y)  # noqa: PLW0108


REAL = {
    "arcsinh": np.arcsinh,
    "arccosh": np.arccosh,
    "arctanh": np.arctanh,
}


def numbers(dtype: Any, seed: int, count: int = 4000) -> Any:
    rng = np.random.default_rng(seed)
    width = np.dtype(dtype).itemsize
    bits = rng.integers(0, 2 ** (8 * width - 1), count, dtype=f"u{width}").view(dtype)
    near_one = 1 + rng.standard_normal(count) * 1e-3
    with np.errstate(all="ignore"):
        parts = [SPECIAL, rng.standard_normal(count), near_one, np.exp(rng.uniform(-80, 80, count))]
        return np.concatenate([*(np.array(part).astype(dtype) for part in parts), bits, -bits])


def errors_in_ulp(got: Any, want: Any) -> Any:
    """Of results against those in extended precision."""
    rounded = want.astype(got.dtype)
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    unit = np.spacing(np.abs(rounded)).astype(np.longdouble)
    return np.where(same, 0, np.abs(got.astype(np.longdouble) - want) / unit)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", REAL)
def test_inverse_hyperbolic_functions_are_within_two_ulp(name, dtype):
    x = numbers(dtype, 1)
    with np.errstate(all="ignore"):
        got = tilewright.jit(calling(REAL[name]), strict="kernels")(x)
        want = REAL[name](x.astype(np.longdouble))
        assert got.dtype == dtype
        assert np.max(errors_in_ulp(got, want)) <= 2
        np.testing.assert_array_equal(np.signbit(got) & ~np.isnan(got), np.signbit(want) & ~np.isnan(want))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("ufunc", [np.logaddexp, np.logaddexp2])
def test_sums_of_exponentials(ufunc, dtype):
    x = numbers(dtype, 2)
    y = np.roll(x, 7)
    with np.errstate(all="ignore"):
        y[::3] = x[::3] + np.random.default_rng(0).standard_normal(len(y[::3])).astype(dtype)
    with np.errstate(all="ignore"):
        got = tilewright.jit(calling(ufunc), strict="kernels")(x, y)
        want = ufunc(x.astype(np.longdouble), y.astype(np.longdouble))
    assert got.dtype == dtype
    size = np.maximum(1, np.maximum(np.abs(x), np.abs(y)))  # what is cancelled has an error of its own size
    finite = np.isfinite(want.astype(dtype))
    assert np.max(np.abs(got - want)[finite] / size[finite]) <= 4 * np.finfo(dtype).eps
    np.testing.assert_array_equal(got[~finite], want.astype(dtype)[~finite])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_heaviside_and_modf_are_numpys(dtype):
    x, y = numbers(dtype, 3), numbers(dtype, 4)[::-1]
    np.testing.assert_array_equal(tilewright.jit(calling(np.heaviside), strict="kernels")(x, y), np.heaviside(x, y))
    with np.errstate(all="ignore"):
        got, want = tilewright.jit(calling(np.modf), strict="kernels")(x), np.modf(x)
    for mine, numpys in zip(got, want, strict=True):
        np.testing.assert_array_equal(mine, numpys)
        np.testing.assert_array_equal(np.signbit(mine)[~np.isnan(x)], np.signbit(numpys)[~np.isnan(x)])
        assert mine.dtype == dtype


@pytest.mark.parametrize("dtype", "bBhHiIlL")
def test_bits_are_counted(dtype):
    limits = np.iinfo(dtype)
    x = np.random.default_rng(5).integers(limits.min, limits.max, 500, dtype, endpoint=True)
    x[:4] = [limits.min, limits.max, 0, 1]
    got = tilewright.jit(calling(np.bitwise_count), strict="kernels")(x)
    np.testing.assert_array_equal(got, np.bitwise_count(x))
    assert got.dtype == np.uint8


def outcome(function: Any, x: Any) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as given, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            return function(x), [str(one.message) for one in given]
        except ValueError as error:
            return error, []


WITHOUT_NAN = {
    "nanmax": lambda x: np.nanmax(x, axis=0),
    "nanmin": lambda x: np.nanmin(x, axis=1, keepdims=True),
    "fmax": lambda x: np.fmax.reduce(x, 0),
    "fmin_of_all": lambda x: np.fmin.reduce(x, axis=None),
    "nanstd": lambda x: np.nanstd(x, axis=0),
    "nanvar": lambda x: np.nanvar(x, axis=1, ddof=1),
    "nanargmax": lambda x: np.nanargmax(x, axis=0),
}
COMPILED = {name: tilewright.jit(function, strict=True) for name, function in WITHOUT_NAN.items()}


@pytest.mark.parametrize("name", WITHOUT_NAN)
@settings(
    max_examples=examples(12), deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(
    st.tuples(st.integers(1, 6), st.integers(1, 6)), st.integers(0, 99), st.sampled_from([0.0, 0.3, 1.0]), st.booleans()
)
def test_what_is_no_number_is_left_out(name, shape, seed, share, extreme):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    if extreme:
        x[rng.random(x.shape) < 0.4] = rng.choice([np.inf, -np.inf])
    x[rng.random(x.shape) < share] = np.nan
    got, said = outcome(COMPILED[name], x)
    want, said_by_numpy = outcome(WITHOUT_NAN[name], x)
    assert said == said_by_numpy
    if isinstance(want, ValueError):
        assert str(got) == str(want)
    else:
        assert type(got) is type(want)
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)


def ranges(r):
    return r.max() - r.min()


def doubled(r, k):
    return np.stack([r, r * k])


ALONG = [
    lambda x: np.apply_along_axis(ranges, 0, x),
    lambda x: np.apply_along_axis(ranges, -1, x.reshape(2, -1, 3)),
    lambda x: np.apply_along_axis(doubled, 1, x, 3.0),
    lambda x: np.apply_along_axis(doubled, 0, x, k=3.0),
    lambda x: np.apply_along_axis(np.sort, 1, x),
    lambda x: np.apply_along_axis(lambda r: (r > 0.5).sum(), 1, x),
    lambda x: np.apply_along_axis(np.percentile, 1, x, 50),
]


@pytest.mark.parametrize("function", ALONG)
def test_functions_of_vectors_along_an_axis(function):
    compiled = tilewright.jit(function, strict=True)
    for rows in (6, 300, 2):
        x = np.random.default_rng(rows).random((rows, 6))
        got, want = compiled(x), function(x)
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-15)


def test_along_no_vectors_is_numpys_error():
    compiled = tilewright.jit(lambda x: np.apply_along_axis(ranges, 0, x), strict=True)
    with pytest.raises(ValueError, match="any iteration dimensions are 0"):
        compiled(np.ones((3, 0)))
