"""`x.shape = …`: the array itself has another shape, whatever names it has, and its views have theirs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile


def in_rows(x):
    y = x * 2
    z, flat = y, y[:]
    y.shape = (2, -1)
    y[0] = 7.0
    return y, z + 1, flat + 1


def beside_its_sums(x):
    a = x.reshape(-1, 3) * 1.0
    sums = a.sum(axis=1)
    sums[sums == 0] = 1.0
    shape = list(a.shape)
    shape[1] = 1
    sums.shape = shape
    a /= sums
    return a


def made_flat(x):
    def flattened(values):
        values.shape = -1
        return values

    y = x.reshape(-1, 3) + 1
    for _ in range(2):
        y.shape = (3, -1)
    return flattened(y), y.shape, np.asarray(y) is y


@pytest.mark.parametrize("function", [in_rows, beside_its_sums, made_flat])
def test_arrays_that_the_function_makes(function):
    compiled = tilewright.jit(function, strict=True)
    for x in (np.arange(6.0), np.zeros(6), np.arange(12.0), np.empty(0)):
        theirs, mine = x.copy(), x.copy()
        if x.size or function is beside_its_sums:
            assert repr(compiled(mine)) == repr(function(theirs))
        assert np.array_equal(mine, theirs)
    assert compiled.specializations


def of_the_caller(x):
    x.shape = (2, 3)
    return x + 1


def of_columns(x):
    y = (x.reshape(2, 3) * 2).T
    y.shape = 6
    return y


def of_another_size(x):
    y = x * 2
    y.shape = (4, 2)
    return y


def where_data_decide(x):
    y = x * 2
    if x[0] > 3:
        y.shape = (2, 3)
    return y


@pytest.mark.parametrize("function", [of_the_caller, of_columns, of_another_size, where_data_decide])
def test_what_is_numpys(function):
    def outcome(f, x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tilewright.FallbackWarning)
            try:
                return repr(f(x)), x.shape
            except (AttributeError, ValueError) as error:
                return type(error), str(error), x.shape

    compiled = tilewright.jit(function)
    for x in (np.arange(6.0), np.arange(6.0), np.arange(4.0, 10.0), np.arange(6.0)):
        assert outcome(compiled, x.copy()) == outcome(function, x.copy())
