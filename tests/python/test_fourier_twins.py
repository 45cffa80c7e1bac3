"""numpy.fft as our own code computes it where it is a stage: NumPy's very bits, and NumPy's own errors."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import tilewright
from as_numpy_has_it import alike
from tilewright._face import threads, twin

pytestmark = pytest.mark.compile

ALONG = ("fft", "ifft", "rfft", "irfft")
OVER = ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")
SHAPES = ((1,), (2,), (7,), (64,), (5, 12), (3, 4, 6), (2, 251), (300, 300), (3, 0))
# Radices 2 to 11, factors beyond them, and primes that are convolved.
LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 121, 143, 169, 1000, 1013, 1024)


def numbers(shape, dtype):
    random = np.random.default_rng(7)
    made = random.standard_normal(shape) + 1j * random.standard_normal(shape)
    return made.astype(dtype) if np.dtype(dtype).kind == "c" else made.real.astype(dtype)


def same(function, name, *args, **kwargs):
    def same_bits(got, wanted):
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape), (name, kwargs)
        assert got.tobytes() == wanted.tobytes(), (name, args[0].shape, args[0].dtype, kwargs)

    alike(function, getattr(np.fft, name), same_bits, args, kwargs)


@pytest.mark.parametrize("name", ALONG)
def test_lengths(name):
    function = twin(f"numpy.fft.{name}", getattr(np.fft, name))
    for length in LENGTHS:
        for rows in ((), (1,), (9,)):
            same(function, name, numbers((*rows, length), "c16" if name != "rfft" else "f8"))
            same(function, name, numbers((*rows, 20), "f4"), length)
    same(function, name, numbers(1 << 17, "f8"))


@pytest.mark.parametrize("name", ALONG + OVER)
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "c8", "i8"])
def test_calls(name, dtype):
    function = twin(f"numpy.fft.{name}", getattr(np.fft, name))
    one = (
        {},
        {"n": 3},
        {"n": 16},
        {"n": 0},
        {"axis": 0},
        {"axis": 5},
        {"norm": "ortho"},
        {"norm": "forward", "n": 9},
        {"norm": "no"},
    )
    many = (
        {},
        {"s": (4, 6), "axes": (0, 1)},
        {"axes": (0,)},
        {"axes": (-1, 0)},
        {"axes": (0, 0)},
        {"norm": "ortho"},
        {"norm": "forward"},
    )
    for shape in SHAPES:
        a = numbers(shape, dtype)
        for array in (a, a[::-1], a.T, a[..., ::2]):
            for options in one if name in ALONG else many:
                same(function, name, np.array(array, order="K"), **options)
    z = numbers((4, 8), "c16")
    out = np.empty((4, 8), complex)
    assert np.fft.fft is not function and (name != "fft" or function(z, out=out) is out)


def test_special_numbers_keep_their_places():
    function = twin("numpy.fft.ifft", np.fft.ifft)
    for z in (
        np.zeros(8, complex),
        -np.zeros(8, complex),
        np.array([1.0, np.nan, 2.0, 3.0]) + 0j,
        np.array([np.inf, 1, 2, 3]) + 0j,
    ):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(function(z), np.fft.ifft(z))
        assert np.array_equal(np.signbit(function(z).real[~np.isnan(z)]), np.signbit(np.fft.ifft(z).real[~np.isnan(z)]))


def test_bits_do_not_depend_on_threads():
    z = numbers((700, 90), "c16")
    for name in ("fft", "fft2"):
        function = twin(f"numpy.fft.{name}", getattr(np.fft, name))
        wanted = getattr(np.fft, name)(z).tobytes()
        for n in (1, 2, 5):
            with threads(n):
                assert function(z).tobytes() == wanted


def test_another_library_computes_for_itself():
    """The first function that stands for NumPy's is compared with ours, in a process of its own."""
    code = (
        "import numpy as np; from tilewright._face import twin; calls = []\n"
        "def other(a, *rest): calls.append(a.shape); return np.fft.rfftn(a) * 1.0000001\n"
        "f = twin('numpy.fft.rfftn', other); x = np.arange(16.0).reshape(4, 4)\n"
        "f(x); f(x); assert calls[-2:] == [(4, 4)] * 2 and (f(x) == other(x)).all()\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_split_steps():
    def steps(z, w, n):
        norms = np.zeros(n)
        for k in range(n):
            z = np.fft.ifft(w * np.fft.fft(z * w))
            norms[k] = np.abs(z).max()
        return z, norms

    z, w = numbers(96, "c16"), np.exp(1j * numbers(96, "f8"))
    for one, other in ((z, w), (z.astype("c8"), w.astype("c8")), (z[:1], w[:1])):
        for got, wanted in zip(tilewright.jit(steps, strict=True)(one, other, 5), steps(one, other, 5), strict=True):
            assert got.dtype == wanted.dtype
            np.testing.assert_allclose(got, wanted, rtol=1e-5 if one.dtype == np.complex64 else 1e-9)
