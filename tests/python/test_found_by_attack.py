"""In-place writes and numbers of loops that a stranger's attack once found wrong, through `tilewright.jit` against NumPy."""

import copy
import math
import warnings
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import one_in

pytestmark = pytest.mark.compile


def w3(a, b):
    a[::2] = b[::2]


def w32(a):
    a[::-1] = np.float64(7)


def w5(a, b):
    a[::-1] += b


def w6(a, b):
    a[:, ::2] = b[:, ::2]


def w7(a, b):
    a[1:-1:2, 1:-1] = b[1:-1:2, 1:-1] * 2


def w8(a, b):
    v = a[::-1]
    for i in range(len(a)):
        v[i] = b[i]


def p1(z):
    z[1:3] = 0


def p4(z):
    z[1:] += z[:-1]


def p5(z):
    z[1:-1] = z[:-2]
    z[0] = 1j


def p6(z):
    z[::-1] = z * 2


def dv(n, m):
    s = 0
    for i in range(-n, n):
        s += i // m
    return s


def dm(n, m):
    s = 0
    for i in range(-n, n):
        s += i % m
    return s


def da(a, m):
    for i in range(len(a)):
        a[i] = (i - 5) // m


def sq(a):
    for i in range(len(a)):
        a[i] = i * i


def cu(a, n):
    for i in range(len(a)):
        a[i] = (i * i * i) % n


def ga(a, b):
    for i in range(len(a)):
        a[i] = b[(i * i * 7919) % 97]


def mx(n):
    s = 0
    for i in range(n):
        s = max(s, i * i)
    return s


def big(a, n):
    for i in range(n, n + len(a)):
        a[i - n] = i * 2


def b3(a, x):
    for i in range(1):
        if a[i] > x:
            break
        a[i] = -1.0


def b4(a, x):
    for i in range(len(a)):
        if a[i] > x:
            break
        a[i] = -1.0


def rec(a, b):
    for i in range(1, len(a)):
        a[i] = a[i - 1] + b[i]
    return a


RNG = np.random.default_rng(0)


def M(*shape):
    return RNG.standard_normal(shape)


def Z(n):
    return RNG.standard_normal(n) + 1j * RNG.standard_normal(n)


F = np.asfortranarray
CASES = [
    (w3, [(M(6, 4), M(6, 4)), (M(64, 64), M(64, 64)), (F(M(7, 9)), F(M(7, 9))), (M(14, 18)[::2, ::3], M(7, 6))]),
    (w32, [(M(9, 4)[3:6],), (M(70, 70),)]),
    (w5, [(M(64, 64), M(64, 64)), (M(9), M(9))]),
    (w6, [(M(6, 5), M(6, 5)), (F(M(64, 63)), F(M(64, 63)))]),
    (w7, [(M(64, 64), M(64, 64)), (M(9, 9), M(9, 9))]),
    (w8, [(M(8, 5), M(8, 5)), (M(7), M(7))]),
    (p1, [(Z(5),), (Z(50).astype(np.complex64),)]),
    (p4, [(Z(9),)]),
    (p5, [(Z(9),)]),
    (p6, [(Z(9),), (Z(200),)]),
    (dv, [(10, -3), (10, 3), (10, -1)]),
    (dm, [(10, -3), (10, 7)]),
    (da, [(np.zeros(10), -3), (np.zeros(10), 3)]),
    (sq, [(np.zeros(70000),), (np.zeros(70000, np.int64),)]),
    (cu, [(np.zeros(5000, np.int64), 97)]),
    (ga, [(np.zeros(5000), M(97))]),
    (mx, [(70000,)]),
    (big, [(np.zeros(10), 2**31 + 5), (np.zeros(10), 5)]),
    (b3, [(np.full(1, 0.5), 0.1), (np.full(1, 0.05), 0.1)]),
    (b4, [(np.full(1, 0.5), 0.1), (np.full(2, 0.05), 0.1), (np.full(1, 0.05), 0.1)]),
    (rec, [(M(0), M(0)), (M(5), M(5))]),
]


@pytest.mark.parametrize(("function", "calls"), CASES, ids=[case[0].__name__ for case in CASES])
def test_answers_as_numpy(function, calls):
    jitted = tilewright.jit(function)
    for call in calls:
        mine, theirs = copy.deepcopy(call), copy.deepcopy(call)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if function in (rec, big) else "error", tilewright.FallbackWarning)
            got = jitted(*mine)
        expected = function(*theirs)
        assert (got is None) == (expected is None)
        if expected is not None:
            assert np.array_equal(got, expected)
        for a, b in zip(mine, theirs, strict=True):
            if isinstance(b, np.ndarray):
                assert np.array_equal(a, b, equal_nan=True)


# ---- the third attack ---------------------------------------------------------------------------------------------------
def stores_a_sum(d, z):
    z[0] = d.sum()


def stores_sums(d, z):
    for i in range(d.shape[0]):
        z[i] = d[i].sum()


def stores_floats(x, z):
    for i in range(x.shape[0]):
        z[i] = x[i] * 2


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8"])
def test_numbers_that_do_not_fit_where_they_are_stored(dtype: str) -> None:
    """NumPy's numbers go through Python's on their way into an element of a signed type, which raises."""
    top = float(np.iinfo(dtype).max)
    for function, good, bad in (
        (stores_a_sum, np.ones((4, 5), np.int8), np.full((4, 500), 127, np.int8)),
        (stores_sums, np.ones((4, 5), np.int8), np.full((4, 500), 127, np.int8)),
        (stores_floats, np.array([1.25, 3.5, 0.0]), np.array([1.0, top, 0.0])),
        (stores_floats, np.array([1.25, 3.5, 0.0]), np.array([1.0, np.nan, 0.0])),
    ):
        compiled = tilewright.jit(strict=True)(function)
        for data in (good, bad, good, bad):
            mine, theirs = np.zeros(4, dtype), np.zeros(4, dtype)
            with np.errstate(all="ignore"):
                assert ended(compiled, data, mine) == ended(function, data, theirs)
            np.testing.assert_array_equal(mine, theirs)


def ended(function: Any, *call: Any) -> str:
    try:
        function(*call)
    except (OverflowError, ValueError) as error:
        return repr(error)
    return "done"


def test_a_first_call_without_iterations_does_not_end_the_matter() -> None:
    def f(a):
        for i in range(1, a.shape[0]):
            a[i] += a[i - 1]

    def count(x):
        positive = 0
        for i in range(x.size):
            positive += x[i] > 0
        return positive

    compiled = tilewright.jit(strict=True)(f)
    for shape in ((1, 2), (0, 3), (500, 20), (5, 2), (1, 2)):
        mine = np.random.default_rng(3).standard_normal(shape)
        theirs = mine.copy()
        compiled(mine)
        f(theirs)
        np.testing.assert_array_equal(mine, theirs)
    assert len(compiled.specializations) == 1
    counted = tilewright.jit(strict=True)(count)
    for size in (0, 1000, 0, 7):
        x = np.random.default_rng(size).standard_normal(size)
        assert counted(x) == count(x)


def test_a_bare_return_leaves_a_loop() -> None:
    def f(x):
        for i in range(x.size):
            if x[i] > 5:
                x[i] = 0
                return
            x[i] += 1

    def nested(x, limit):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                if x[i, j] > limit:
                    return None
                x[i, j] *= 2
        x[0, 0] = -1

    compiled, compiled_nested = tilewright.jit(strict=True)(f), tilewright.jit(strict=True)(nested)
    for size in (1, 5, 40):
        for top in (1.0, 20.0):
            mine = np.linspace(0, top, size)
            theirs = mine.copy()
            assert compiled(mine) is None
            f(theirs)
            np.testing.assert_array_equal(mine, theirs)
            mine = np.linspace(0, top, 3 * size).reshape(3, size)
            theirs = mine.copy()
            assert compiled_nested(mine, 7.0) is None
            nested(theirs, 7.0)
            np.testing.assert_array_equal(mine, theirs)


def chain_of_choices(y):
    out = np.zeros_like(y)
    s = 0.0
    for i in range(len(y)):
        s = s + y[i]
        for _ in range(9):
            if s > 1:
                s = s * 0.5 - 1
            elif s < -1:
                s = s * 0.25 + 2
            else:
                s = s * 1.7 + 0.1
        out[i] = s
    return out


def test_chains_of_choices_do_not_take_for_ever_to_schedule() -> None:
    # Nine steps, each reading the one before in several places: 3^18 ways through them.
    y = np.random.default_rng(0).standard_normal(50)
    np.testing.assert_array_equal(tilewright.jit(chain_of_choices, strict=True)(y), chain_of_choices(y))


@pytest.mark.parametrize("value", [0, True, 2.5, -7])
def test_a_number_beside_what_is_written_comes_back(value: float) -> None:
    def f(z):
        for i in range(1, len(z)):
            z[i] += z[i - 1]
        return value

    mine, theirs = np.arange(9.0), np.arange(9.0)
    got, expected = tilewright.jit(f, strict=True)(mine), f(theirs)
    assert (type(got), got) == (type(expected), expected)
    np.testing.assert_array_equal(mine, theirs)


def taken_away(x, y, z):
    s = 0
    for i in range(1, len(x)):
        if x[i] > 0:
            s = int(z[i] + x[i])
            y[i] += z[i] - y[i]
    return s


def nothing_left(x, y, z):
    s = 0
    for i in range(1, len(x)):
        if x[i] > 0:
            s = int(z[i] + x[i])
            y[i] -= y[i]
    return s


def times_zero(x, y, z):
    s = 0
    for i in range(1, len(x)):
        if x[i] > 0:
            s = int(z[i] + x[i])
            y[i] = y[i] * 0
    return s


def neighbour_taken_away(x, y, z):
    s = 0
    for i in range(1, len(x)):
        if x[i] > 0:
            s = int(z[i] + x[i])
            y[i] = z[i] + y[i - 1] - y[i - 1]
    return s


@pytest.mark.parametrize(
    ("function", "dtype"),
    one_in(2, [taken_away, nothing_left, times_zero, neighbour_taken_away], ["int32", "int64", "float64"]),
)
def test_reads_that_cancel_in_an_update_in_place(function: Any, dtype: str) -> None:
    data = [np.random.default_rng(k).integers(-4, 5, 40).astype(dtype) for k in range(3)]
    mine, theirs = [a.copy() for a in data], [a.copy() for a in data]
    assert tilewright.jit(function, strict=True)(*mine) == function(*theirs)
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [10, 100_003])
def test_sine_and_cosine_of_one_value(dtype: str, n: int) -> None:
    """The compiler makes one call of both."""

    def half_of_twice(x):
        return np.sin(x) * np.cos(x), np.sin(x) + 2 * np.cos(x)

    x = (np.random.default_rng(0).normal(size=n) * 1e6).astype(dtype)
    for mine, theirs in zip(tilewright.jit(half_of_twice, strict=True)(x), half_of_twice(x), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=8 * np.finfo(dtype).eps)


@pytest.mark.parametrize("n", range(1, 10))
def test_products_with_columns_read_backwards(n: int) -> None:
    def reversed_product(a, b):
        return a - a @ b[:, ::-1]

    a, b = np.random.default_rng(n).integers(-4, 5, (2, n, n)).astype(float)
    np.testing.assert_array_equal(tilewright.jit(reversed_product, strict=True)(a, b), reversed_product(a, b))


@pytest.mark.parametrize("index", [2**64 - 1, 2**64 - 6, 2**64 - 7, 2**63, 5, 6])
def test_places_of_uint64_beyond_int64_are_negative(index: int) -> None:
    def looked_up(x, k):
        x *= 2
        return x[k]

    j = tilewright.jit(looked_up)
    j(np.arange(6.0), np.array([0, 1], np.uint64))
    outcomes = []
    for call in (j, looked_up):
        x = np.arange(6.0)
        try:
            outcomes.append((call(x, np.array([index, 1], np.uint64)).tolist(), x.tolist()))
        except IndexError as error:
            outcomes.append((str(error), x.tolist()))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("shape", [(1, 7001, 3), (2, 7001, 3), (3, 20_000, 2), (5, 40, 30), (70, 500, 4)])
def test_stacks_of_products(shape: tuple[int, int, int]) -> None:
    """Few matrices of many rows are shared out over both axes."""

    def products(x, w):
        return x @ w

    rng = np.random.default_rng(shape[1])
    x = rng.integers(-4, 5, shape).astype(float)
    for w in (rng.integers(-4, 5, (shape[2], 2)), rng.integers(-4, 5, (shape[0], shape[2], 6))):
        np.testing.assert_array_equal(tilewright.jit(products, strict=True)(x, w.astype(float)), x @ w)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, n: x + (n >> 2),
        lambda x, n: x[n >> 30] * 2,
        lambda x, n: x[n % 3 :] + 1,
        lambda x, n: np.arange(n // 2**30) * 2 + x[0],
        lambda x, n: x[: min(n, 3)] + n // 7,
        lambda x, n: x + (n + 1),
        lambda x, n: x - (len(x) - n) * 3,
        lambda x, n: x * 1.0 + (n << 1) / 2,
    ],
)
def test_integers_beyond_32_bits_in_sizes(function):
    """Kernels are given sizes as 32 bits: what n is divided by has to be divided before that."""
    x = np.arange(9)
    compiled = tilewright.jit(function)
    for n in (3, 2**30, 2**31 - 1, 2**31, 2**31 + 7, 2**32 + 2, 2**33 - 1, 2**33):
        ours, numpys = compiled(x, n), function(x, n)
        np.testing.assert_array_equal(ours, numpys)


def test_integers_beyond_32_bits_as_iterations():
    def f(x, n):
        s = 0
        for t in range(n // 2**30):
            s += t * x[t % 5]
        return s

    compiled = tilewright.jit(f)  # which warns: NumPy runs what kernels cannot count
    for n in (2**30, 2**31 - 1, 2**31, 2**32 + 2, 2**33):
        assert compiled(np.arange(5), n) == f(np.arange(5), n)
    with pytest.raises(tilewright.TraceError, match="n is 2147483648"):
        tilewright.jit(f, strict=True)(np.arange(5), 2**31)


def sum_of_what_stays(x, y):
    return (x + 1 == x).sum(), np.isnan(x - x).sum(), (x - x).sum(), ((x - y) + y != x).any(), (x * 0 * x).mean()


def doublings(x, y):
    n = 0
    while n < 50 and not ((x + y) - x != y).any():
        x = x * 2
        n += 1
    return n


def carried_there_and_back(x, y):
    s = 1.0
    for i in range(len(x)):
        s = (s - x[i]) + x[i]
    return s + y[0]


@pytest.mark.parametrize(
    ("function", "first", "length"),
    one_in(3, [sum_of_what_stays, doublings, carried_there_and_back], [1e17, np.inf, 3.0], [5, 31, 1000, 20_003]),
)
def test_iterations_that_real_numbers_would_not_need(function, first, length):
    """Halide leaves out iterations that add x - x, or count x + 1 == x: zero and false to it, for every float."""
    x = np.full(length, first)
    x[1::3] = 2.5
    y = np.full(length, 1e3) / 3
    with np.errstate(all="ignore"):
        expected = function(x, y)
    for ours, theirs in zip(
        np.atleast_1d(tilewright.jit(function, strict=True)(x, y)), np.atleast_1d(expected), strict=True
    ):
        assert np.array_equal(ours, theirs, equal_nan=True)


REDUCED_BY_METHOD = [
    lambda x: np.logical_and.reduce(x > 0, initial=False),
    lambda x: np.logical_or.reduce(x > 9, initial=True),
    lambda x: np.maximum.reduce(x, dtype=np.float32),
    lambda x: np.maximum.reduce(x, dtype=np.float64, keepdims=True),
    lambda x: np.logical_and.reduce(x, dtype=bool),
    lambda x: np.add.reduce(x, dtype=np.float32),
]


@pytest.mark.parametrize("function", REDUCED_BY_METHOD)
def test_a_method_of_a_ufunc_drops_no_keyword(function):
    x = np.array([3.0, 1.0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some have no rule: NumPy runs them
        ours = tilewright.jit(function)(x)
    assert ours == function(x) and np.asarray(ours).dtype == np.asarray(function(x)).dtype


def norm_or_nan(x):
    s = 0.0
    for i in range(x.shape[0]):
        if x[i] > 0:
            s += x[i]
    return s if s > 0 else 1e999 - 1e999


def locals_inside(x, locals):
    def twice(locals):
        return locals * 2

    return twice(x) + locals


def test_a_constant_that_is_nan_hides_no_source():
    assert tilewright.jit(norm_or_nan, strict=True)(np.arange(3.0)) == 3.0


def test_a_parameter_may_be_called_locals():
    assert np.array_equal(tilewright.jit(locals_inside, strict=True)(np.arange(5.0), 3), np.arange(5.0) * 2 + 3)


class Names(list):
    """Has a way of its own to its items, as importlib's EntryPoints."""

    def __getitem__(self, name):
        raise KeyError(name)


class Numbers(list):
    pass


NONE, SOME = Names(), Numbers([2.0, 3.0])


def goes_through_lists(x):
    for name in NONE:
        x = x * name
    for number in SOME:
        x = x * number
    return x


def test_lists_of_classes_of_their_own_are_gone_through():
    compiled = tilewright.jit(goes_through_lists, strict=True)
    assert np.array_equal(compiled(np.arange(3.0)), np.arange(3.0) * 6)
    SOME.append(2.0)
    try:
        assert np.array_equal(compiled(np.arange(3.0)), np.arange(3.0) * 12)
    finally:
        SOME.pop()


def largest_above(values, limit):
    return any((found := value) > limit for value in values) and found


def names_in_a_branch(x):
    y = x * 2
    if x[0] > 0:
        y = y + largest_above((1.0, 5.0, 9.0), 4.0)
    return y


def test_a_generator_in_a_branch_names_what_it_found():
    compiled = tilewright.jit(names_in_a_branch, strict="kernels")
    for first in (1.0, -1.0):
        x = np.array([first, 2.0])
        assert np.array_equal(compiled(x), names_in_a_branch(x))


def ranges(x):
    return np.arange(3, None) + x[:3], np.arange(1, None, 2), np.arange(2.0, None, None) + x[0]


def test_a_range_without_an_end_begins_at_zero():
    got = tilewright.jit(ranges, strict=True)(np.arange(4.0))
    for ours, theirs in zip(got, ranges(np.arange(4.0)), strict=True):
        assert np.array_equal(ours, theirs) and ours.dtype == theirs.dtype


def in_interval(x, low):
    def inside(value):
        if np.isnan(value):
            return False
        return not value < 0

    if not inside(low):
        raise ValueError("low")
    return np.zeros(3) + x if inside(low) else x


def test_a_number_of_the_call_decides_through_branches():
    compiled = tilewright.jit(in_interval, strict=True)
    assert np.array_equal(compiled(np.arange(3.0), 0.5), np.arange(3.0))
    with pytest.raises(ValueError, match="low"):
        compiled(np.arange(3.0), -1.0)


def crops(x, n):
    x = np.asarray(x)
    return x[n:-n].reshape(-1), x


def test_a_call_that_computes_nothing_is_pythons():
    x = np.arange(12.0).reshape(4, 3)
    compiled = tilewright.jit(crops, strict=True)
    for _ in range(2):
        part, whole = compiled(x, 1)
        assert whole is x and np.shares_memory(part, x)


def toeplitz(c, r):
    values = np.concatenate((c[::-1], r[1:]))
    n = values.strides[0]
    return np.lib.stride_tricks.as_strided(values[len(c) - 1 :], (len(c), len(r)), (-n, n)).copy()


def test_strides_fall_within_a_vector():
    c, r = np.arange(4.0), np.arange(5.0) + 10
    assert np.array_equal(tilewright.jit(toeplitz, strict=True)(c, r), toeplitz(c, r))


def circulant(c):
    both_ways = np.concatenate((c[::-1], c[:0:-1])).ravel()
    n = both_ways.strides[-1]
    return np.lib.stride_tricks.as_strided(both_ways[len(c) - 1 :], (len(c), len(c)), (-n, n)).copy()


def windows_by_hand(x):
    """As skimage.util.view_as_windows makes them."""
    width, step = (3, 3), (2, 2)
    strides = tuple(list(x[::2, ::2].strides) + list(np.array(x.strides)))
    shape = tuple((np.array(x.shape) - np.array(width)) // np.array(step) + 1) + width
    return np.lib.stride_tricks.as_strided(x, shape, strides).sum(axis=(2, 3))


def strides_of_slices(x):
    return (
        x * 2,
        x[::2, 1::3].strides,
        x[::-1].strides,
        x[2].strides,
        x[:, 1].strides,
        x[3:3, ::2].strides,
        x[:1, ::2].strides,
    )


def test_strides_are_known_of_slices():
    x = np.random.default_rng(0).random((9, 8))
    for function, arrays in (
        (circulant, (x[0], x[0, :1].copy())),
        (windows_by_hand, (x, x[:5].copy())),
        (strides_of_slices, (x, x[:4].copy())),
    ):
        compiled = tilewright.jit(function, strict=True)
        for array in arrays:
            found, wanted = compiled(array), function(array)
            assert found[1:] == wanted[1:] if isinstance(wanted, tuple) else np.allclose(found, wanted)


def pads_where_needed(x):
    widths = [(0, 1 if n % 2 else 0) for n in x.shape]
    if np.any(np.asarray(widths)):
        x = np.pad(x, widths)
    return x.strides[0] * x


def test_constants_decide():
    compiled = tilewright.jit(pads_where_needed, strict=True)
    for shape in ((4, 6), (3, 5), (3, 4)):
        x = np.ones(shape)
        assert np.array_equal(compiled(x), pads_where_needed(x))


def clipped(a, low, high):
    kept, delta = np.ravel(a), 1
    while delta:
        spread, middle, size = kept.std(), kept.mean(), kept.size
        lower, upper = middle - spread * low, middle + spread * high
        kept = kept[(kept >= lower) & (kept <= upper)]
        delta = size - kept.size
    return kept, lower, upper


def test_a_while_sets_what_it_needs_behind_it():
    compiled = tilewright.jit(clipped, strict=True)
    rng = np.random.default_rng(0)
    for shape, scale in (((20, 10), 1.0), ((300,), 5.0), ((2, 3), 0.1)):
        a = rng.standard_normal(shape) * scale + rng.random(shape) ** 9 * 50
        for ours, theirs in zip(compiled(a, 2.0, 1.5), clipped(a, 2.0, 1.5), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)
            assert type(ours) is type(theirs)
    assert compiled.specializations


def how_many(x):
    count = x[x > 0].size
    return x * (2 if math.isnan(count) else 3), math.isfinite(count), math.isinf(len(x))


def test_integers_are_finite():
    got, want = tilewright.jit(how_many, strict="kernels")(np.arange(4.0)), how_many(np.arange(4.0))
    assert np.array_equal(got[0], want[0]) and got[1:] == want[1:]


@pytest.mark.parametrize(
    ("dtype", "shapes"),
    one_in(
        2,
        ["uint8", "uint16", "uint32", "uint64"],
        [((1,), (1,)), ((), ()), ((1, 1, 1), (7,)), ((7,), (1,)), ((3, 7), (3, 7))],
    ),
)
def test_powers_of_unsigned_integers_compile_whatever_varies(dtype, shapes):
    rng = np.random.default_rng(4)
    most = np.iinfo(dtype).max
    x, y = (np.asarray(rng.integers(0, most, size, dtype, endpoint=True)) for size in shapes)
    power = tilewright.jit(lambda x, y: x**y, strict=True)
    for mine, theirs in ((x, y), (x, y // y.dtype.type(most // 5)), (x * 0, y * 0)):
        np.testing.assert_array_equal(power(np.asarray(mine), np.asarray(theirs)), mine**theirs)


def test_a_power_of_one_element_for_all():
    first_to = tilewright.jit(lambda x, y: x[0] ** y % 7, strict=True)
    x, y = np.array([3, 5], np.uint64), np.arange(9, dtype=np.uint64)
    np.testing.assert_array_equal(first_to(x, y), x[0] ** y % 7)


def puts_back(x, y):
    kept = y.copy()
    y += 5
    seen = x + 1
    y[:] = kept
    return seen


def puts_back_an_element(x, y):
    kept = y.copy()
    for i in range(1, len(y)):
        y[i] += y[-1 - i]
    seen = x + 1
    y[:] = kept
    return seen


@pytest.mark.parametrize("function", [puts_back, puts_back_an_element])
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("n", [0, 1, 2, 8, 1000])
def test_what_is_put_back_was_seen_through_shared_memory(function, strict, n):
    compiled = tilewright.jit(function, strict=strict)
    for views in (
        lambda b: (b[:n], b[n : 2 * n]),
        lambda b: (b[:n], b[:n]),
        lambda b: (b[:n], b[:n][::-1]),
        lambda b: (b[1 : n + 1], b[:n]),
    ):
        ours, theirs = np.arange(2.0 * n + 2), np.arange(2.0 * n + 2)
        assert np.array_equal(compiled(*views(ours)), function(*views(theirs)))
        assert np.array_equal(ours, theirs)


def test_a_limit_beyond_64_bits_is_none():
    def bounded(x, n, m):
        total = np.zeros(n)
        least = np.clip(x.astype(int), 0, n - m)
        return total, least + np.prod(x - np.arange(m)[:, np.newaxis], 0), np.zeros((2, 3, 4)[: m - 1])

    compiled = tilewright.jit(bounded, strict=True)
    x = np.arange(10.0)
    for n in (8, 100):
        for got, expected in zip(compiled(x, n, 4), bounded(x, n, 4), strict=True):
            assert got.dtype == expected.dtype and np.array_equal(got, expected)
