"""A call writes what the function writes and nothing else, since threads may fill parts of one array; where a check fails, the
arguments are what NumPy leaves."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import tilewright
from strictly import check

pytestmark = pytest.mark.compile

N = 4000
THREADS = 4


def collatz(out, k):
    for i in range(k * len(out) // 4, (k + 1) * len(out) // 4):
        c, steps = i + 1, 1
        while c > 1:
            c = c // 2 if c % 2 == 0 else 3 * c + 1
            steps += 1
        out[i] = steps


def interleaved(out, k):
    for i in range(k, len(out), 4):
        c = i
        while c > 3:
            c = c // 2 * 2 - 2
        out[i] = c + 1


def owned(out, owners, k):
    for i in range(len(out)):
        if owners[i] == k:
            c = i
            while c > 3:
                c = c - 3
            out[i] = c + 1


def scattered(out, places, k):
    for j in range(k * len(places) // 4, (k + 1) * len(places) // 4):
        c = j
        while c > 3:
            c = c - 3
        out[places[j]] = c + 1


def complex_part(z, k):
    n = len(z) // 4
    z[k * n : (k + 1) * n] = z[k * n : (k + 1) * n] * 2 + 1j


def complex_loop(z, k):
    n = z.shape[0] // 4
    for i in range((k + 1) * n - 1, k * n - 1, -2):
        z[i, 1:] = z[i, 1:] * 1j + i


def beside_the_old(a, k):
    n = len(a) // 4
    old = a.copy()
    for i in range(k * n, (k + 1) * n):
        a[i] = old[i] + old[-1 - i] * 0.5 + a[i - 1] * 0.0


def at_positions(a, at, k):
    a[at[k::4]] = k + 1.0


def added_at(a, at, k):
    np.add.at(a, at[k::4], 1.5)


def put(a, at, k):
    np.put(a, at[k::4], k + 1.0)


def rows_at_positions(a, at, k):
    a[at[k::4] % len(a)] = k + 1.0


def on_diagonal(a, k):
    n = a.shape[1]
    np.fill_diagonal(a[k * n : (k + 1) * n], k + 1.0)


def values_under_a_mask(a, owners, k):
    mine = owners == k
    a[mine] = np.arange(np.count_nonzero(mine)) + 0.5


CASES = [
    (at_positions, lambda: [np.zeros(N), np.random.default_rng(0).permutation(N)]),
    (added_at, lambda: [np.zeros(N), np.random.default_rng(0).permutation(N)]),
    (put, lambda: [np.zeros(N), np.random.default_rng(0).permutation(N)]),
    (rows_at_positions, lambda: [np.zeros((N // 4 * 4, 3)), np.random.default_rng(0).permutation(N // 4 * 4)]),
    (on_diagonal, lambda: [np.zeros((400, 100))]),
    (values_under_a_mask, lambda: [np.zeros(N), np.arange(N) % 4]),
    (collatz, lambda: [np.zeros(N, np.int64)]),
    (collatz, lambda: [np.zeros((N, 2))[:, 1]]),
    (interleaved, lambda: [np.zeros(N)]),
    (owned, lambda: [np.zeros(N), np.arange(N) % 4]),
    (scattered, lambda: [np.zeros(N), np.random.default_rng(0).permutation(N)]),
    (complex_part, lambda: [np.linspace(0, 1, N) + 0j]),
    (complex_part, lambda: [np.zeros((N, 2), complex)[:, 1]]),
    (complex_loop, lambda: [np.ones((N // 50, 20), complex)]),
    (beside_the_old, lambda: [np.linspace(0, 1, N)]),
]


@pytest.mark.parametrize(("function", "make"), CASES, ids=lambda one: getattr(one, "__name__", "").strip("<>"))
def test_elements_that_a_function_does_not_write_are_left_alone(function, make):
    """While the call runs another thread changes them: a watcher between the kernels' start and the end of the call."""
    compiled = tilewright.jit(function, strict=True)
    for k in range(2):
        expected, got = make(), make()
        function(*expected, k)
        compiled(*got, k)
        assert got[0].tobytes() == expected[0].tobytes()
    plan = compiled.specializations[0].plan_text()
    written = compiled.__wrapped__.__code__.co_varnames[0]
    assert f" to {written}\n" not in plan, "all of the argument is written back"
    for _ in range(6):
        shared, expected = make(), make()
        threads = [threading.Thread(target=compiled, args=(*shared, k)) for k in range(THREADS)]
        if function is beside_the_old:  # reads what others write
            threads = threads[:1]
        for k in range(len(threads)):
            function(*expected, k)
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert shared[0].tobytes() == expected[0].tobytes()


# ---- checks that fail behind writes ----


def overflows(a, n, k):
    for i in range(n):
        c = k
        while c < 2**40:
            c = c * 3 + i
        a[i] = c
        k = k * 2 + 1
    return k


def two_arrays(a, b, k):
    for i in range(1, len(a)):
        a[i] = a[i - 1] + b[i]
        b[i] = a[i] * 0.5
        k = k * 3
    return k


def divided(a, d):
    total = 0
    for i in range(len(a)):
        total += i * 3 // int(d[i])
        a[i] += total
    return total


def of_complex(z, k):
    for i in range(1, len(z)):
        z[i] = z[i] * z[i - 1] + 1
        k = k * 3
    return k


def in_a_branch(a, x, k):
    if x[0] > 0:
        a[3:] += x[3:] * 2
    else:
        a[:2] = 7
    while 1 < k < 2**62:
        k = k * 2
    return k * 2


def swapped(a, b, k):
    for i in range(len(a)):
        a[i], b[i] = b[i], a[i]
        k = k * 3
    a[:], b[:] = b.copy(), a.copy()
    return k


def raised_in_the_loop(out, x):
    for i in range(len(x)):
        out[i] += np.linalg.inv(x[i])[0, 0]
    return out.max()


def raised_behind(out, x):
    for i in range(len(out)):
        k = 0
        while k < x[i]:
            k += 1
        out[i] += k
    inverse = np.linalg.inv(out.reshape(4, 4))
    out += 1
    return inverse


def sizes_read(out, sizes, x):
    for i in range(len(sizes)):
        m = int(sizes[i])
        out[i] += 1
        out[:m] += x[:m].max()


def _matrices(singular):
    x = np.stack([np.eye(3) * (i + 1) for i in range(20)])
    x[singular:] = 0
    return x


def _divisors(zero):
    d = np.arange(1, 81)
    d[zero:] = 0
    return d


@pytest.mark.parametrize(
    ("function", "fine", "failing"),
    [
        (overflows, lambda: (np.zeros(70), 20, 1), lambda: (np.arange(70.0), 66, 1)),
        (overflows, lambda: (np.zeros(140)[::2], 20, 1), lambda: (np.arange(140.0)[::-2], 66, 1)),
        (two_arrays, lambda: (np.zeros(30), np.ones(30), 1), lambda: (np.zeros(60), np.ones(60), 1)),
        (two_arrays, lambda: (np.zeros((30, 2)).T[1], np.ones(30), 1), lambda: (np.zeros((60, 2)).T[1], np.ones(60), 1)),
        (divided, lambda: (np.zeros(80), _divisors(80)), lambda: (np.ones(80), _divisors(60))),
        (of_complex, lambda: (np.full(30, 0.5 + 0.2j), 1), lambda: (np.full(60, 0.5 + 0.2j), 1)),
        (in_a_branch, lambda: (np.zeros(8), np.ones(8), 0), lambda: (np.zeros(8), np.ones(8), 3)),
        (swapped, lambda: (np.arange(20.0), np.ones(20), 1), lambda: (np.arange(60.0), np.ones(60), 1)),
        (raised_in_the_loop, lambda: (np.ones(20), _matrices(20)), lambda: (np.ones(20), _matrices(12))),
        (raised_behind, lambda: (3 * np.eye(4).ravel(), np.eye(4).ravel()), lambda: (np.zeros(16), np.ones(16))),
        (sizes_read, lambda: (np.zeros(20), np.arange(1, 9), np.ones(20)), lambda: (np.zeros(20), np.array([2, 0]), np.ones(20))),
    ],
    ids=lambda one: getattr(one, "__name__", "").strip("<>"),
)  # fmt: skip
def test_a_check_that_fails_behind_writes_leaves_what_numpy_leaves(function, fine, failing):
    compiled = check(function, *fine())
    check(compiled, *failing(), in_numpy=True)
    check(compiled, *fine())


SHARED = np.zeros(50)


def looks_at_the_shared_array():
    kept = {"all": SHARED.tolist()}
    return float(max(kept["all"]))


def writes_before_it_calls(a, x):
    for i in range(len(a)):
        a[i] += x[i]
    most = looks_at_the_shared_array()
    a[0] += most
    return most


def test_a_callee_sees_by_another_name_what_was_written_before_it():
    compiled = tilewright.jit(writes_before_it_calls)
    for _ in range(6):
        SHARED[:] = 0
        assert compiled(SHARED, np.arange(50.0)) == 49.0
        assert SHARED.tolist() == [49.0, *range(1, 50)]
