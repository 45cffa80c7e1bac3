"""float16 through jit: computed in float32 and rounded once, NumPy's bits wherever it promises its own."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples, one_in
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = [pytest.mark.compile, pytest.mark.filterwarnings("ignore::RuntimeWarning")]

Array = np.ndarray[Any, Any]
EVERY = np.arange(65536, dtype=np.uint16).view(np.float16)
NASTY = np.array(
    [
        0,
        -0.0,
        1,
        -1,
        np.inf,
        -np.inf,
        np.nan,
        65504,
        -65504,
        2**-14,
        2**-24,
        -(2**-24),
        2**-15,
        3,
        0.1,
        1000,
        2049,
        0.5,
    ],
    np.float16,
)


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees another one's store."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def compiled(function: Any, strict: Any = "kernels", **others: Any) -> Any:
    """Behind jit, with NumPy locked out."""
    made = tilewright.jit(function, strict=strict, **others)

    def never(*_: Any) -> Any:
        raise AssertionError("the call runs in NumPy")

    made._in_numpy = never
    return made


def both(function: Any, *args: Any, strict: Any = "kernels", **others: Any) -> list[tuple[Any, Any]]:
    """Our results and NumPy's, in pairs."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        ours = compiled(function, strict, **others)(*args)
        theirs = function(*args)
    if not isinstance(theirs, tuple):
        ours, theirs = (ours,), (theirs,)
    assert len(ours) == len(theirs)
    return list(zip(ours, theirs, strict=True))


def same_kind(ours: Any, theirs: Any) -> tuple[Array, Array]:
    a, b = np.asarray(ours), np.asarray(theirs)
    assert type(ours) is type(theirs) and a.dtype == b.dtype and a.shape == b.shape
    return a, b


def same_bits(ours: Any, theirs: Any) -> None:
    a, b = same_kind(ours, theirs)
    if a.dtype.kind == "c":
        a, b = a.copy().view(a.real.dtype), b.copy().view(b.real.dtype)
    wrong = a != b
    if a.dtype.kind == "f":
        bits = f"u{a.dtype.itemsize}"
        wrong = (a.copy().view(bits) != b.copy().view(bits)) & ~(np.isnan(a) & np.isnan(b))
    assert not wrong.any(), f"{int(wrong.sum())} differ: {a[wrong][:4]} is not {b[wrong][:4]}"


def answers(function: Any, *args: Any, **others: Any) -> None:
    for ours, theirs in both(function, *args, **others):
        same_bits(ours, theirs)


def places(x: Array) -> Array:
    """Numbers in their order, neighbours one apart; zeros the same."""
    bits = x.view(np.int16).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFF), bits)


def within(places_apart: int, ours: Any, theirs: Any) -> None:
    a, b = same_kind(ours, theirs)
    assert np.array_equal(np.isnan(a), np.isnan(b))
    apart = np.where(np.isnan(b), 0, np.abs(places(a) - places(b)))
    assert apart.max(initial=0) <= places_apart, (
        f"{apart.max()} apart: {a[apart > places_apart][:4]}, {b[apart > places_apart][:4]}"
    )


# -- every number ---------------------------------------------------------------------------------


def one_operand(x):
    return (-x, abs(x), np.square(x), np.sqrt(x), 1 / x, np.floor(x), np.ceil(x), np.trunc(x), np.rint(x), np.sign(x),
            x + x, x * np.float16(0.1), x * 3, x / 7, x - 0.3, np.degrees(x), np.radians(x), +x)  # fmt: skip


def truths(x):
    return (x == 0, x != +x, x < 1, x <= 0.1, x > -2, x >= 65504, np.isnan(x), np.isinf(x), np.isfinite(x), np.signbit(x),
            np.logical_not(x), np.logical_and(x, x > 1))  # fmt: skip


def to_others(x):
    return (x.astype(np.float32), x.astype(np.float64), x.astype(bool), x.astype(np.complex64), x.astype(np.int64), x.astype(np.int32),
            x.astype(np.int16), x.astype(np.int8), x.astype(np.float16))  # fmt: skip


def to_unsigned(x):
    return x.astype(np.uint8), x.astype(np.uint16), x.astype(np.uint32), x.astype(np.uint64)


@pytest.mark.parametrize(("function", "isa"), one_in(2, [one_operand, truths, to_others], ["x86-64", "x86-64-v3", ""]))
def test_every_number(function: Any, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the instructions that convert float16 and without them."""
    if isa:
        monkeypatch.setenv("TILEWRIGHT_ISA", isa)
    answers(function, EVERY)
    answers(function, EVERY[5::-3])
    answers(function, EVERY[:0])


def test_every_number_that_fits_becomes_an_unsigned_one() -> None:
    """What does not fit is the compiler's that built NumPy."""
    answers(to_unsigned, EVERY[:23552])


def from_others(d, s, i, u, t):
    return d.astype(np.float16), s.astype(np.float16), i.astype(np.float16), u.astype(np.float16), t.astype(np.float16)


@pytest.mark.parametrize("isa", ["x86-64", ""])
def test_to_float16_is_rounded_once(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also float64 that float32 would round to a tie."""
    if isa:
        monkeypatch.setenv("TILEWRIGHT_ISA", isa)
    numbers = EVERY[np.isfinite(EVERY)].astype(np.float64)
    following = np.nextafter(EVERY[np.isfinite(EVERY)], np.float16(np.inf)).astype(np.float64)
    middles = (numbers + np.where(np.isfinite(following), following, 65536)) / 2
    d = np.concatenate([numbers, middles, middles * (1 + 1e-15), middles * (1 - 1e-15), middles * (1 + 1e-8), middles * (1 - 1e-8),
                        [1e300, -1e300, 1e-300, 65519.999, 65520, 65520.001, np.inf, -np.inf, np.nan, 2.0**-25, 2.0**-25 * (1 + 1e-15), 2.0**-26]])  # fmt: skip
    i = np.concatenate([np.arange(-70000, 70000), [2**62, -(2**63), 2**53 + 1, 2**31 - 1]])
    answers(from_others, d, d.astype(np.float32), i, i.astype(np.uint64), i > 3)


# -- two operands ---------------------------------------------------------------------------------


def two_operands(x, y):
    return (x + y, x - y, x * y, x / y, x // y, x % y, np.copysign(x, y), np.maximum(x, y), np.minimum(x, y), np.fmax(x, y),
            np.fmin(x, y), np.where(x < y, x, y), x < y, x <= y, x == y, x != y, np.logical_xor(x, y))  # fmt: skip


@pytest.mark.parametrize("isa", ["x86-64", ""])
def test_all_pairs_of_unusual_numbers(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if isa:
        monkeypatch.setenv("TILEWRIGHT_ISA", isa)
    if isa:
        answers(two_operands, np.repeat(NASTY, NASTY.size), np.tile(NASTY, NASTY.size))
    else:
        answers(two_operands, NASTY[:, None], NASTY[::-1])


halves = st.integers(0, 65535)


@settings(max_examples=examples(12), deadline=None)
@given(st.lists(halves, max_size=70), st.integers(0, 2**32 - 1))
def test_pairs(bits: list[int], seed: int) -> None:
    x = np.array(bits, np.uint16).view(np.float16)
    y = np.random.default_rng(seed).integers(0, 65536, x.size, np.uint16).view(np.float16)
    answers(_PAIRS, x, y)


_PAIRS = two_operands


# -- elementary functions -------------------------------------------------------------------------


def functions(x):
    return (np.exp(x), np.exp2(x), np.expm1(x), np.log(x), np.log2(x), np.log10(x), np.log1p(x), np.sin(x), np.cos(x), np.tan(x),
            np.sinh(x), np.cosh(x), np.tanh(x), np.arcsin(x), np.arccos(x), np.arctan(x), np.cbrt(x), x**3, x**0.5, x**-1.0)  # fmt: skip


@pytest.mark.parametrize("isa", ["x86-64", ""])
def test_functions_of_every_number(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy's float32 functions are a few ULP of float32 away from ours: after rounding to float16 that is seldom one place."""
    if isa:
        monkeypatch.setenv("TILEWRIGHT_ISA", isa)
    for ours, theirs in both(functions, EVERY):
        within(1, ours, theirs)
        assert np.mean(np.where(np.isnan(theirs), False, ours != theirs)) < 2e-3


def functions_of_two(x, y):
    return np.arctan2(x, y), np.hypot(x, y), np.power(x, y)


def test_functions_of_two() -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.integers(0, 65536, 50_000, np.uint16).view(np.float16) for _ in range(2))
    for ours, theirs in both(functions_of_two, x, y):
        within(1, ours, theirs)
    for ours, theirs in both(functions_of_two, np.repeat(NASTY, NASTY.size), np.tile(NASTY, NASTY.size)):
        within(1, ours, theirs)


def of_integers(b, i, u):
    return (
        np.round(b),
        b.round(),
        np.sqrt(b),
        np.sqrt(i),
        np.exp(u),
        np.arctan(i),
        i / np.float16(3),
        b * np.float16(0.1),
        np.sin(b),
    )


def test_small_integers_are_computed_in_float16() -> None:
    b, i, u = np.array([True, False]), np.arange(-128, 128, dtype=np.int8), np.arange(256, dtype=np.uint8)
    for ours, theirs in both(of_integers, b, i, u):
        within(1, ours, theirs) if np.asarray(theirs).dtype == np.float16 else same_bits(ours, theirs)


# -- numbers of other kinds beside it -------------------------------------------------------------


def test_promotion() -> None:
    x = NASTY[:12]
    rng = np.random.default_rng(0)
    f, d, i = rng.normal(size=12).astype(np.float32), rng.normal(size=12), rng.integers(-9, 9, 12)
    answers(lambda x, f, d, i: (x + f, x + d, x + i, x * d, x < d, x == f, np.maximum(x, f)), x, f, d, i)
    answers(lambda x, i: (x + i.astype(np.int8), x + i.astype(np.int16), x + (i > 0), x * i.astype(np.uint8)), x, i)
    answers(lambda x, c: (x + c, x - c), x[:3], (d + 1j)[:3].astype(np.complex64))


def with_python_numbers(x, a, n):
    return x + a, x * n, a - x, x < a, x > n, x + 1e9, x * 70000, x + 0.1, np.where(x > 0, x, a), x // 2, x % 0.3


def test_python_numbers_are_weak() -> None:
    answers(with_python_numbers, NASTY, 0.1, 3)
    answers(with_python_numbers, NASTY, 1e30, 70000)
    answers(with_python_numbers, NASTY, float("nan"), -1)


def with_numbers_of_numpy(x, h, f, d):
    return x + h, x + f, x + d, h * h, h + f, x * np.float16(0.1)


def test_numbers_of_numpy_are_not() -> None:
    answers(with_numbers_of_numpy, NASTY, np.float16(0.3), np.float32(0.3), np.float64(0.3))
    answers(lambda x: (x[0] + x[1], x[2] * 3, x[0]), np.array([1.5, 0.1, 7], np.float16))
    answers(lambda x: x * 2 + 1, np.array(0.3, np.float16))


# -- sums and searches ----------------------------------------------------------------------------


def truth_of(x: Array, axis: Any) -> Array:
    return np.sum(x.astype(np.float64), axis=axis)


@pytest.mark.parametrize("shape", [(0,), (1,), (7,), (100,), (5000,), (33, 70), (70, 33), (3, 40, 50), (4, 0)])
def test_sums_are_rounded_once(shape: tuple[int, ...]) -> None:
    """As the sum of float64 to one place, where NumPy itself rounds each step along an axis that is not the last."""
    x = np.random.default_rng(1).random(shape).astype(np.float16)
    axes = (None, 0, -1) if x.ndim > 1 else (None, 0)
    for turned in (x, x[..., ::-1], np.asfortranarray(x)):
        results = both(lambda x: tuple(np.sum(x, axis=axis) for axis in axes), turned)
        for axis, (ours, theirs) in zip(axes, results, strict=True):
            same_kind(ours, theirs)
            within(1, ours, np.asarray(truth_of(turned, axis)).astype(np.float16)[()])


def extremes(x):
    return (np.max(x), np.min(x), np.argmax(x), np.argmin(x), np.max(x, axis=0), np.min(x, axis=1), np.argmax(x, axis=0), np.argmin(x, axis=1),
            np.any(x), np.all(x, axis=0), np.count_nonzero(x))  # fmt: skip


@settings(max_examples=examples(3), deadline=None)
@given(st.integers(1, 9), st.integers(1, 200), st.integers(0, 2**32 - 1), st.booleans())
def test_searches(rows: int, columns: int, seed: int, few: bool) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 65536, (rows, columns), np.uint16).view(np.float16)
    x = rng.choice(NASTY[1:] if few else x.ravel(), (rows, columns))
    for ours, theirs in both(_EXTREMES, x):
        a, b = same_kind(ours, theirs)
        assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


_EXTREMES = extremes


def test_searches_among_roots() -> None:
    """Roots that float16 cannot tell apart are equal: the first one is found."""
    x = np.arange(2000, 1000, -1).astype(np.float16)
    answers(lambda x: (np.argmin(np.sqrt(x)), np.argmax(np.sqrt(x)), np.argmin(np.sqrt(x * x), axis=0)), x)
    answers(lambda x: np.argmin(np.sqrt(x), axis=1), x.reshape(10, 100))


def means(x):
    return (np.mean(x), np.mean(x, axis=0), np.mean(x, axis=1), np.mean(x, keepdims=True), np.mean(x, axis=1, dtype=np.float32),
            x.mean(axis=0, where=x > 0.2))  # fmt: skip


def spreads(x):
    return (
        np.var(x),
        np.std(x, axis=1),
        np.var(x, axis=1, ddof=1),
        np.prod(x + 0.5, axis=1),
        np.linalg.norm(x),
        np.sum(x, axis=1, dtype=np.float32),
    )


@pytest.mark.parametrize("shape", [(3, 5), (40, 70), (1, 1)])
def test_means_and_spreads(shape: tuple[int, int]) -> None:
    x = np.random.default_rng(2).random(shape).astype(np.float16)
    for function in (means, spreads):
        for ours, theirs in both(function, x):
            a, b = same_kind(ours, theirs)
            np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol=4e-3)
    answers(lambda x: (np.mean(x), np.mean(x, axis=0)), np.full((3, 4), 60000, np.float16))


# -- products, gathers, scans, writes -------------------------------------------------------------


def products(a, b, v):
    return a @ b, np.dot(a, v), np.outer(v, v), np.vdot(v, v), v @ b, np.convolve(v, b[0]), np.convolve(v, a[0], "same")


@pytest.mark.parametrize("n", [1, 4, 60])
def test_products_add_in_float32(n: int) -> None:
    rng = np.random.default_rng(3)
    a, b, v = (rng.normal(size=s).astype(np.float16) for s in ((n, n), (n, n), (n,)))
    for ours, theirs in both(products, a, b, v):
        a_, b_ = same_kind(ours, theirs)
        np.testing.assert_allclose(a_.astype(np.float64), b_.astype(np.float64), rtol=2e-3, atol=2e-2)


def sums_of_products(a, b, v):
    return (
        np.einsum("ij,jk->ik", a, b),
        np.einsum("i,ij,j->", v, a, v),
        np.einsum("ij->i", a),
        np.einsum("i,j->ij", v, v),
        np.einsum("ij->ji", a) * 1,
    )


def test_sums_of_products_are_rounded_once() -> None:
    """NumPy's einsum rounds at each step of some sums."""
    rng = np.random.default_rng(8)
    a, b, v = (rng.normal(size=s).astype(np.float16) for s in ((30, 30), (30, 50), (30,)))
    for ours, theirs, truth in zip(
        compiled(sums_of_products)(a, b, v),
        sums_of_products(a, b, v),
        sums_of_products(*(x.astype(np.float64) for x in (a, b, v))),
        strict=True,
    ):
        same_kind(ours, theirs)
        np.testing.assert_allclose(np.asarray(ours, np.float64), truth, rtol=6e-4, atol=1e-4)


def gathers(x, i, m):
    return (x[i], x[m], np.where(m, x, 0), x[::-1] * 1, x[2:] - x[:-2], np.concatenate([x, x * 2]), np.stack([x, x]), x.reshape(2, -1).T + 0,
            np.cumsum(x.reshape(2, -1), axis=0), np.searchsorted(np.abs(x) * 0 + 1, x), np.diff(x), np.clip(x, -1, 1), np.clip(x, x[::-1], 2), x.copy())  # fmt: skip


def test_gathers_and_shapes() -> None:
    x = NASTY
    answers(gathers, x, np.array([3, -1, 0, 3]), np.isfinite(x), strict=True)


def test_bits_of_nan_are_kept() -> None:
    x = np.array([0x7E01, 0xFE55, 0x7C00, 0x3C00], np.uint16).view(np.float16)
    ((ours, theirs),) = both(lambda x: np.concatenate([x, x[::-1]]), x)
    assert np.array_equal(ours.view(np.uint16), theirs.view(np.uint16))


def writes(x, y):
    x += y
    x[1:3] = 0.1
    x[::2] *= x[::2]
    x[0] = y[1] + 70000.0
    y[:] = np.arange(y.size) / 3
    return x.sum()


def test_writes() -> None:
    for order in (1, -1):
        ours_x, ours_y = (np.linspace(-3, 5, 9).astype(np.float16)[::order] for _ in range(2))
        x, y = ours_x.copy()[:], ours_y.copy()
        with np.errstate(all="ignore"):
            got, expected = compiled(writes)(ours_x, ours_y), writes(x, y)
        same_bits(ours_x.copy(), x.copy())
        same_bits(ours_y.copy(), y.copy())
        same_bits(got, expected)
    out = np.empty(9, np.float16)
    with_out = lambda a: np.multiply(a, 0.3)  # noqa: E731
    assert compiled(with_out)(ours_x, out=out) is out
    same_bits(out, with_out(ours_x))


def escapes(c, n):
    z = np.zeros_like(c)
    count = np.zeros(c.shape, np.int64)
    for _ in range(n):
        alive = np.abs(z) < 2
        count += alive
        z = np.where(alive, z * z + c, z)
    return z, count


def steps(x, n):
    for _ in range(n):
        x[1:-1] = 0.25 * (x[:-2] + x[2:] + 2 * x[1:-1])
    return x


def serial(x):
    total = x[0]
    for i in range(1, x.shape[0]):
        total = total * np.float16(0.5) + x[i]
    return total


def test_loops_round_each_step() -> None:
    answers(escapes, np.linspace(-2, 0.5, 37).astype(np.float16), 30)
    x = np.random.default_rng(4).random(50).astype(np.float16)
    answers(lambda x: steps(x.copy(), 7), x)
    answers(serial, x)


def along_rows(m):
    for _ in range(3):
        for a in range(1, m.shape[0] - 1):
            for b in range(1, m.shape[1] - 1):
                m[a, b] = (m[a - 1, b] + m[a + 1, b] + m[a, b - 1] + m[a, b + 1]) * np.float16(0.25)
    return m


def until_small(x):
    n = 0
    while x.sum() > 1:
        x = x * 0.5
        n += 1
    return x, n


def by_sign(x):
    if x[0] > 0:
        return x * 2
    return x - 1


def test_loops_and_branches_on_data() -> None:
    x = np.random.default_rng(6).random(24).astype(np.float16)
    answers(lambda m: along_rows(m.copy()), x.reshape(4, 6))
    answers(until_small, x)
    answers(by_sign, x)
    answers(by_sign, -x)
    answers(lambda x: (float(x[0]), int(x[1] * 9), x[2].item() * 0.1, bool(x[3])), x)


def made(n):
    return (
        np.arange(n, dtype=np.float16),
        np.arange(0, n, 0.3, dtype=np.float16),
        np.linspace(0, 1, n, dtype=np.float16),
        np.full(n, 0.1, np.float16),
    )


def composed(x):
    return (
        np.round(x, 2),
        np.isclose(x, x + np.float16(0.001)),
        np.nan_to_num(np.log(x)),
        np.diff(x),
        np.gradient(x),
        np.ptp(x),
        np.select([x > 1], [x], 0),
    )


def of_bits(u, x):
    return u.view(np.float16) + np.float16(1), x.view(np.uint16) + 1, (x * 2).view(np.int16) > 0


def roots(x, a, h):
    return (
        x**0.5,
        np.power(x, 0.5),
        x**a,
        np.power(x, a),
        x ** np.float16(0.5),
        x ** np.float64(0.5),
        np.power(x, h),
        x[0] ** 0.5,
        x[1] ** 0.5,
    )


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_power_of_one_half_is_a_root_where_numpys_is(dtype: Any) -> None:
    """Of -0.0 and minus infinity; which of them `**` and np.power take differs for float16 and for numbers."""
    x = np.array([-np.inf, -0.0, 0.0, np.inf, -1.0, np.nan, 4.0], dtype)
    made = compiled(roots)
    for a in (1.5, 0.5, -0.5):
        with np.errstate(all="ignore"):
            for ours, theirs in zip(made(x, a, np.array(a)), roots(x, a, np.array(a)), strict=True):
                a_, b_ = same_kind(ours, theirs)
                assert np.array_equal(a_, b_, equal_nan=True) or np.allclose(a_, b_, equal_nan=True)
                assert np.array_equal(np.signbit(a_[a_ == 0]), np.signbit(b_[b_ == 0]))


def test_what_is_made_and_composed() -> None:
    x = (np.random.default_rng(7).normal(size=24) * 4).astype(np.float16)
    answers(made, 30)
    answers(composed, x, strict=True)
    answers(of_bits, x.view(np.uint16).copy(), x, strict=True)
    answers(
        lambda x, c: (np.where(c > 0, x, 0.1), np.where(c > 0, x, c), np.minimum(x, 0.1)),
        x,
        np.arange(-12, 12).astype(np.int8),
    )


# -- stages ---------------------------------------------------------------------------------------


def staged(x):
    order = np.argsort(x * 2)
    return (
        np.sort(x)[::-1] + 1,
        x[order],
        np.nextafter(x, x + 1),
        np.spacing(x),
        np.median(x),
        np.convolve(x, x[:3]),
        *np.frexp(x),
    )


def test_stages_take_and_give_it() -> None:
    answers(staged, np.random.default_rng(5).permutation(200).astype(np.float16) / 8, strict=True)


# -- modules, searches, texts ---------------------------------------------------------------------

C_PROGRAM = """
#include <stdio.h>
#include "kernels.h"
int main(void) {
    uint16_t x[4] = {0x3C00, 0x3555, 0x7BFF, 0x8001}, y[4];
    struct tw_array X = tw_contiguous(x, TW_FLOAT16, 1, (int64_t[]){4});
    struct tw_array Y = tw_contiguous(y, TW_FLOAT16, 1, (int64_t[]){4});
    if (scaled(&X, 3.0, &Y) != TW_OK) { puts(tw_last_error()); return 1; }
    for (int i = 0; i < 4; ++i) printf("%d ", y[i]);
}
"""


def scaled(x, a):
    return x * a + np.float16(0.1)


def test_a_module_and_a_c_program(tmp_path: Path) -> None:
    f = tilewright.jit(scaled, strict=True)
    f(EVERY, 0.3)
    folder = f.export(tmp_path / "scaled_tuned", targets=("x86-64",))
    code = (
        "import numpy as np, scaled_tuned; x = np.arange(65536, dtype=np.uint16).view(np.float16);"
        "y = scaled_tuned.scaled(x, 0.3); e = x * 0.3 + np.float16(0.1);"
        "assert y.dtype == np.float16 and np.array_equal(y, e, equal_nan=True)"
    )
    for isa in ("x86-64", "x86-64-v3", "x86-64-v4"):
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "TILEWRIGHT_ISA": isa}
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    (tmp_path / "main.c").write_text(C_PROGRAM)
    command = ["gcc", "-o", "main", "main.c", f"-I{folder}", f"-L{folder}", "-lkernels", "-lpthread", "-ldl", "-lm"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    got = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout
    expected = scaled(np.array([0x3C00, 0x3555, 0x7BFF, 0x8001], np.uint16).view(np.float16), 3.0)
    assert [int(text) for text in got.split()] == expected.view(np.uint16).tolist()


def test_a_search() -> None:
    """Each candidate is compared with NumPy on nudged and special numbers of float16."""
    made = tilewright.jit(lambda m, s: np.exp((m - m.max(axis=1, keepdims=True)) * s).sum(axis=1), strict=True)
    x = np.random.default_rng(0).normal(size=(300, 200)).astype(np.float16)
    made.tune(x, 0.5, budget=4)
    assert "float16[:, :]" in str(made.explain(source=False))
    within(
        1,
        made(x, 0.5),
        np.exp((x - x.max(axis=1, keepdims=True)) * 0.5).astype(np.float64).sum(axis=1).astype(np.float16),
    )
