"""Python's complex numbers that only the running function knows, bit for bit as CPython computes them: in loops over elements."""

from __future__ import annotations

import cmath
import warnings
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.compile


def mandelbrot(re, im, out, limit):
    for i in range(im.shape[0]):
        for j in range(re.shape[0]):
            z = 0j
            c = complex(re[j], im[i])
            n = 0
            while abs(z) <= 2 and n < limit:
                z = z * z + c
                n += 1
            out[i, j] = n


def squared_by_parts(re, im, out, limit):
    for i in range(im.shape[0]):
        for j in range(re.shape[0]):
            z = complex(0.0, 0.0)
            for n in range(limit):
                z = z * z + complex(re[j], im[i])
                if z.real * z.real + z.imag * z.imag >= 4:
                    out[i, j] = n
                    break
            else:
                out[i, j] = -1


def of_numpys_numbers(re, im, out, limit):
    c = re + 1j * im[0]
    for j in range(re.shape[0]):
        z = 0.0j
        n = 0
        while (z * z.conjugate()).real < 4.0 and n < limit:
            z = z * z + c[j]
            n += 1
        out[0, j] = n


def newtons(re, im, out, limit):
    for i in range(im.shape[0]):
        for j in range(re.shape[0]):
            z = complex(re[j], im[i])
            for n in range(limit):  # noqa: B007
                step = (z * z * z - 1) / (3 * z * z)
                if abs(step) < 1e-6:
                    break
                z = z - step
            out[i, j] = n


@pytest.mark.parametrize("function", [mandelbrot, squared_by_parts, of_numpys_numbers, newtons])
@pytest.mark.parametrize("width, height", [(80, 90), (1, 1), (131, 3)])
def test_planes(function: Any, width: int, height: int) -> None:
    re, im = np.linspace(-2, 0.6, width), np.linspace(-1.2, 1.3, height)
    compiled = tilewright.jit(strict="kernels")(function)
    got, expected = np.zeros((height, width), np.int64), np.zeros((height, width), np.int64)
    compiled(re, im, got, 60)
    function(re, im, expected, 60)
    np.testing.assert_array_equal(got, expected)


def every_operation(x, y, u, v, out, truths, size):  # noqa: PLR0917
    for i in range(x.shape[0]):
        a = complex(x[i], y[i])
        b = complex(u[i], v[i])
        out[i, 0] = a + b
        out[i, 1] = a - b
        out[i, 2] = a * b
        out[i, 3] = -a
        out[i, 4] = a.conjugate()
        out[i, 5] = complex(a.imag, b.real)
        out[i, 6] = (a + float(u[i])) * 2 - 1j
        out[i, 7] = 3 - a
        out[i, 8] = float(u[i]) * a
        truths[i, 0] = a == b
        truths[i, 1] = a != b
        truths[i, 2] = a == complex(x[i], y[i])
        size[i] = a.real - b.imag


def quotient(x, y, u, v, out, truths, size):  # noqa: PLR0917
    for i in range(x.shape[0]):
        b = complex(u[i], v[i])
        out[i, 0] = complex(x[i], y[i]) / b
        out[i, 1] = 1 / b
        size[i] = abs(b)


NUMBERS = st.one_of(
    st.floats(-8, 8),
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 1e300, -1e308, 5e-324, np.inf, -np.inf, np.nan, 3.0]),
)
LISTS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=160)


@settings(max_examples=examples(60), deadline=None)
@given(LISTS)
def test_operations_are_pythons(rows: list[tuple[float, ...]]) -> None:
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    for function in (every_operation, quotient):
        answers = []
        for f in (COMPILED[function], function):
            rest = (np.zeros((len(rows), 9), complex), np.zeros((len(rows), 3), bool), np.zeros(len(rows)))
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    f(*columns, *rest)
            except ArithmeticError as error:
                answers.append(type(error))
                continue
            answers.append([part.view(float) if part.dtype == complex else part for part in rest])
        got, expected = answers
        if isinstance(expected, type):
            assert got is expected
            continue
        np.testing.assert_array_almost_equal_nulp(*(part[2][np.isfinite(part[2])] for part in (got, expected)), nulp=1)
        for mine, theirs in zip(got[:2], expected[:2], strict=True):
            np.testing.assert_array_equal(mine, theirs)
            if mine.dtype == float:
                numbers = ~np.isnan(theirs)
                np.testing.assert_array_equal(np.signbit(mine[numbers]), np.signbit(theirs[numbers]))


COMPILED = {f: tilewright.jit(strict=True)(f) for f in (every_operation, quotient)}


def beside_numpys_floats(x, out, sizes):
    for i in range(x.shape[0]):
        z = complex(x[i], 1.5)
        out[i, 0] = z - x[i]
        out[i, 1] = z / (x[i] + 3.0)
        out[i, 2] = x[i] / z
        out[i, 3] = z * x[i] * 2.0
        sizes[i] = abs(z - x[i])


def test_a_float64_is_a_python_float_to_them() -> None:
    x = np.random.default_rng(3).standard_normal(150)
    compiled = tilewright.jit(strict="kernels")(beside_numpys_floats)
    got, expected = ((np.zeros((150, 4), complex), np.zeros(150)) for _ in range(2))
    compiled(x, *got)
    beside_numpys_floats(x, *expected)
    np.testing.assert_array_equal(got[0][:, [0, 1, 3]], expected[0][:, [0, 1, 3]])
    np.testing.assert_allclose(got[0], expected[0], rtol=1e-15)
    np.testing.assert_allclose(got[1], expected[1], rtol=1e-15)

    def f(x, out):
        for i in range(x.shape[0]):
            out[i] = 1 / (complex(x[i], 0) - x[i])

    out = np.zeros(150, complex)
    with pytest.raises(ZeroDivisionError):
        tilewright.jit(f)(x, out)


def test_whole_numbers_are_compared_as_they_are() -> None:
    def f(n, out):
        for i in range(out.shape[0]):
            out[i] = complex(2**53 + i, 0) == 2**53 + 1

    def g(n, out):
        z = complex(n, 1)
        out[0] = n == z
        out[1] = complex(n, 0) == n

    for function in (f, g):
        got, expected = np.zeros(150, bool), np.zeros(150, bool)
        tilewright.jit(function)(3, got)
        function(3, expected)
        np.testing.assert_array_equal(got, expected)


def test_what_has_no_order_is_a_type_error() -> None:
    def f(x, out):
        for i in range(x.shape[0]):
            out[i] = complex(x[i], 1) < 2

    compiled = tilewright.jit(f)
    with pytest.raises(TypeError, match="not supported between instances of 'complex'"):
        compiled(np.ones(90), np.zeros(90, bool))


def test_other_functions_of_them_stay_pythons() -> None:
    def f(x, out):
        for i in range(x.shape[0]):
            out[i] = cmath.sqrt(complex(x[i], 1)).real

    x, got = np.linspace(0, 4, 90), np.zeros(90)
    tilewright.jit(f)(x, got)
    np.testing.assert_array_equal(got, [cmath.sqrt(complex(value, 1)).real for value in x])
