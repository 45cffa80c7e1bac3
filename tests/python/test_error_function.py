"""math.erf in loops: a formula of kernels' own, within 2 ULP of the true value."""

from __future__ import annotations

import math

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile

EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e-310, 0.84375, 1.25, 1 / 0.35, 6.0, -6.0, 1e300]


def of_each(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = math.erf(x[i])
    return out


def price(spot, strike, sigma):
    d1 = math.log(spot / strike) / sigma + sigma / 2
    cdf = 0.5 * (1.0 + math.erf(d1 / math.sqrt(2.0)))
    return spot * cdf - strike * 0.5 * (1.0 + math.erf((d1 - sigma) / math.sqrt(2.0)))


def volatility(value, strike):
    """Which is Python's 0.5 where it is right at once, and NumPy's number elsewhere."""
    sigma = 0.5
    for _ in range(60):
        error = value - price(100.0, strike, sigma)
        if abs(error) < 1e-9:
            return sigma
        sigma = sigma + error / 40.0
        if sigma <= 0:
            break
    return math.nan


def volatilities(values, strikes):
    out = np.zeros(len(values))
    for i, (value, strike) in enumerate(zip(values, strikes, strict=True)):
        out[i] = volatility(value, strike)
    return out


def test_erf() -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate([EDGES, rng.normal(size=4000) * 2, 10.0 ** rng.uniform(-300, 2, 500)])
    compiled = tilewright.jit(of_each, strict="kernels")
    for _ in range(2):
        ours, theirs = compiled(x), of_each(x)
        assert np.array_equal(np.isnan(ours), np.isnan(theirs))
        assert np.array_equal(np.signbit(ours), np.signbit(theirs))
        is_number = ~np.isnan(theirs)
        far = np.abs(ours - theirs)[is_number] / np.spacing(np.abs(theirs[is_number]))
        assert far.max() <= 2.0
    assert compiled(x[:0]).shape == (0,)


def test_a_number_that_a_loop_returns_as_python_has_it_or_numpy() -> None:
    rng = np.random.default_rng(2)
    strikes = rng.uniform(80, 120, 40)
    values = np.array(
        [price(100.0, strike, sigma) for strike, sigma in zip(strikes, rng.uniform(0.2, 0.6, 40), strict=True)]
    )
    values[0] = price(100.0, strikes[0], 0.5)
    compiled = tilewright.jit(volatilities, strict="kernels")
    for _ in range(2):
        assert np.allclose(compiled(values, strikes), volatilities(values, strikes), rtol=1e-9, equal_nan=True)
