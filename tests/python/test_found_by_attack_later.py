"""What an attack found once the first one's finds were mended: effects that happened twice, copies in each iteration, calls that
were traced anew each time."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
import tilewright
from strictly import check
from tilewright.errors import TraceError
from tilewright.specialization import Specialization

pytestmark = pytest.mark.compile

RNG = np.random.default_rng(3)


def scaled_or_refused(a, u, step):
    if u[0] > 100:
        a[0] *= 3
        a += step
    return a * 1


def refused_in_a_part(a, u, step):
    for i in range(len(u)):
        if u[i] > 100:
            a[i] *= 3
            raise ValueError(i)
    return a + step


@pytest.mark.parametrize("function", [scaled_or_refused, refused_in_a_part])
def test_what_is_written_before_an_error_is_written_once(function):
    """The first call is compared with NumPy: neither side may write into the caller's array, also where NumPy has to end it."""
    compiled = tilewright.jit(function)
    ours, theirs = np.arange(1, 65), np.arange(1, 65)
    for calls in range(3):
        for call, a in ((compiled, ours), (function, theirs)):
            with pytest.raises((TypeError, ValueError)):
                call(a, np.full(64, 110, np.uint8), 1.5)
        assert ours[0] == theirs[0] == 3 ** (calls + 1)


def rotated(x, y, c, s):
    for i in range(1, len(x)):
        a, b = x[i - 1] * c - y[i - 1] * s, x[i - 1] * s + y[i - 1] * c
        x[i] += a
        y[i] += b


def rotated_in_turn(x, y, z, n):
    for _ in range(n):
        for i in range(1, len(x)):
            x[i], y[i], z[i] = y[i] - z[i - 1], z[i] + x[i - 1] * 0.5, x[i] * 0.5 - y[i - 1]


def rows_in_turn(x, y, n):
    for i in range(1, n):
        x[i], y[i] = x[i - 1] - y[i - 1] * 0.5, y[i - 1] + x[i - 1] * 0.25


def powers(z, w):
    for i in range(1, len(z)):
        z[i] = z[i - 1] * w + z[i]


def some_turned(z, keep):
    for i in range(len(z)):
        if keep[i]:
            z[i] *= 1j


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (rotated, (RNG.random(300), RNG.random(300), 0.6, 0.8)),
        (rotated_in_turn, (RNG.random(50), RNG.random(50), RNG.random(50), 4)),
        (rows_in_turn, (RNG.random((40, 7)), RNG.random((40, 7)), 40)),
        (powers, (RNG.random(300) + 0.5j, 0.6 + 0.7j)),
        (some_turned, (RNG.random(300) + 0.5j, RNG.random(300) > 0.5)),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_arrays_that_are_changed_by_what_the_other_held_are_not_copied(function, args):
    compiled = check(function, *args)
    plan = compiled.for_args(*args).plan_text()
    inside = [line for line in plan.splitlines() if line.startswith("  copy ")]
    assert not inside, "an array is copied in each iteration"
    assert "update" not in plan, "a copy of an array is changed in the place of the array"


def moved(a, b):
    a[1:] += b[:-1]
    a[::-1] *= b
    return a.sum()


def test_arrays_that_share_memory_are_not_traced_at_each_call():
    compiled = tilewright.jit(moved)
    for k in range(4):
        ours, theirs = RNG.random(30_000), np.empty(30_000)
        theirs[:] = ours
        second = (lambda a: a) if k % 2 else (lambda a: a[::-1])
        assert compiled(ours, second(ours)) == moved(theirs, second(theirs))
        assert np.array_equal(ours, theirs)
    assert len(compiled.specializations) <= 2


def seen_twice(a):
    b = a * 2
    return b, b.view(), b.view(float)


def imaginary_parts(a):
    b = a * 2
    return a.imag, b.imag, b, a.imag[1:].T


def test_views_of_all_and_imaginary_parts_of_real_arrays():
    for function in (seen_twice, imaginary_parts):
        a = RNG.random((30, 40))
        compiled = check(function, a)
        results, expected = compiled(a), function(a)
        for one, own in zip(results, expected, strict=True):
            assert one.flags.writeable == own.flags.writeable
        shared = [[np.shares_memory(x, y) for x in of] for of in (results, expected) for y in (*of, a)]
        assert shared[:4] == shared[4:] or shared[: len(shared) // 2] == shared[len(shared) // 2 :]
        assert len({id(one) for one in results}) == len(results)


def test_strict_says_that_no_version_takes_a_call():
    compiled = tilewright.jit(moved, strict=True)
    with (
        patch.object(Specialization, "fits", lambda self, bound: False),
        pytest.raises(TraceError, match="more, multiplied, than kernels can index"),
    ):
        compiled(RNG.random(3000), RNG.random(3000))


def test_a_number_that_is_clipped_does_not_adapt_to_its_bounds():
    """np.clip makes an array of it first."""
    x, y = np.arange(5, dtype=np.float32), np.arange(5, 10, dtype=np.float32)
    for function in (lambda x, y, k: np.clip(k, x, y), lambda x, y, k: np.clip(k, x[0], y[0]) + y.sum()):
        compiled = tilewright.jit(function)
        for k in (3, 2.5, True):
            given, expected = compiled(x, y, k), function(x, y, k)
            assert given.dtype == expected.dtype
            assert np.array_equal(given, expected)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[: x[1] > 0] * 2,
        lambda x: x[x[1] :] * 2,
        lambda x: x[: float(x[1])] * 2,
        lambda x: x[: min(np.True_, 3)] * 2,
        lambda x: x[: x[1:]] * 2,
        lambda x: x[: np.array(x[1])] * 2,
    ],
)
def test_limits_of_slices_are_integers(function):
    compiled = tilewright.jit(function)
    for n in (5, 1, 5):
        x = np.arange(1.0, n + 2)
        with pytest.raises(TypeError) as expected:
            function(x)
        with pytest.raises(TypeError) as given:
            compiled(x)
        assert str(given.value) == str(expected.value)


def test_a_truth_of_pythons_is_a_limit_of_a_slice():
    check(lambda x: x[bool(x[0] > 0) :] * 2, np.arange(5.0))
    check(lambda x: x[bool(x[1] > 0) :] * 2, np.arange(5.0))


def test_numbers_and_ranges_are_no_arrays_without_a_copy():
    for function in (
        lambda x: np.array(range(len(x)), copy=False) + x,
        lambda x: np.array(range(3), copy=False) + x[0],
        lambda x: np.asarray(len(x), copy=False) + x,
        lambda x: np.asarray(float(x[0]), copy=False) + x,
    ):
        with pytest.raises(ValueError, match="Unable to avoid copy"):
            tilewright.jit(function)(np.arange(5.0))


def test_einsum_has_each_axis_of_its_result():
    function = lambda x: np.einsum("i->j", x) * 2  # noqa: E731
    for one in (function, tilewright.jit(function)):
        with pytest.raises(ValueError, match="output subscript 'j' which never appeared in an input"):
            one(np.arange(5.0))


def test_statements_see_that_arrays_of_the_caller_share_memory():
    def chosen(x, y):
        v = x if y.sum() > 1 else x + 1
        for i in range(len(y) - 1):
            v[i] = 1
        return sum([v, y * 2]), np.sign(x)

    compiled = tilewright.jit(chosen)
    draws, theirs = np.random.default_rng(0), np.random.default_rng(0)
    for sign in (-1, -1, -1, 1, 1, -1, 1):
        for make in (lambda b: (b[4:-1], b[4:-1][::-1]), lambda b: (b[1:], b[:-1]), lambda b: (b[:4], b[4:8])):
            ours, numpys = (sign * one.random(9) + sign for one in (draws, theirs))
            got, wanted = compiled(*make(ours)), chosen(*make(numpys))
            assert all(map(np.array_equal, got, wanted)) and np.array_equal(ours, numpys)
    assert "between kernels" in compiled.explain(source=False)


@pytest.mark.parametrize("subscripts", ["i,i->", "i,i", "i,j->"])
def test_an_optimized_einsum_gives_an_array_where_numpy_makes_it_a_product_of_matrices(subscripts):
    function = lambda x, y: np.einsum(subscripts, x, y, optimize=True)  # noqa: E731
    compiled = tilewright.jit(function)
    for n in (7, 1, 2, 7):
        x, y = np.arange(n) + 1.0, np.arange(n) * 0.5
        given, expected = compiled(x, y), function(x, y)
        assert type(given) is type(expected) and given == expected


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x.strides, x + 1),
        lambda x: (x[:0].strides, x + 1),
        lambda x: (np.outer(x, x).sum(axis=0).strides, x + 1),
        lambda x: (x[x > 3].strides, x + 1),
    ],
)
def test_arrays_without_elements_have_strides_of_their_own(function):
    compiled = tilewright.jit(function)
    for n in (9, 0, 1, 2, 0, 9):
        x = np.arange(n) * 1.0
        assert compiled(x)[0] == function(x)[0]


def test_draws_into_an_array_that_lies_otherwise_than_c_has_it_raise():
    def drawn(x):
        v = x[::-1]
        np.random.default_rng(0).random(out=v)
        return x * 2, v + 1

    compiled = tilewright.jit(drawn)
    for n in (1, 1, 24, 24, 1, 0, 24):
        outcomes = []
        for function in (compiled, drawn):
            x = np.ones(n)
            try:
                outcomes.append((*(one.tolist() for one in function(x)), x.tolist()))
            except ValueError as error:
                outcomes.append((str(error), x.tolist()))
        assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(
    "function",
    [
        lambda x, l, k: np.array([x[0], k]),
        lambda x, l, k: np.array(l) * x[0],
        lambda x, l, k: np.stack([l]).sum(axis=0) + x[0],
        lambda x, l, k: np.asarray(l) + x,
    ],
)
def test_arrays_of_integers_beyond_64_bits_hold_objects(function):
    compiled = tilewright.jit(function)
    for k in (3, 10**20, 2**64, 2**63, -(10**30), 3):
        x = np.arange(2.0)
        given, expected = (one(x, [0.5, k], k) for one in (compiled, function))
        assert given.dtype == expected.dtype and given.tolist() == expected.tolist()


def an_element_decides(x, t, n):
    for _ in range(n):
        x += 1.0
        if x[0] > t:
            raise ValueError(t)
    print("through")
    return x


def test_the_element_of_an_array_of_one_decides_in_a_loop(capsys):
    compiled = tilewright.jit(an_element_decides, strict=True)
    for t, n in [(9.0, 2), (9.0, 3), (2.5, 2), (2.5, 3), (9.0, 0)]:
        seen = []
        for function in compiled, an_element_decides:
            x = np.array([0.5])
            try:
                seen.append((function(x, t, n).tolist(), x.tolist()))
            except ValueError as error:
                seen.append((str(error), x.tolist()))
            seen.append(capsys.readouterr().out)
        assert seen[:2] == seen[2:]
