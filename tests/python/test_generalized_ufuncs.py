"""Generalized ufuncs that have no rule (`numba.guvectorize` makes such): stages, whose shapes their signatures say."""

from __future__ import annotations

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
