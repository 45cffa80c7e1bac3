"""`a[positions] = v`, `a[mask] = values`, `np.add.at` and `np.put` outside of loops write the elements that NumPy writes, in its order,
and no other ones."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from from_text import function_of
from strictly import check

pytestmark = pytest.mark.compile

RNG = np.random.default_rng(8)
N = 3000
A, V, MATRIX = RNG.random(N), RNG.random(500), RNG.random((50, 60))
I = RNG.integers(-N, N, 500)  # noqa: E741
BACKWARDS = np.arange(500)[::-1].copy()
THIRD = np.arange(N) % 7 == 3
WHOLE = (A * 100).astype(np.int64)

CASES = [
    ("a[i] = v", A, I, V),
    ("a[i] = v", A, I[:1], V[:1]),
    ("a[i] = v", A[::-2], I % 1500, V),
    ("a[i] = v", A.astype(np.float16), I, V),
    ("a[i] = v", WHOLE, I, V * 99),
    ("a[i] = v", A + 0j, I, V * 1j),
    ("a[i] = v", A, I.astype(np.uint64) % np.uint64(N), V),
    ("a[i] = v", np.asfortranarray(MATRIX), np.array([3, -2, 3]), np.arange(60.0)),
    ("a[:, i] = v", MATRIX, np.array([1, 5, -1]), np.arange(3)),
    ("a[i, i] = v", MATRIX, np.arange(50), np.arange(50.0)),
    ("a[i[:, None], v] = 7", MATRIX, np.array([1, 4, -1]), np.arange(-60, 60)),
    ("a[i] += v", A, I, V),
    ("a[i] = a[:500]", A, I, V),
    ("a[i] = i", I * 0 + 9, I % 500, V),
    ("a[a] = v", BACKWARDS, I, V * 99),
    ("a[a] = a[::-1]", BACKWARDS, I, V),
    ("a[[0, 2]] = a[[2, 0]]", MATRIX, I, V),
    ("a[i] = v\n    a[i[::-1]] *= 2\n    return a.sum()", A, I, V),
    ("b = a[5:]\n    b[i] = v\n    return b", A, I % 900, V),
    ("out = np.zeros(40)\n    out[i % 40] = v\n    return out", A, I, V),
    ("np.put(a, i, v)", A, I, V),
    ("a.put(i, 2.0)", A, I, V),
    ("np.put(a, i, v[:3])", A, I, V),
    ("np.putmask(a, a > 0.3, 2)", A, I, V),
    ("np.putmask(a, a > 0.3, a * 2)", A, I, V),
    ("np.putmask(a, a > 0.3, v)", A, I, V),
    ("np.fill_diagonal(a, 3)", MATRIX, I, V),
    ("np.fill_diagonal(a.T, 3.5)", MATRIX, I, V),
    ("np.fill_diagonal(a, v)", MATRIX, I, V),
    ("np.fill_diagonal(a, 3, wrap=True)", MATRIX.T.copy(), I, V),
    ("np.put_along_axis(a, i, v, 1)", MATRIX, RNG.integers(-60, 60, (50, 60)), MATRIX + 1),
    ("np.add.at(a, i, v)", A, I, V),
    ("np.subtract.at(a, i % 50, v)", MATRIX, I, RNG.random(60)),
    ("np.maximum.at(a, (i % 50, i % 60), v)", MATRIX, I, V),
    ("np.add.at(a, i, 1)", WHOLE, I, V),
    ("np.add.at(a, i, 1)", A.astype(np.float32), I, V),
    ("np.add.at(a, i, v)", (A * 99).astype(np.uint8), I, (V * 300).astype(np.uint8)),
    ("np.add.at(a, a > 0.5, 1.0)", A, I, V),
    ("np.add.at(a, i, a[:500])", A, I, V),
    ("np.add.at(a, a, a)", BACKWARDS, I, V),
    ("a[i] = v", A, THIRD, RNG.random(THIRD.sum())),
    ("a[i] = v", A, THIRD, V[:1]),
    ("a[i] = v", A, THIRD & False, V[:0]),
    ("a[i] = v", WHOLE.astype(np.int8), THIRD, RNG.integers(0, 300, THIRD.sum())),
    ("a[i] = np.sort(a[i])", A, THIRD, V),
    ("a[i] = np.sort(a[i])[::-1]", A, THIRD & False, V),
    ("a[::2][i[::2]] = v", A, THIRD, RNG.random(THIRD[::2].sum())),
]


@pytest.mark.parametrize(("body", "a", "i", "v"), CASES, ids=[f"{k}: {case[0]}" for k, case in enumerate(CASES)])
def test_what_is_written_is_what_numpy_writes(body, a, i, v):
    check(function_of(f"def f(a, i, v):\n    {body}\n"), a, i, v)


BEYOND = np.append(I, N)
RAISING = [
    ("a[i] = v", A, BEYOND, RNG.random(501)),
    ("np.add.at(a, i, v)", A, BEYOND, RNG.random(501)),
    ("np.put(a, i, v)", A, BEYOND, RNG.random(501)),
    ("a[i] = v\n    np.linalg.inv(a[:9].reshape(3, 3) * 0)", A, I, V),
    ("a[i] = v", A, THIRD, RNG.random(THIRD.sum() + 1)),
    ("a[i] = v", A, THIRD, RNG.random(THIRD.sum() - 1)),
]  # fmt: skip


@pytest.mark.parametrize(("body", "a", "i", "v"), RAISING, ids=[f"{k}: {case[0]}" for k, case in enumerate(RAISING)])
def test_what_raises_leaves_what_numpy_leaves(body, a, i, v):
    check(function_of(f"def f(a, i, v):\n    {body}\n"), a, i, v, in_numpy=True)


@pytest.mark.parametrize("value", ["300", "np.nan", "-1", "a[:500]"])
def test_values_are_taken_once_in_a_loop_too(value):
    function = function_of(f"def f(a, i, n):\n    for k in range(n):\n        a[i] = {value}\n")
    compiled = tilewright.jit(function)
    for dtype in ("uint8", "float64"):
        ours, theirs = (A * 99).astype(dtype), (A * 99).astype(dtype)
        errors = []
        for call, array in ((compiled, ours), (function, theirs)):
            for _ in range(3):
                try:
                    call(array, I, 10)
                except (ValueError, OverflowError) as error:
                    errors.append((type(error), str(error)))
        assert ours.tobytes() == theirs.tobytes()
        assert errors[: len(errors) // 2] == errors[len(errors) // 2 :]


@pytest.mark.parametrize(
    "line",
    [
        "a[m] = v[: m.sum()]",
        "a[m] = a[m][::-1]",
        "a[m] = np.arange(m.sum())",
        "a[i] = v[:0]",
        "np.fill_diagonal(a[:0, None], 2)",
    ],
)
def test_nothing_written_into_what_may_not_be_written_is_an_error(line):
    function = function_of(f"def f(a, m, i, v):\n    {line}\n    return a * 2\n")
    compiled = tilewright.jit(function)
    for writeable in (True, False):
        a = A.copy()
        a.flags.writeable = writeable
        call = (a, np.zeros(N, bool), I[:0], V)
        if writeable:
            np.testing.assert_array_equal(compiled(*call), function(*call))
            continue
        for one in (compiled, function):
            with pytest.raises(ValueError, match="read-only"):
                one(*call)
