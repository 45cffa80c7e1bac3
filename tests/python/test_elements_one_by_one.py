"""Python that looks at elements one by one: sum(), max() and loops over arrays of any length, lists that loops fill."""

from __future__ import annotations

import time

import numpy as np
import pytest
import tilewright
from examples import examples, one_in
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tilewright.trace import trace

pytestmark = pytest.mark.compile


def added(x):
    return sum(x)


def added_to(x):
    return sum(x, start=2.5)


def added_rows(x):
    return sum(x.reshape(-1, 2))


def extremes(x):
    return max(x), min(x)


def picked(x):
    return sum(x[x > 0]), sum(x[x > 1], 1)


DTYPES = [np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_]


@pytest.mark.parametrize(("function", "dtype"), one_in(2, [added, added_to, added_rows, extremes, picked], DTYPES))
def test_builtins_of_long_arrays_are_loops(function, dtype):
    compiled = tilewright.jit(function, strict=True)
    for seed in range(3):
        x = (np.random.default_rng(seed).standard_normal(200) * 3).astype(dtype)
        for one in (x, x[::-1], x.repeat(2)[::2]):
            expected, got = function(one), compiled(one)
            assert repr(got) == repr(expected) and type(got) is type(expected)


compiled_extremes = tilewright.jit(extremes, strict=True)


@settings(max_examples=examples(12), deadline=None)
@given(hnp.arrays(np.float64, 70, elements=st.sampled_from([0.0, -0.0, np.nan, np.inf, -np.inf, 1.5])))
def test_which_of_equal_or_unordered_elements_is_the_extreme(x):
    assert repr(compiled_extremes(x)) == repr(extremes(x))


def largest_of_none(x):
    return max(x[x > 5])


def test_an_extreme_of_no_elements_is_pythons_error():
    compiled = tilewright.jit(largest_of_none, strict=True)
    x = np.arange(100.0)
    assert compiled(x) == 99
    with pytest.raises(ValueError, match=r"max\(\) .* empty"):
        compiled(x % 3)


def checksum(text):
    crc = 0xFFFFFFFF
    for byte in np.frombuffer(text, dtype=np.uint8):
        crc = (crc >> 8) ^ ((crc ^ int(byte)) & 0xFF)
    return crc


def test_a_loop_over_an_array_of_plain_values_stays_one():
    text = bytes(range(256)) * 4
    compiled = tilewright.jit(checksum, strict=True)
    start = time.process_time()
    assert compiled(text) == checksum(text) and type(compiled(text)) is int
    assert time.process_time() - start < 20  # each element by itself takes minutes


def predictor(x, order):
    out = np.zeros((len(x), 11))
    for n in range(len(x)):
        a = np.zeros(11)
        for i in range(1, order + 1):
            for j in range(1, i):
                a[j] = a[j] + x[n] * a[i - j]
            a[i] = x[n] / i
        out[n] = a
    return out


def test_a_nest_that_writes_many_elements_in_a_loop_is_not_unrolled():
    compiled = tilewright.jit(predictor, strict=True)
    x = np.linspace(-1, 1, 40)
    start = time.process_time()
    np.testing.assert_array_equal(compiled(x, 8), predictor(x, 8))
    assert time.process_time() - start < 20


def part_of_list(x, k):
    found = []
    for i in range(len(x)):
        found.append(x[i] * 2)
    return np.mean(found[k // 2 :]), np.array(found[: k + 1]), np.array(found[-k:])


def test_a_part_of_a_list_that_a_loop_fills():
    compiled = tilewright.jit(part_of_list, strict=True)
    for n, k in ((100, 7), (80, 30), (100, 2)):
        x = np.random.default_rng(n).random(n)
        for got, expected in zip(compiled(x, k), part_of_list(x, k), strict=True):
            np.testing.assert_array_equal(got, expected)


def two_of_list(x, k):
    found = []
    for i in range(len(x)):
        w = x * x[i]
        found.append(w)
    return found[k], found[k + 1] - found[0]


def test_arrays_are_read_from_a_list_that_a_loop_fills():
    compiled = tilewright.jit(two_of_list, strict=True)
    for n in (70, 90):
        x = np.random.default_rng(n).random(n)
        for got, expected in zip(compiled(x, 5), two_of_list(x, 5), strict=True):
            np.testing.assert_array_equal(got, expected)


def written_behind(x):
    found = []
    for i in range(len(x)):
        w = x * i
        found.append(w)
    w[0] = 99.0
    return np.array(found)


def read_before_the_write(x, k):
    found = []
    w = x * 1.0
    for _ in range(len(x)):
        found.append(w)
    one = found[k]
    w[0] = 99.0
    return one + 0.0


@pytest.mark.parametrize(("function", "args"), [(written_behind, ()), (read_before_the_write, (99,))])
def test_an_array_that_a_list_holds_is_not_written_behind_it(function, args):
    x = np.arange(100.0)
    with pytest.raises(tilewright.TraceError, match="a loop or a branch on data chose"):
        trace(function, (x, *args))
    compiled = tilewright.jit(function)
    for _ in range(10):  # of which Python runs a part
        np.testing.assert_array_equal(compiled(x, *args), function(x, *args))


def diagonal(x):
    y = x.copy()
    y[range(len(x)), range(len(x))] = 0.0
    y[range(1, 3)] += 1.0
    return y, x[range(len(x)), range(len(x))]


@pytest.mark.parametrize("n", [3, 5, 64])
def test_a_range_is_a_key(n):
    compiled = tilewright.jit(diagonal, strict=True)
    x = np.random.default_rng(n).random((n, n))
    for got, expected in zip(compiled(x), diagonal(x), strict=True):
        np.testing.assert_array_equal(got, expected)


def halved(x):
    b = x[:1] * 1.0
    while np.abs(b) > 0.1 and b < 1e9:
        b = b / 2
    return b if b > 0 else -b


def test_the_truth_of_one_element_is_its_own():
    compiled = tilewright.jit(halved, strict=True)
    for first in (3.0, -4.0, 0.0, np.nan):
        x = np.array([first, 2.0, 1.0])
        np.testing.assert_array_equal(compiled(x), halved(x))
