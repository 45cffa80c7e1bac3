"""np.interp has NumPy's very bits: ends, points that are met, points that are one, what is not finite."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile


def between(x, xp, fp):
    return np.interp(x, xp, fp)


def with_ends(x, xp, fp):
    return np.interp(x, xp, fp, left=-7, right=8.5)


def points(kind, count, rng):
    """x, xp and fp."""
    x, xp, fp = rng.normal(size=(40, 30)) * 1.5, np.sort(rng.normal(size=count)), rng.normal(size=count)
    if kind == "points that are one":
        xp = np.round(xp * 2) / 2
    elif kind == "points that are met":
        x = rng.choice(xp, 50)
    elif kind == "values that are infinite":
        fp[rng.integers(count)] = np.inf
        x[:3] = np.nan
    elif kind == "points that are infinite":
        xp[0], xp[-1] = (xp[0], np.inf) if count == 1 else (-np.inf, np.inf)
        x[0, :2] = np.inf, -np.inf
    elif kind == "infinities of both signs":
        fp[:] = np.inf
        fp[count // 2 :] = -np.inf
    elif kind == "integers":
        xp, fp, x = np.arange(count, dtype="i4"), fp.astype("f4"), rng.integers(-2, count + 2, 50)
    return x, xp, fp


KINDS = [
    "normal", "points that are one", "points that are met", "values that are infinite", "points that are infinite",
    "infinities of both signs", "integers",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("function", [between, with_ends])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_interpolation(function, kind):
    compiled = tilewright.jit(function, strict="kernels")
    rng = np.random.default_rng(3)
    for count in (1, 2, 3, 4, 5, 6, 17, 300):
        given = points(kind, count, rng)
        got, wanted = compiled(*given), function(*given)
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)
        numbers = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(wanted[numbers]))


def test_points_that_fall_are_numpys():
    x, xp, fp = np.linspace(-1, 9, 50), np.arange(8.0)[::-1].copy(), np.arange(8.0)
    np.testing.assert_array_equal(tilewright.jit(between)(x, xp, fp), np.interp(x, xp, fp))
    xp[3] = np.nan
    np.testing.assert_array_equal(tilewright.jit(between)(x, xp, fp), np.interp(x, xp, fp))


def test_errors_are_numpys():
    for given in ((np.ones(3), np.arange(3.0), np.arange(4.0)), (np.ones(3), np.ones(0), np.ones(0))):
        with pytest.raises(ValueError) as wanted:
            np.interp(*given)
        with pytest.raises(ValueError) as got:
            tilewright.jit(between)(*given)
        assert str(got.value) == str(wanted.value)


def equalized(images, edges, levels):
    out = np.zeros_like(images)
    for k in range(len(images)):
        out[k] = np.interp(images[k], edges, levels)
    return out


def test_interpolation_in_loops():
    rng = np.random.default_rng(5)
    given = rng.random((70, 40)), np.sort(rng.random(12)), rng.random(12)
    np.testing.assert_array_equal(tilewright.jit(equalized, strict="kernels")(*given), equalized(*given))
