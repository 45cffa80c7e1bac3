"""Writes through .real, .imag and .flat reach the array itself, in every place where a statement may stand."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import one_in
from from_text import function_of
from strictly import check
from tilewright.errors import TraceError

pytestmark = pytest.mark.compile

WRITES = """
y.real = x
y.imag = 2.5
y.real[1:] = x[:-1]
y.imag[::2] += x[0]
y.real *= y.imag
y[1:].imag = y[:-1].real
y.real[:], y.imag[:] = y.imag, y.real
y.real[x > 1] = -0.0
y.imag[[3, 0]] = x[:2]
z = y.real; z[2] = np.inf; z += 1; y = y * z
z = y[::-1]; z.imag = x; z.real[0] = 7
y.flat = x
y.flat[2] = 3 - 4j
y.real = np.nan; y.imag += x
y.real.fill(2); np.copyto(y.imag, x)
np.add(x, 1, out=y.real)
y = y.reshape(2, 3); y.real[:, 1] = 5; y = y.reshape(-1)
y = np.conj(y.T); y.imag[...] = x * x
""".strip().splitlines()
PLACES = {
    "alone": "#",
    "a loop": "for k in range(len(x) // 2):\n    #",
    "a branch on data": "if x[1] > 0:\n    #",
    "a helper": "def helper(y, x):\n    #\n    return y\ny = helper(y, x)",
}


def made(statement: str, place: str) -> Any:
    lines = ["y = x * (1 + 2j)", *place.replace("#", statement).splitlines(), "return y, y.imag + 1"]
    return function_of("def f(x):\n" + textwrap.indent("\n".join(lines), "    "))


@pytest.mark.parametrize(("statement", "place"), one_in(2, WRITES, PLACES))
def test_the_array_has_what_was_written(statement: str, place: str) -> None:
    function = made(statement, PLACES[place])
    compiled = tilewright.jit(function)
    for scale in (1.0, -1.0, 0.5):
        x = np.array([1.0, 2.0, -3.0, 0.0, 5.0, -6.0]) * scale
        for got, want in zip(compiled(x), function(x), strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got.view(np.uint64), want.view(np.uint64))


@pytest.mark.parametrize("statement", [one for one in WRITES if "copyto" not in one and "out=" not in one])
def test_they_compile(statement: str) -> None:
    check(made(statement, "#"), np.array([1.0, 2.0, -3.0, 0.0, 5.0, -6.0]))


def test_an_argument_is_written() -> None:
    def halves(z: Any, x: Any) -> Any:
        z.real = x
        z[1:].imag *= 2
        return z.sum()

    check(halves, np.arange(6) * (1 - 1j), np.arange(6.0), bits=False)


def test_real_arrays_have_no_imaginary_part_to_set() -> None:
    def sets(x: Any) -> Any:
        x.imag = 3
        return x * 2

    with pytest.raises(TypeError, match="imaginary part"):
        tilewright.jit(sets, strict=True)(np.arange(3.0))


def test_a_part_from_before_a_loop_is_refused_there() -> None:
    def loops(z: Any) -> Any:
        part = z.real
        for k in range(len(z)):
            part[k] = k
        return z * 2

    compiled = tilewright.jit(loops, strict="kernels")
    with pytest.raises(TraceError, match=r"writing into .real of an array"):
        compiled(np.arange(100.0) * (1 + 1j))
    z = np.arange(100.0) * (1 + 1j)
    np.testing.assert_array_equal(tilewright.jit(loops)(z.copy()), loops(z))
