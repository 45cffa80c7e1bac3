"""Numbers of which the data decide whether they are NumPy's or Python's, an int or a float: the right type, or NumPy."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright.trace import trace

pytestmark = pytest.mark.fast

DATA = np.array([1.5, 2.0, -3.25, 4.0])


def int_or_float(x):
    return 1 if x[0] > 1.6 else 0.5


def int_or_element(x):
    return x.max() if x[0] > 1.6 else 3


def never_assigned(x):
    t = 0
    for i in range(len(x)):
        if x[i] > 100:
            t = x[i]
    return t


def times_integers(x):
    s = 1 if x[0] > 1.6 else 0.5
    return s * x.astype(int)


def rounded_in_between(x):
    return (x[0] or 0.1) * x.astype(np.float64)


def beside_narrow_floats(x):
    return (x[0] or 0.1) * np.arange(3, dtype=np.float32)


def its_type(x):
    s = 1 if x[0] > 1.6 else 0.5
    return x * isinstance(s, int)


def minus_nothing(x):
    s = 0 if x[0] > 1.6 else 0.5
    return np.copysign(x, -s)


def in_an_array(x):
    return np.array([x[0] or 0.5, 1.0])


def beside_floats(x):
    s = 1 if x[0] > 1.6 else 0.5
    return s * x, (s < 0.7), s + 0.25


def total(x):
    t = 0
    for i in range(len(x)):
        t += x[i]
    return t / len(x), x - t


def untouched(x, n):
    return x * n, n, 3, -0.0, True


def found_at(x):
    for i in range(len(x)):
        if x[i] < 0:
            return x * 2, i, 1
    return x * 3, -1, 2


COMPILED = [beside_floats, total, untouched, found_at, int_or_float, int_or_element, never_assigned, in_an_array]
REFUSED = [times_integers, its_type, minus_nothing]  # fmt: skip
NARROW = [rounded_in_between, beside_narrow_floats]


def calls(function: Any) -> list[tuple[Any, ...]]:
    arrays = [DATA, DATA[::-1].copy(), np.array([0.0, 1.0, 2.0]), DATA * 100, DATA.astype(np.float32)]
    return [(x, 3)[: function.__code__.co_argcount] for x in arrays]


def same(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    if isinstance(other, tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            same(a, b)
        return
    if isinstance(other, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(np.signbit(one), np.signbit(other))


@pytest.mark.filterwarnings("ignore::tilewright.FallbackWarning")
@pytest.mark.parametrize("function", [*COMPILED, *REFUSED, *NARROW])
def test_the_value_and_the_type_are_pythons(function: Any) -> None:
    compiled = tilewright.jit(function, strict=False)
    for call in calls(function):
        same(compiled(*call), function(*call))


@pytest.mark.parametrize("function", COMPILED)
def test_where_it_makes_no_difference_it_compiles(function: Any) -> None:
    compiled = tilewright.jit(function, strict=True)
    same(compiled(*calls(function)[0]), function(*calls(function)[0]))
    assert compiled.specializations


@pytest.mark.parametrize("function", REFUSED)
def test_where_it_does_strict_says_so(function: Any) -> None:
    with pytest.raises(tilewright.TraceError) as error:
        trace(function, (DATA,), {})
    assert "a number that is" in str(error.value)
    assert "Make it the same kind on every path" in str(error.value)


def multiples(x, k):
    return x * 2, k * 3 + k


@pytest.mark.filterwarnings("default::tilewright.FallbackWarning")
def test_a_number_that_kernels_cannot_hold_is_said_once():
    code = multiples.__code__
    text = (
        f"{code.co_filename}:{code.co_firstlineno}, in multiples: k is 1099511627776, but what is computed of it has 32 bits "
        "in kernels (-2147483648 to 2147483647); such calls are not compiled. Pass it as np.int64."
    )
    f, x = tilewright.jit(multiples), np.linspace(0, 1, 300_000)
    with pytest.warns(tilewright.FallbackWarning) as seen:
        results = [f(x, k)[1] for k in (2**40, 3, 2**41, -7, 2**40)]
    assert results == [4 * k for k in (2**40, 3, 2**41, -7, 2**40)]
    assert [str(w.message) for w in seen] == [f"runs in NumPy: {text}"]
    assert text in f.explain(source=False)
    with pytest.raises(tilewright.TraceError) as error:
        tilewright.jit(multiples, strict=True)(x, 2**40)
    assert str(error.value) == text
    assert f(x, np.int64(2**40))[1] == 2**42


def test_a_call_that_no_version_takes_says_nothing_of_the_time_of_others():
    """It ran in NumPy both times when it was compared with NumPy, and the version of other numbers was withdrawn for it."""
    f = tilewright.jit(multiples)
    f.for_args(np.linspace(0, 1, 300_000), 2**40)
    (specialization,) = f.specializations
    versions = [v.label for v in specialization.versions]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            f(np.linspace(0, 1, 300_000), 2**40)
    assert [v.label for v in specialization.versions] == versions
    assert not specialization.why_numpy and not specialization.large_reason


def remainders(x):
    s, t = 1.0, 7
    for i in range(x.shape[0]):
        s = s // x[i].item() + (t % s if s else 1.0)
        q, r = divmod(s + float(x[i]), 0.7)
        s = s - q * r
    return s


def powers(x):
    s = 1.5
    for i in range(x.shape[0]):
        s = abs(s) ** float(x[i]) + 2**-s + float(x[i]) ** 3
    return s


@pytest.mark.parametrize("function", [remainders, powers])
@pytest.mark.parametrize("change", [1.0, -1.0, 0.0, 1e308, 1e-3])
def test_python_divides_and_raises_floats_of_the_run(function, change):
    with np.errstate(all="ignore"):
        x = np.random.default_rng(3).random(40) * 9 * change
    try:
        want = function(x)
    except (ArithmeticError, TypeError) as error:
        with pytest.raises(type(error)):
            tilewright.jit(function, strict=True)(x)
        return
    np.testing.assert_allclose(tilewright.jit(function, strict=True)(x), want, rtol=1e-12)


X = np.arange(1.0, 6.0)


@pytest.mark.parametrize(("c", "n"), [(2.5, 3), (-7.25, -2), (-0.0, 5), (1e300, 7), (True, 2)])
def test_python_divides_numbers_of_the_call(c, n):
    def function(x, c, n):
        (q, r), (p, s), (_, t) = divmod(c, 3.0), divmod(7.5, n), divmod(c, n)
        return x * q + r, p + s * x, t * x

    for got, want in zip(tilewright.jit(function, strict=True)(X, c, n), function(X, c, n), strict=True):
        np.testing.assert_array_equal(got, want)


def picked(c, x):
    k = operator.index(c[0])
    return x[k] * k


def test_an_element_is_an_index_where_it_is_an_integer():
    compiled, x = tilewright.jit(picked, strict=True), np.arange(5.0)
    for dtype in (np.int64, np.uint8):
        c = np.array([3, 1], dtype)
        assert compiled(c, x) == picked(c, x)
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        compiled(np.array([2.0]), x)


def clamp(value: Any, low: Any, high: Any) -> Any:
    if value > high:
        return high
    return low if value < low else value


def controlled(x: Any, k: float) -> Any:
    out, total = np.zeros(len(x)), 0.0
    for i in range(len(x)):
        power = clamp(float(x[i]) * k, 0, 3)  # an int at the limits
        total = (
            total + 1.5 * power + power / 0.5 + 2.5 / (power + 1.5) + power % 0.75 + 7.0 // (power + 0.1) + power**2.0
        )
        out[i] = power * -1.5
    return total, out, np.signbit(out)


def divided(x: Any, k: float) -> Any:
    total = 0.0
    for i in range(len(x)):
        total += k / clamp(float(x[i]), 0, 3)
    return total


def test_a_float_beside_an_int_or_float_makes_a_float() -> None:
    x = np.tile([-0.5, 0.25, 5.0, 1.0, -0.0, 0.0, 3.0, 2.9, -7.0, 0.1], 8)
    compiled = tilewright.jit(controlled, strict=True)
    for k in (1.0, 0.3, -2.0):
        mine, wanted = compiled(x, k), controlled(x, k)
        assert type(mine[0]) is float
        assert mine[0] == wanted[0]
        np.testing.assert_array_equal(mine[1], wanted[1])
        np.testing.assert_array_equal(mine[2], wanted[2])
    quotient = tilewright.jit(divided, strict=True)
    assert quotient(np.abs(x) + 0.1, 2.0) == divided(np.abs(x) + 0.1, 2.0)
    with pytest.raises(ZeroDivisionError):
        quotient(x, 2.0)


def largest_above(x):
    t = 0
    for i in range(len(x)):
        if x[i] > 100:
            t = x[i]
    return t * -1, t - 5, 5 - t, t * 0.5, t == 0, t <= 3, t * -0.0, t > 2.0


def penalties(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        penalty = 0
        for j in range(len(x)):
            d = np.abs(x[i] - x[j])
            if d < 0.1:
                penalty += 1000
            elif d < 0.3:
                penalty += 50 / (d + 0.1)
        out[i] = x[i] * 2 + penalty
    return out


def least_sum(x):
    best, at = float("inf"), -1
    for i in range(len(x)):
        s = 0
        for j in range(i):
            if x[j] > 0.3:
                s += x[j]
        if s < best and s != 0:
            best, at = s, i
    return best, at


def grows_beyond_doubles(x):
    t = 1
    for i in range(len(x)):
        if x[i] > 100:
            t = t * x[i]
        elif x[i] < 0:
            t *= 1001
    return t


@pytest.mark.parametrize("function", [largest_above, penalties, least_sum, grows_beyond_doubles])
def test_numbers_that_data_make_pythons_or_numpys_are_summed_and_compared(function: Any) -> None:
    compiled = tilewright.jit(function, strict=True)
    base = np.random.default_rng(0).random(40)
    for at, value in [(3, 0.5), (3, 200.0), (5, -1.0), (slice(6, 12), -1.0), (slice(0, 9), -0.0), (4, np.nan)]:
        x = base.copy()
        x[at] = value
        for _ in range(2):
            same(compiled(x), function(x))
    same(compiled(np.append(base, [1e300, 2e300, -2.0])), function(np.append(base, [1e300, 2e300, -2.0])))
    assert "NumPy computes it: loops" not in compiled.explain(source=False)
