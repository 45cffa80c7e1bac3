"""What NumPy's own tests and the table of its names found wrong: the same values, types and errors as NumPy's."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
import tilewright
from test_numpy_stages import same

pytestmark = pytest.mark.compile


def agrees(function: Any, *args: Any, strict: bool = True) -> None:
    jitted = tilewright.jit(function, strict=strict)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            want = function(*args)
        except Exception as error:
            with pytest.raises(type(error)):
                jitted(*args)
            return
        for _ in range(2):
            got = jitted(*args)
            assert same(got, want), f"{got!r} is not {want!r}"


A = np.arange(6.0).reshape(2, 3) - 2
Z = A + 1j


@pytest.mark.parametrize("function, args", [
    (lambda a: a.item(), (np.array([[3.5]]),)),
    (lambda a: a.item() + 1, (np.array([3], np.int8),)),
    (lambda a: a.item(), (np.ones(2),)),
    (lambda a: bool(a) + 1, (np.array([0.0]),)),
    (lambda a: [bool(a)], (np.array([[True]]),)),
    (lambda a: divmod(7, a), (A,)),
    (lambda a, b: divmod(b, a), (A, A[0])),
    (lambda a: np.divmod(a, 2, dtype=np.float32, casting="unsafe"), (A,)),
    (lambda a: np.isneginf(a) + 0, (Z,)),
    (lambda a: np.isposinf(a) + 0, (Z,)),
    (lambda a: (2.0 in a, 9 in a, 9 not in a), (A,)),
    (lambda a, x: a + 1 if x in a else a - 1, (A, 3.0)),
    (lambda a: np.matmul(a, a.T, dtype=np.complex64, casting="unsafe"), (A,)),
    (lambda a: np.maximum.reduce(a, axis=1), (Z,)),
    (lambda a: np.power(a > 0, a > 1), (A,)),
    (lambda a: np.multiply.reduce(a, axis=1), (Z,)),
    (lambda a: (np.prod(a), a.argmax(), np.nanprod(a, axis=0)), (Z,)),
    (lambda a: np.array(a, np.min_scalar_type(a)), (A,)),
])  # fmt: skip
def test_as_numpy(function, args):
    agrees(function, *args)


@pytest.mark.parametrize("name", ["eigvals", "eig", "roots", "poly"])
def test_what_data_decide_the_dtype_of_is_seen_once(name):
    """Another dtype at a later call is NumPy's."""

    def decomposed(a):
        return getattr(np.linalg, name)(a) if hasattr(np.linalg, name) else getattr(np, name)(a)

    real, turning = np.array([[2.0, 1.0], [0.0, 3.0]]), np.array([[0.0, 1.0], [-1.0, 0.0]])
    args = [real[0], np.array([1.0, 0.0, 1.0])] if name == "roots" else [real, turning]
    jitted = tilewright.jit(decomposed, strict=name != "eig")
    for arg in (args[0], args[0] + 0, args[0] * 2):
        assert same(tuple(jitted(arg)), tuple(decomposed(arg)))
    loose = tilewright.jit(decomposed)
    for arg in (args[0], args[1], args[0], args[1]):
        assert same(tuple(loose(arg)), tuple(decomposed(arg)))


def test_a_complex_number_is_no_float_without_a_warning():
    for function in (lambda z: float(z[0, 0]), lambda z: int(z[0, 0])):
        with pytest.raises(tilewright.TraceError, match="drops its imaginary part"):
            tilewright.jit(function, strict=True)(Z)


@pytest.mark.parametrize("strict", [True, False])
def test_a_tolerance_that_is_not_finite_warns(strict):
    @tilewright.jit(strict=strict)
    def near(a, b, rtol):
        return np.isclose(a, b, rtol=rtol)

    for rtol in (np.float64(1e-3), np.float64(np.inf), 1e-3, math.nan, np.float32(0.1), np.array(np.nan)):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            given = near(A, A * 1.0005, rtol)
            count = len(told)
            assert np.array_equal(given, np.isclose(A, A * 1.0005, rtol=rtol))
        assert len(told) == 2 * count


def test_the_axis_of_vecdot_is_an_integer():
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        tilewright.jit(lambda a: np.vecdot(a, a, axis=[0]), strict=True)(A)
