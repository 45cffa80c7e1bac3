"""`while` loops whose end the data decide, as people write them, beside plain Python: one function with their kernels.

What they must not do: read behind an array, run an iteration too many, miss a Ctrl-C.
"""

from __future__ import annotations

import copy
import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.compile


def insertion_sort(a):
    for i in range(1, a.shape[0]):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key


def collatz(starts, steps):
    for i in range(starts.shape[0]):
        n = starts[i]
        count = 0
        while n != 1:
            if n % 2 == 0:  # noqa: SIM108
                n = n // 2
            else:
                n = 3 * n + 1
            count += 1
        steps[i] = count


def bisect_each(a, x, out):
    for i in range(x.shape[0]):
        lo, hi = 0, a.shape[0]
        while lo < hi:
            mid = (lo + hi) // 2
            if a[mid] < x[i]:
                lo = mid + 1
            else:
                hi = mid
        out[i] = lo


def gcds(a, b, out):
    for i in range(a.shape[0]):
        x, y = a[i], b[i]
        while y != 0:
            x, y = y, x % y
        out[i] = x


def first_large(a, limit):
    i = 0
    while i < a.shape[0] and a[i] <= limit:
        i += 1
    return i


def follow(following, start):
    steps = 0
    at = start
    while following[at] != at:
        at = following[at]
        steps += 1
    return steps, at


def union_find(parent, a, b):
    for i in range(a.shape[0]):
        x = a[i]
        while parent[x] != x:
            x = parent[x]
        y = b[i]
        while parent[y] != y:
            parent[y] = parent[parent[y]]
            y = parent[y]
        if x != y:
            parent[x] = y


def until_it_settles(x, tolerance):
    rounds = 0
    change = 1.0
    while change > tolerance:
        new = 0.5 * (x + 2.0 / x)
        change = np.abs(new - x).max()
        x = new
        rounds += 1
    return x, rounds


def two_rows_meet(a, target):
    lo, hi = 0, a.shape[0] - 1
    found = -1
    while lo < hi:
        s = a[lo] + a[hi]
        if s == target:
            found = lo
            break
        if s < target:
            lo += 1
        else:
            hi -= 1
    return lo, hi, found


def merge(a, b, out):
    i = j = k = 0
    while i < a.shape[0] and j < b.shape[0]:
        if a[i] <= b[j]:
            out[k] = a[i]
            i += 1
        else:
            out[k] = b[j]
            j += 1
        k += 1
    while i < a.shape[0]:
        out[k] = a[i]
        i += 1
        k += 1
    while j < b.shape[0]:
        out[k] = b[j]
        j += 1
        k += 1


def whiles_in_whiles(a, out):
    i = 0
    while i < a.shape[0]:
        j = i
        while j + 1 < a.shape[0] and a[j + 1] == a[i]:
            j += 1
        k = i
        while k <= j:
            out[k] = j - i + 1
            k += 1
        i = j + 1


def bubble_until_sorted(a):
    swapped = True
    passes = 0
    while swapped:
        swapped = False
        for i in range(a.shape[0] - 1):
            if a[i] > a[i + 1]:
                t = a[i]
                a[i] = a[i + 1]
                a[i + 1] = t
                swapped = True
        passes += 1
    return passes


def break_in_the_middle(a, limit):
    total = 0.0
    i = 0
    while True:
        if i == a.shape[0]:
            break
        total += a[i]
        if total > limit:
            break
        a[i] = -a[i]
        i += 1
    return i, total


def rows_until_small(a, limit):
    i = 0
    while i < a.shape[0] and a[i].sum() > limit:
        a[i] *= 0.5
        a[i] -= a[i].mean()
        i += 1
    return i


def a_number_from_outside_of_a_way(a, b, out):
    """It is read in one way of a branch at first, and the loop in there hands its memory on."""
    t = -1.5
    s = 0.25
    for i in range(1, a.shape[0]):
        for v in range(3):
            if a[i] <= s:
                t = b[i]
                break
            w = 0
            while w < v:
                w += 1
                out[i] += 1.0
        s = t


def numbers(n: int, low: int = 0, high: int = 1000) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: rng.integers(low, high, n)


def links(rng: np.random.Generator, n: int) -> np.ndarray:
    """Each leads to a smaller one, and 0 to itself."""
    return np.array([0, *(rng.integers(0, k) for k in range(1, n))])


CASES: list[tuple[Callable[..., Any], Callable[[np.random.Generator, int], tuple[Any, ...]]]] = [
    (insertion_sort, lambda rng, n: (rng.standard_normal(n),)),
    (insertion_sort, lambda rng, n: (rng.integers(-9, 9, n).astype(np.int16),)),
    (collatz, lambda rng, n: (rng.integers(1, 400, n), np.zeros(n, np.int64))),
    (bisect_each, lambda rng, n: (np.sort(rng.random(n)), rng.random(2 * n), np.zeros(2 * n, np.int64))),
    (gcds, lambda rng, n: (rng.integers(0, 900, n), rng.integers(0, 900, n), np.zeros(n, np.int64))),
    (first_large, lambda rng, n: (rng.random(n), rng.random())),
    (follow, lambda rng, n: (links(rng, n), n - 1)),
    (union_find, lambda rng, n: (np.arange(n), rng.integers(0, n, n), rng.integers(0, n, n))),
    (until_it_settles, lambda rng, n: (rng.random(n) + 0.5, 1e-9)),
    (two_rows_meet, lambda rng, n: (np.sort(rng.integers(0, 90, n)), 90)),
    (merge, lambda rng, n: (np.sort(rng.random(n)), np.sort(rng.random(n // 2)), np.zeros(n + n // 2))),
    (whiles_in_whiles, lambda rng, n: (np.sort(rng.integers(0, 6, n)), np.zeros(n, np.int64))),
    (bubble_until_sorted, lambda rng, n: (rng.random(n),)),
    (break_in_the_middle, lambda rng, n: (rng.random(n), float(rng.integers(0, n + 1)))),
    (a_number_from_outside_of_a_way, lambda rng, n: (rng.standard_normal(n), rng.standard_normal(n), np.zeros(n))),
    (rows_until_small, lambda rng, n: (rng.random((n, 5)), 1.0)),
]
NEEDS_ONE = {follow, union_find, until_it_settles}  # NumPy raises of none


def same(function: Any, compiled: Any, call: tuple[Any, ...]) -> None:
    mine, theirs = copy.deepcopy(call), copy.deepcopy(call)
    got, expected = compiled(*mine), function(*theirs)
    got, expected = (result if isinstance(result, tuple) else (result,) for result in (got, expected))
    for one, other in zip((*got, *mine), (*expected, *theirs), strict=True):
        if other is None:
            assert one is None
        else:
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("function, make", CASES, ids=[f"{f.__name__}_{k}" for k, (f, _) in enumerate(CASES)])
def test_whiles_end_where_they_should(function: Any, make: Any) -> None:
    compiled = tilewright.jit(strict=True)(function)
    for seed, n in enumerate((17, 64, 2, 1, 0, 301, 5)):
        if n == 0 and function in NEEDS_ONE:
            continue
        same(function, compiled, make(np.random.default_rng(seed), n))


@pytest.mark.parametrize("function", [insertion_sort, collatz, bisect_each, gcds, union_find, whiles_in_whiles])
def test_they_are_one_function_with_their_kernels(function: Any) -> None:
    compiled = tilewright.jit(strict=True)(function)
    make = next(make for f, make in CASES if f is function)
    compiled(*make(np.random.default_rng(0), 9))
    text = str(compiled.explain(source=False))
    assert "serial" in text and "driver" not in text, text


@settings(max_examples=examples(10), deadline=None)
@given(st.lists(st.integers(-4, 4), max_size=70), st.integers(-4, 4))
def test_any_numbers(values: list[int], key: int) -> None:
    a = np.array(values, np.int64)
    same(insertion_sort, COMPILED[insertion_sort], (a,))
    same(first_large, COMPILED[first_large], (a, key))
    same(whiles_in_whiles, COMPILED[whiles_in_whiles], (np.sort(a), np.zeros_like(a)))
    same(two_rows_meet, COMPILED[two_rows_meet], (np.sort(a), key))


COMPILED = {f: tilewright.jit(strict=True)(f) for f in (insertion_sort, first_large, whiles_in_whiles, two_rows_meet)}


@pytest.mark.parametrize("iterations", [*range(10), 12, 13, 28, 29, 4091, 4092, 4093, 8188, 8189, 200_000])
def test_just_so_many_iterations(iterations: int) -> None:
    """Around the ends of the blocks that a loop's iterations are counted in."""
    a = np.zeros(3, np.int64)
    COUNTED(a, iterations)
    np.testing.assert_array_equal(a, [iterations, 3 * iterations, 7 if iterations else 0])


def count(a, n):
    while a[0] < n:
        a[0] += 1
        a[1] += 3
        a[2] = 7


COUNTED = tilewright.jit(strict=True)(count)


@pytest.mark.parametrize("wrong", [40, -41, 2**40, -(2**63)])
def test_a_position_out_of_bounds_is_an_index_error(wrong: int) -> None:
    compiled = tilewright.jit(follow)
    links_ = np.maximum(np.arange(40) - 1, 0)
    assert compiled(links_, 39) == (39, 0)
    links_[7] = wrong
    with pytest.raises(IndexError):
        follow(links_, 39)
    with pytest.raises(IndexError):
        compiled(links_, 39)


def test_a_negative_position_counts_from_the_end() -> None:
    compiled = tilewright.jit(strict=True)(follow)
    links_ = np.array([0, -5, 1, 2, -2])
    for start in (4, 3, -1, 0):
        same(follow, compiled, (links_, start))


def endless(a):
    while a[0] >= 0:
        a[0] = a[0] * 0.5 + 1.0


def endless_inside(a):
    for i in range(a.shape[0]):
        while a[i] >= 0:
            a[i] = a[i] * 0.5 + 1.0


def endless_at_one(a, where):
    for i in range(a.shape[0]):
        n = 0
        while i == where or n < 300:
            a[i] = a[i] * 0.5 + 1.0
            n += 1


def endless_around(a):
    while a[0] >= 0:
        i = 0
        while i < a.shape[0]:
            a[i] = a[i] * 0.5 + 1.0
            i += 1


def ends_at_a_signal(call: Callable[[], Any]) -> None:
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        # Again and again: Python only prints what is raised in the callback of a weak reference.
        signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
        with pytest.raises(KeyboardInterrupt):
            call()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("function", [endless, endless_inside, endless_around])
def test_an_endless_loop_can_be_interrupted(function: Any) -> None:
    compiled = tilewright.jit(strict=True)(function)
    negative = np.full(90, -1.0)
    compiled(negative)  # compiles
    for size in (1, 90, 50_000):
        ends_at_a_signal(lambda size=size: compiled(np.ones(size)))
    compiled(negative)  # nothing of the interrupted calls is left
    np.testing.assert_array_equal(negative, np.full(90, -1.0))


@pytest.mark.parametrize("where", [0, 20_000, 39_999])
def test_whichever_thread_runs_it(where: int) -> None:
    """The caller alone hears of a signal: it asks while it waits for the others too."""
    compiled = tilewright.jit(strict=True)(endless_at_one)
    a, expected = np.ones(40_000), np.ones(40_000)
    compiled(a, -1)
    for _ in range(300):
        expected = expected * 0.5 + 1.0
    np.testing.assert_array_equal(a, expected)
    ends_at_a_signal(lambda: compiled(np.ones(40_000), where))
    compiled(np.ones(40_000), -1)


class Worker:
    running = True


STOPS = False


def until_an_element(a, flags):
    n = 0
    while not flags[0]:
        n += int(a[0])
    return n


def until_an_attribute(a, worker):
    n = 0
    while True:
        n += int(a[0])
        if not worker.running:
            break
    return n


def until_a_global(a, _):
    n = 0
    while not STOPS:
        n += int(a[0])
    return n


@pytest.mark.parametrize("function", [until_an_element, until_an_attribute, until_a_global])
def test_a_loop_that_another_thread_ends_is_pythons(function):
    global STOPS
    compiled = tilewright.jit(function)
    for _ in range(4):
        worker, flags = Worker(), np.zeros(1, bool)
        STOPS = False

        def stop(worker=worker, flags=flags):
            global STOPS
            STOPS = flags[0] = True
            worker.running = False

        threading.Timer(0.05, stop).start()
        compiled(np.ones(3), flags if function is until_an_element else worker)  # it ends
    STOPS, worker, flags = False, Worker(), np.zeros(1, bool)
    ends = threading.Timer(5.0, stop, (worker, flags))  # a call that is not refused
    ends.start()
    with pytest.raises(tilewright.Error, match="nothing in it ends"):
        tilewright.jit(function, strict=True)(np.ones(3), flags if function is until_an_element else worker)
    ends.cancel()
