"""Where NumPy's scalars are computed otherwise than its arrays, or refused: orders of complex numbers, powers, bounds, Python's functions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import attack_scalars
import numpy as np
import pytest
import tilewright
from examples import examples
from tilewright.decorator import JitFunction

pytestmark = pytest.mark.compile

PARTS = (0.0, 1.0, math.nan, math.inf)
COMPLEX = np.array([complex(*parts) for parts in itertools.product(PARTS, PARTS)])


@pytest.fixture(autouse=True)
def compiled_whatever_it_costs(monkeypatch):
    monkeypatch.setattr(JitFunction, "_loses", lambda *_: False)


def alike(function: Callable[..., Any], calls: list[tuple[Any, ...]]) -> None:
    """The same types, values, signs of zeros, and errors."""
    compiled = tilewright.jit(function)
    with np.errstate(all="ignore"):
        for args in calls:
            outcomes = []
            for call in (compiled, function):
                try:
                    outcomes.append(repr(call(*(np.copy(arg) if isinstance(arg, np.ndarray) else arg for arg in args))))
                except Exception as error:  # noqa: BLE001 - whatever it is
                    outcomes.append(type(error).__name__)
            assert outcomes[0] == outcomes[1], args


def orders(x, y):
    a, b = x[0], y[0]
    found = 0
    for i in range(len(x)):
        found = found * 2 + (x[i] > y[i])
    return a < b, a <= b, a > b, a >= b, a > 0.5, max(a, b), min(a, b), 0 < a < b, a.real < b, sorted([a, b])[0], found


@pytest.mark.parametrize(
    ("one", "other"), [("c16", "c16"), ("c8", "c8"), ("c8", "f8"), ("c8", "f4"), ("i1", "c16"), ("?", "c8")]
)
def test_complex_scalars_are_ordered_by_their_real_parts_also_beside_nan(one, other):
    """Arrays are not where a part is NaN, nor scalars where both are converted."""
    numbers = {np.dtype(name): COMPLEX.astype(name) if name[0] == "c" else COMPLEX.real[::4] for name in (one, other)}
    with np.errstate(invalid="ignore"):
        calls = [
            (np.array([a]).astype(one), np.array([b]).astype(other))
            for a in numbers[np.dtype(one)][::3]
            for b in numbers[np.dtype(other)][::2]
        ]
    alike(orders, calls)


def branch(z):
    if z[0] > 0:
        return z * 2
    return z + 1


def test_a_branch_on_a_complex_scalar():
    alike(branch, [(np.array([number] * 40),) for number in COMPLEX])


def test_the_order_of_a_number_that_may_be_pythons_is_numpys_to_say():
    def product(x):
        return 1j * x[0] > 0

    alike(product, [(np.ones(3),)] * 3)


def powers(z, k):
    z[0] = 1
    kept = z.copy()
    kept **= k
    return z**-1, z**0.5, z**-1.0, z**k, kept


def test_python_exponents_of_complex_arrays_are_reciprocals_and_roots():
    numbers = np.array([complex(*parts) for parts in itertools.product((*PARTS, -2.0, -0.0), repeat=2)])
    compiled = tilewright.jit(powers)
    for k in (-1, 0.5, 2, -1.0, 0.5):
        with np.errstate(all="ignore"):
            for got, wanted in zip(compiled(numbers.copy(), k), powers(numbers.copy(), k), strict=True):
                np.testing.assert_allclose(got, wanted, 1e-14)


def truncated(x):
    return math.trunc(x[0])


def truncated_array(x):
    return math.trunc(x)


def rounded(x):
    return round(x[0])


def rounded_array(x):
    return round(x)


def power_and_modulus(x):
    return pow(x[0], 2, 5)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "?"])
@pytest.mark.parametrize("function", [truncated, truncated_array, rounded, rounded_array, power_and_modulus])
def test_pythons_functions_raise_for_numbers_that_have_no_method(function, dtype):
    value = np.array(1, dtype)
    alike(function, [(value if function.__name__.endswith("array") else value.reshape(1),)] * 3)


def bounded(x, z):
    return (
        np.clip(x, 0, 3),
        np.clip(x[0], 0, 3),
        x[0].clip(-1, 0),
        np.clip(x, z, 3),
        np.clip(z, x, 3),
        np.clip(z, -3, x),
    )


def test_bounds_of_half_precision_keep_the_sign_of_an_equal_zero():
    alike(bounded, [(np.array([-0.0, 0.0, 1], np.float16), np.zeros(3, np.float16))] * 3)


def rounded_copies(i, z):
    return i.round(), np.round(i, 1), z.round(), i.copy(), i[()].copy() + 1


def test_rounded_arrays_of_no_dimensions_are_scalars():
    alike(rounded_copies, [(np.array(3, np.uint8), np.array(1.5 + 2j))] * 3)


@pytest.mark.parametrize("seed", range(examples(6)))
@pytest.mark.filterwarnings("ignore")
def test_random_expressions_of_scalars(seed):
    """`python tests/python/attack_scalars.py 1000` tries as many as wanted."""
    assert not (problem := attack_scalars.attack(seed)), problem


EDGES = (-(2.0**63), 2.0**63, -(2.0**63) - 2048, 2.0**63 - 1024, -0.0, math.nan, math.inf, 1e300)


def test_ints_of_floats_at_the_edges_of_64_bits() -> None:
    calls = [(np.array([edge, 3.0]),) for edge in EDGES]
    alike(lambda x: (int(x[0]), x * 2), calls)
    alike(lambda x: (int(x.min()) - 1, x * 2), calls)

    def sums(x: Any) -> Any:
        total = 0
        for i in range(len(x)):
            total += int(x[i])
        return total, x * 2

    alike(sums, calls)
