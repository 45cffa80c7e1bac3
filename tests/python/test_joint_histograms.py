"""np.histogram2d and np.histogramdd of equal bins: counts, edges, dtypes and errors are NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from same_as_python import same

pytestmark = pytest.mark.compile


def of_two(x, y, bins):
    return np.histogram2d(x, y, bins)


def between(x, y):
    return np.histogram2d(x, y, (7, 5), range=((0, 1), (-1, 0.5)))


def densities(x, y):
    return np.histogram2d(x, y, bins=[6, 9], density=True)


def of_weights(x, y):
    return np.histogram2d(x, y, bins=12, weights=x * y)


def of_three(x, y):
    return np.histogramdd((x, y, x - y), bins=5)


def of_a_matrix(x, y):
    return np.histogramdd(np.stack([x, y], axis=1), bins=(40, 50))


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except ValueError as error:
        return str(error)


# One for all examples: what an earlier one compiled serves later ones.
COMPILED = {
    function: tilewright.jit(function, strict=True)
    for function in (of_two, between, densities, of_weights, of_three, of_a_matrix)
}


@settings(max_examples=examples(2), deadline=None)
@given(
    st.sampled_from(["float64", "float32", "int16", "int64"]),
    st.sampled_from([1, 2, 17, 3000]),
    st.sampled_from(["spread", "on edges", "one number", "nan"]),
    st.integers(0, 2**32 - 1),
)
def test_joint_histograms(dtype: str, size: int, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=size) * 20, rng.random(size)
    if kind == "on edges":
        x, y = np.round(x), np.round(y * 10) / 10
    elif kind == "one number":
        x = np.full(size, 3.0)
    elif kind == "nan" and dtype.startswith("float"):
        x[0] = np.nan
    x, y = x.astype(dtype), y.astype(dtype)
    for function, compiled in COMPILED.items():
        for more in ((10,), (33,)) if function is of_two else ((),):
            same(outcome(compiled, x, y, *more), outcome(function, x, y, *more))


@pytest.mark.parametrize("function", [of_two, of_three])
def test_they_are_kernels(function: Callable[..., Any]) -> None:
    x = np.random.default_rng(0).random(50_000)
    more = (10,) if function is of_two else ()
    compiled = tilewright.jit(function, strict="kernels")
    same(compiled(x, x[::-1], *more), function(x, x[::-1], *more))


def test_what_numpy_refuses_it_refuses() -> None:
    x = np.arange(4.0)
    for arguments in ((x, x[:3], 4), (x, x, 0), (x, x, [3]), (x, x, (3, 0)), (x[:0], x[:0], 3)):
        same(outcome(tilewright.jit(of_two), *arguments), outcome(of_two, *arguments))
