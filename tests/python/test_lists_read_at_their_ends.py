"""Lists to which loops append what they make of items that are there, at their ends most of all: paths, recurrences, steps of
integration. They lie in arrays, with Python's items in Python's types."""

from __future__ import annotations

import math

import numpy as np
import pytest
import tilewright
from lists_alike import same

pytestmark = pytest.mark.compile


def logistic(x, n):
    xs = [x]
    for _ in range(n):
        xs.append(3.7 * xs[-1] * (1 - xs[-1]))
    return np.array(xs)


def smoothed(x, n):
    s = [x]
    for i in range(n):
        s.append(0.3 * np.sin(i) + 0.7 * s[-1])
    return np.array(s), s[-1]


def two_lists(x, n):
    ts, ys = [0.0], [x]
    for _ in range(n):
        t, y = ts[-1], ys[-1]
        ys.append(y + 0.125 * math.cos(t) * y)
        ts.append(t + 0.125)
    return ts, ys


def each_reads_the_other(x, n):
    xs, ys = [x], [1.0]
    for _ in range(n):
        xs.append(xs[-1] + 0.125 * ys[-1])
        ys.append(ys[-1] - 0.125 * xs[-1])
    return xs, ys


def two_items_each_time(x, n):
    xs = [x, x + 1]
    for _ in range(n):
        xs.append(xs[-2] + 0.5 * xs[-1])
        z = xs[-1] - xs[-2]
        xs.append(z * 0.25)
    return xs, len(xs)


def of_two_before(x, n):
    xs = [0, 1]
    for _ in range(n):
        xs.append(xs[-1] + xs[-2])
    return xs


def where_data_say(x, n):
    xs = [x]
    for i in range(n):
        xs.append(xs[-1] * 0.5 + i)
        if xs[-1] > 3:
            xs.append(xs[-1] - 2.5)
    return xs


def in_a_loop_in_a_loop(x, n):
    xs = [x]
    for i in range(n):
        for j in range(i % 3):
            xs.append(xs[-1] + j)
        if i == 7:
            break
        xs.append(xs[-1] * 0.5)
    return np.array(xs)


def until_its_end_is_small(x, n):
    xs = [x]
    while xs[-1] > 0.01:
        xs.append(xs[-1] / 1.5)
    return xs


def path_of_draws(x, n):
    rng = np.random.default_rng(3)
    prices = [x]
    for _ in range(n):
        prices.append(prices[-1] * np.exp(0.01 * rng.standard_normal()))
    return np.array(prices)


def bool_each_time(x, n):
    xs = [True]
    for _ in range(n):
        xs.append(not xs[-1])
    return xs


def more_than_there_may_be(x, n):
    xs = [x]
    for _ in range(n):
        xs.append(xs[-3] + 1)
    return xs


def its_arrays_are_written(x, n):
    xs = [np.array([x, 1.0])]
    for _ in range(n):
        y = xs[-1]
        y[0] += 1
        xs.append(y * 0.5)
    return np.array(xs)


def its_end_is_written(x, n):
    xs = [x]
    for _ in range(n):
        xs[-1] += 1
        xs.append(xs[-1] * 2 % 7)
    return xs


def raises_on_the_way(x, n):
    xs = [x]
    for i in range(n):
        try:
            xs.append(xs[-1] / (i - 3))
        except ZeroDivisionError:
            xs.append(-1.0)
    return xs


def of_any_two(x, n):
    xs = [x, 2.0]
    for i in range(n):
        xs.append(xs[i - 1] + xs[0])  # of the last one at first
    return xs


def of_the_one_in_the_middle(x, n):
    xs = [x]
    while len(xs) < n:
        xs.append(xs[-1] * 0.5 + xs[len(xs) // 2])
    return xs


def of_a_list_made_before(x, n):
    xs = [x]
    for _ in range(n):
        xs.append(xs[-1] + 1)
    for i in range(n):
        xs.append(xs[-1] * 0.5 + xs[i])
    return xs


def of_places_in_a_list(x, n):
    places, sums = [0], [x]
    for i in range(n):
        places.append((places[-1] * 5 + 3) % (i + 1))
        sums.append(sums[places[-1]] + 0.5)
    return places, sums


def of_all_pairs(x, n):
    out = [1]
    for _ in range(n):
        total = 0
        for k in range(len(out)):
            total += out[k] * out[len(out) - 1 - k]
        out.append(total % 1000)
    return out


def primes(x, n):
    found, k = [2], 3
    while len(found) < n:
        is_prime = True
        for p in range(len(found)):
            if found[p] * found[p] > k:
                break
            if k % found[p] == 0:
                is_prime = False
                break
        if is_prime:
            found.append(k)
        k += 2
    return found


def as_many_as_there_are(x, n):
    out = []
    while len(out) < n:
        out.append(len(out) * x)
    return out


def from_the_front_and_the_back(x, n):
    xs = [1.0]
    for i in range(n):
        xs.append(xs[-i - 1] + 1)
    return xs


def beyond_its_end(x, n):
    xs = [x]
    for i in range(n):
        xs.append(xs[i + 1])
    return xs


def measured_otherwise(x, n, len=lambda held: 3):
    xs = [x]
    for _ in range(n):
        xs.append(xs[-1] + len(xs))
    return xs


FUNCTIONS = [
    value for value in list(globals().values()) if callable(value) and getattr(value, "__module__", "") == __name__
]
IN_KERNELS = [
    logistic, smoothed, two_lists, each_reads_the_other, two_items_each_time, where_data_say, in_a_loop_in_a_loop,
    until_its_end_is_small, bool_each_time, of_any_two, of_the_one_in_the_middle, of_a_list_made_before,
    of_places_in_a_list, of_all_pairs, primes, as_many_as_there_are, from_the_front_and_the_back,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_lists_are_pythons(function):
    compiled = tilewright.jit(function, strict=True)
    for x, n in ((0.75, 10), (0.75, 10), (2.5, 30), (0.75, 0), (0.25, 1), (2, 9), (0.75, 100), (3, 100)):
        try:
            expected = function(x, n)
        except IndexError as error:
            with pytest.raises(IndexError, match=str(error)):
                compiled(x, n)
            continue
        same(compiled(x, n), expected)


@pytest.mark.parametrize("function", IN_KERNELS, ids=lambda f: f.__name__)
def test_they_are_filled_by_kernels(function):
    compiled = tilewright.jit(function, strict=True)
    for _ in range(3):
        same(compiled(0.75, 100), function(0.75, 100))
    explained = compiled.explain(source=False)
    assert ".append" not in explained
    assert "lines_" not in explained
