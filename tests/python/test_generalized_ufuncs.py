"""Generalized ufuncs that have no rule (`numba.guvectorize` makes such): stages, whose shapes their signatures say."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
import tilewright
from numpy.linalg import _umath_linalg as gufuncs

pytestmark = pytest.mark.fast

RNG = np.random.default_rng(5)


def regular(*shape):
    return RNG.normal(size=shape) + 4 * np.eye(shape[-1])


def solved(a, b):
    return gufuncs.solve1(a, b) + 1


def determinants(a, _):
    return gufuncs.det(a) * 2, gufuncs.slogdet(a)


def decomposed(a, _):
    values, vectors = gufuncs.eigh_lo(a)
    return values.sum(axis=-1), vectors.shape


@pytest.mark.parametrize("function", [solved, determinants, decomposed])
def test_they_are_stages(function):
    compiled = tilewright.jit(function, strict=True)
    calls = [
        (regular(5, 3, 3), RNG.normal(size=(5, 3))),
        (regular(5, 3, 3), RNG.normal(size=3)),
        (regular(3, 3), RNG.normal(size=(5, 3))),
        (regular(3, 3), RNG.normal(size=3)),
        (regular(1, 4, 4), RNG.normal(size=(6, 4))),
        (regular(2, 1, 2, 2), RNG.normal(size=(3, 2))),
        (regular(0, 2, 2), RNG.normal(size=(1, 2))),
    ]
    for a, b in calls:
        for _ in range(2):
            got, expected = compiled(a, b), function(a, b)
            assert repr(got) == repr(expected)


def test_what_they_refuse_is_numpys_error():
    compiled = tilewright.jit(solved)
    for a, b in [(regular(3, 3), np.ones(4)), (regular(5, 3, 3), np.ones((4, 3))), (np.ones(3), np.ones(3))]:
        with pytest.raises(ValueError, match="gufunc signature|could not be broadcast|does not have enough dimensions"):
            solved(a, b)
        with pytest.raises(ValueError, match="gufunc signature|could not be broadcast|does not have enough dimensions"):
            compiled(a, b)


def _every_third() -> np.ufunc:
    """A loop of a user's, as numba.guvectorize makes them: of `out` it writes every third element, and leaves the others."""
    loop_type = ctypes.CFUNCTYPE(None, *[ctypes.POINTER(ctypes.c_ssize_t)] * 3, ctypes.c_void_p)

    def write(pointers, dimensions, steps, _):
        for k in range(dimensions[0]):
            for i in range(0, dimensions[1], 3):
                source = ctypes.c_double.from_address(pointers[0] + k * steps[0] + i * steps[2])
                ctypes.c_double.from_address(pointers[1] + k * steps[1] + i * steps[3]).value = source.value + 1.0

    loop = loop_type(write)
    capsule = np._core._multiarray_umath._UFUNC_API
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = (ctypes.c_void_p * 40).from_address(get(capsule, None))
    number, text = ctypes.c_int, ctypes.c_char_p
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object,
        ctypes.c_void_p,
        ctypes.c_void_p,
        text,
        number,
        number,
        number,
        number,
        text,
        text,
        number,
        text,
    )(table[31])  # PyUFunc_FromFuncAndDataAndSignature
    kept = (loop, (ctypes.c_void_p * 1)(ctypes.cast(loop, ctypes.c_void_p).value), (ctypes.c_void_p * 1)(), b"\x0c\x0c")
    _KEPT.append(kept)  # NumPy holds pointers to them
    return make(
        ctypes.addressof(kept[1]), ctypes.addressof(kept[2]), kept[3], 1, 1, 1, -1, b"thirds", b"", 0, b"(n)->(n)"
    )


_KEPT: list[object] = []
THIRDS = _every_third()


def into_a_third(x):
    y = np.full_like(x, 7.0)
    THIRDS(x, y)
    return y * 2


def into_a_third_by_name(x):
    y = x * 3
    return THIRDS(x, out=y), y


@pytest.mark.parametrize("function", [into_a_third, into_a_third_by_name])
@pytest.mark.parametrize("shape", [(0,), (1,), (8,), (3, 5)])
def test_what_a_loop_of_the_users_leaves_out_keeps_what_was_there(function, shape):
    x = RNG.normal(size=shape)
    compiled = tilewright.jit(strict=True)(function)
    for _ in range(2):
        np.testing.assert_array_equal(np.array(compiled(x)), np.array(function(x)))
