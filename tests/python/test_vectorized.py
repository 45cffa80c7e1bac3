"""np.vectorize: loops over elements, with Python's own numbers, as NumPy has them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = [pytest.mark.compile, pytest.mark.filterwarnings("ignore::RuntimeWarning")]


def bent(x, y):
    if x > 0.5:
        return x * 2.0 - y
    return y * 3.0


BENT = np.vectorize(bent)


@np.vectorize
def squared_above(t):
    return t * t if t > 0.3 else 0.0


def digits(q):
    count = 0
    while q > 0:
        q = q // 10
        count += 1
    return count


CASES = {
    "made_inside": lambda x: np.vectorize(bent)(x, 0.25),
    "made_outside": lambda x: BENT(x, x[0]),
    "decorated": lambda x: squared_above(x).sum(),
    "of_a_lambda": lambda x: np.vectorize(lambda q: q > 0.5)(x[:]),
    "with_dtypes": lambda x: np.vectorize(lambda q: max(0, q), otypes=[float])(x[:]),
    "two_results": lambda x: np.vectorize(lambda a, b: (a + b, a - b))(x, 2),
    "two_dtypes": lambda x: np.vectorize(lambda a: (a, 2 * a), otypes="df")(x[:]),
    "of_integers": lambda x: np.vectorize(lambda q: int(q * 10) % 3 - 5 // 2)(x[:]),
    "math": lambda x: np.vectorize(lambda q: math.exp(-q) if q > 0.2 else math.sqrt(abs(q)))(x[:]),
    "keeps_kind": lambda x: np.vectorize(lambda q: q // 2)(x[:]),
    "with_a_loop": lambda x: np.vectorize(digits)((x * 1000).astype(np.int64)),
}
# Of others their first result, as NumPy's number, has a dtype that the data decide, or there is none; max of 0 and a bool is either.
TAKES = {"decorated": "d", "math": "df", "with_dtypes": "dfbiBq"}
COMPILED = {name: tilewright.jit(function, strict=True) for name, function in CASES.items()}


def same(mine: Any, numpys: Any) -> None:
    if isinstance(numpys, tuple):
        assert type(mine) is tuple and len(mine) == len(numpys)
        for one, other in zip(mine, numpys, strict=True):
            same(one, other)
        return
    assert type(mine) is type(numpys) and mine.dtype == numpys.dtype and mine.shape == numpys.shape
    np.testing.assert_allclose(mine, numpys, rtol=1e-15)


@pytest.mark.parametrize("name", CASES)
@settings(
    max_examples=examples(8), deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=3), st.sampled_from("dfbiBq?"), st.integers(0, 99),
    st.sampled_from(["C", "F", "negative"]),
)  # fmt: skip
def test_each_element_as_numpy_has_it(name, shape, dtype, seed, layout):
    if dtype not in TAKES.get(name, dtype):
        dtype = "d"
    x = (np.random.default_rng(seed).random(shape) * (1 if dtype in "df" else 100)).astype(dtype)
    x = x[::-1] if layout == "negative" else np.array(x, order=layout)
    try:
        want = CASES[name](x)
    except Exception as error:
        with pytest.raises(type(error)):
            COMPILED[name](x)
        return
    same(COMPILED[name](x), want)


def test_of_no_elements():
    with pytest.raises(ValueError, match="size 0 inputs unless `otypes` is set"):
        COMPILED["of_a_lambda"](np.ones((0, 3)))
    same(COMPILED["with_dtypes"](np.ones((0, 3))), CASES["with_dtypes"](np.ones((0, 3))))
    same(COMPILED["two_dtypes"](np.ones((0, 3))), CASES["two_dtypes"](np.ones((0, 3))))


def test_another_function_is_another_program():
    factor = [2.0]
    held = np.vectorize(lambda q: q * factor[0])
    compiled = tilewright.jit(lambda x: held(x), strict=True)  # noqa: PLW0108
    x = np.arange(4.0)
    np.testing.assert_array_equal(compiled(x), x * 2)
    factor[0] = 3.0
    np.testing.assert_array_equal(compiled(x), x * 3)
    held.pyfunc = lambda q: q + 1
    np.testing.assert_array_equal(compiled(x), x + 1)
