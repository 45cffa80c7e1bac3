"""Ufuncs with where= and out=: elements that the mask leaves out keep what `out` held."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile


def quotients(a, b, m, o):
    return np.divide(a, b, out=o, where=b != 0)


def into_float32(a, b, m, o):
    out = np.full_like(a, 7, dtype=np.float32)
    same_one = np.multiply(a, b, out, where=m)
    return out, same_one is out


def rows(a, b, m, o):
    return np.add(a[:1], 1, out=o, where=m[:, :1])


def again_and_again(a, b, m, o):
    for _ in range(3):
        np.sqrt(o, out=o, where=o > 1)
    return o


def divisors_of_zero(a, b, m, o):
    numbers = np.arange(12).reshape(3, 4)
    np.floor_divide(numbers, np.array([0, 1, 2, 3]), out=numbers, where=np.array([False, True, True, True]))
    return numbers


def of_itself(a, b, m, o):
    np.subtract(o[::-1], o, out=o, where=m)
    return o


def nothing(a, b, m, o):
    return np.add(a, b, out=o, where=False)


def views(a, b, m, o):
    np.negative(o[1:], out=o[:-1], where=m[1:])
    return o


FUNCTIONS = [quotients, into_float32, rows, again_and_again, divisors_of_zero, of_itself, nothing, views]


def arguments(shape=(3, 4)):
    rng = np.random.default_rng(4)
    b = rng.integers(-1, 2, shape).astype(float)
    o = rng.random(shape) * 5
    o.flat[:1] = np.nan
    return rng.normal(size=shape), b, rng.random(shape) > 0.5, o


def same(got, wanted):
    if isinstance(wanted, tuple):
        for mine, right in zip(got, wanted, strict=True):
            same(mine, right)
        return
    np.testing.assert_array_equal(got, wanted)
    assert np.asarray(got).dtype == np.asarray(wanted).dtype


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("function", FUNCTIONS)
def test_elements_that_are_left_out(function):
    for shape in [(3, 4)] if function is divisors_of_zero else [(3, 4), (1, 1), (0, 4), (70, 90)]:
        given = arguments(shape)
        ours, theirs = copy.deepcopy(given), copy.deepcopy(given)
        wanted = function(*theirs)
        same(tilewright.jit(function, strict="kernels")(*ours), wanted)
        same(ours, theirs)


def too_small(a, b, m, o):
    return np.add(a[0], 1, out=o[0], where=m)


def no_cast(a, b, m, o):
    return np.divide(a, b, out=np.zeros((3, 4), int), where=m)


@pytest.mark.parametrize("function", [too_small, no_cast])
def test_errors_are_numpys(function):
    with pytest.raises((ValueError, TypeError)) as wanted:
        function(*arguments())
    with pytest.raises(wanted.type):
        tilewright.jit(function, strict=True)(*arguments())


def masks_of_integers(a, b, m, o):
    return np.add(a, b, out=o, where=m.astype(int))


def test_masks_of_integers_are_numpys_error():
    with pytest.raises(TypeError):
        tilewright.jit(masks_of_integers)(*arguments())


def test_each_of_several_results_keeps_what_the_mask_leaves_out() -> None:
    def f(x, y, o, p, m):
        for _ in range(2):
            x = x + 1
        np.divmod(x, y, out=(o, p), where=m)
        return x

    compiled, x, y = tilewright.jit(f), np.arange(6.0) + 1, np.full(6, 4.0)
    m = np.arange(6) % 2 == 0
    for _ in range(3):
        mine, theirs = [np.full(6, 7.0), np.full(6, 8.0)], [np.full(6, 7.0), np.full(6, 8.0)]
        compiled(x, y, *mine, m)
        f(x, y, *theirs, m)
        np.testing.assert_array_equal(mine, theirs)
