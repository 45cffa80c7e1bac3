"""Complex arrays through jit: NumPy's own bits where its formulas say so, a few ULP for functions; loops over complex values as pairs of floats."""

from __future__ import annotations

import ctypes
import mmap
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples, one_in
from from_text import function_of
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_numpy import PlainNumPy
from tilewright.debug.oracle import evaluate
from tilewright.native import compiler
from trace_cases import trace, well_formed

pytestmark = pytest.mark.compile

Array = np.ndarray[Any, Any]
DTYPES = [np.complex64, np.complex128]
RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees another one's store."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture(scope="module")
def plain_numpy() -> Iterator[PlainNumPy]:
    yield PlainNumPy()


def complex_of(real: Any, imag: Any, dtype: Any) -> Array:
    """Halves as they are: real + 1j * imag would lose zeros' signs and infinities."""
    out = np.empty(np.shape(real), dtype)
    out.real, out.imag = real, imag
    return out


def numbers(dtype: Any, shape: Any, seed: int = 0, nasty: float = 0.0) -> Array:
    rng = np.random.default_rng(seed)
    info = np.finfo(dtype)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, info.max, info.tiny, info.smallest_subnormal, 1.0, -1.0])

    def half() -> Array:
        return np.where(rng.random(shape) < nasty, rng.choice(special, shape), rng.standard_normal(shape))

    return complex_of(half(), half(), dtype)


def floats_of(x: Array) -> Array:
    x = np.ascontiguousarray(x)
    return x.view(x.real.dtype) if x.dtype.kind == "c" else x


def same_bits(ours: Any, theirs: Any) -> None:
    a, b = np.asarray(ours), np.asarray(theirs)
    assert type(ours) is type(theirs) and a.dtype == b.dtype and a.shape == b.shape
    a, b = floats_of(a), floats_of(b)
    wrong = a != b
    if a.dtype.kind == "f":
        bits = f"u{a.dtype.itemsize}"
        wrong = (a.view(bits) != b.view(bits)) & ~(np.isnan(a) & np.isnan(b))
    assert not wrong.any(), f"{int(wrong.sum())} differ: {a[wrong][:4]} is not {b[wrong][:4]}"


def compiled(function: Any) -> Any:
    """Behind jit, with NumPy locked out."""
    made = tilewright.jit(function, strict=True)

    def never(*_: Any) -> Any:
        raise AssertionError("the call runs in NumPy")

    made._in_numpy = never
    return made


def answers(function: Any, plain: PlainNumPy, *args: Any) -> None:
    """As NumPy does without FMA: the traced program in a NumPy of its own, bit for bit."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        ours = compiled(function)(*args)
        traced = trace(function, args)
        theirs = plain.evaluate(traced.program_text, traced.inputs(args, {}))
    ours = list(ours) if isinstance(ours, tuple) else [ours]
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        same_bits(a, b)


# -- arithmetic, tests, views ---------------------------------------------------------------------


def arithmetic(z, w):
    return z + w, z - w, z * w, z / w, -z, np.conj(z), z**2, 1 / z, z * 2.5, z + 1j, 3 - z, z * (1 - 0j)


def powers(z):
    return z**3, z**-1, z**-2, z**0, z**1, z**4, np.power(z, 7), np.square(z), np.reciprocal(z)


def truths(z, w):
    return (z == w, z != w, np.isnan(z), np.isinf(z), np.isfinite(z), np.logical_and(z, w), np.logical_not(z),
            np.where(z == w, z, w), z.astype(bool))  # fmt: skip


def parts(z, w):
    return (z * w).real, np.imag(z + w), np.angle(z) * 0, np.real(z) + np.imag(w), z.real * z.imag


def casts(x, z):
    return x.astype(complex), x + z, x * 1j, z.astype(np.complex64), z.astype(np.complex128) * x


def views(z, w):
    v = z[1:, ::-1].T * w[0][:, None]
    u = z.reshape(-1) * 2
    t = z.copy()
    t[0] = w[0]
    t[:, 1] *= 1j
    return v[:1] + 0, u, t, z[:, None] + w, np.stack([z[0], w[0]])


def masks(z, w):
    t = z * 1
    t[np.abs(z) < 1] = 0
    s = z + 0
    m = z.real > 0
    s[m] = s[m] ** 2 + w[m]
    return t, s


def sums(z):
    return z.sum(), z.sum(axis=0), z.mean(axis=1), (z * np.conj(z)).sum().real, z.any(), z.all(axis=0)


@pytest.mark.parametrize(
    ("function", "nasty", "dtype"),
    one_in(2, [arithmetic, powers, truths, parts, views, masks], [0.0, 0.6], DTYPES),
)
def test_bits_of_numpys_formulas(function: Any, dtype: Any, nasty: float, plain_numpy: PlainNumPy) -> None:
    args = [numbers(dtype, (9, 9), seed, nasty) for seed in range(function.__code__.co_argcount)]
    answers(function, plain_numpy, *args)


@pytest.mark.parametrize(("kind", "dtype"), one_in(2, [np.float32, np.float64, np.int32, np.bool_], DTYPES))
def test_real_and_complex_together(dtype: Any, kind: Any, plain_numpy: PlainNumPy) -> None:
    z = numbers(dtype, (40,), 1, 0.3)
    answers(casts, plain_numpy, (np.arange(40) % 7 - 3).astype(kind), z)


@pytest.mark.parametrize(
    ("layout", "dtype"), one_in(2, ["F", "T", "reversed", "every other", "broadcast", "real of a record"], DTYPES)
)
def test_layouts(layout: str, dtype: Any, plain_numpy: PlainNumPy) -> None:
    whole = numbers(dtype, (18, 18), 2)
    z = {
        "F": np.asfortranarray(whole[:9, :9]),
        "T": whole[:9, :9].copy().T,
        "reversed": whole[8::-1, 8::-1],
        "every other": whole[::2, ::2],
        "broadcast": np.broadcast_to(whole[0, :9], (9, 9)),
        "real of a record": whole.view([("a", dtype), ("b", dtype)])["b"][:9, :9],
    }[layout]

    def f(z, w):
        return z * w + 1j, z.imag - w.T.real, z[1:, ::-1].T * w[0][:, None]

    answers(f, plain_numpy, z, whole[9:, 9:])


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0), (1, 7), (63,), (64,), (65,), (3, 4, 5)])
def test_shapes(shape: tuple[int, ...], plain_numpy: PlainNumPy) -> None:
    def f(z, w):
        return z * w - 1j, z + w.real

    for dtype in DTYPES:
        answers(f, plain_numpy, numbers(dtype, shape), numbers(dtype, shape, 1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_done_to_each_part(dtype: Any) -> None:
    """No part says anything of the other, NaN and infinities neither."""
    values = [0.0, -0.0, 1.25, -2.35, np.nan, np.inf, -np.inf, 3.5e3]
    z = np.array([complex(a, b) for a in values for b in values], dtype).reshape(8, 8)
    for function in (
        lambda z: (np.nan_to_num(z), np.nan_to_num(z.T, nan=2.5, posinf=7, neginf=-7)),
        lambda z: (np.round(z, 1), z.T.round(-2), np.round(z)),
    ):
        with np.errstate(all="ignore"):
            for ours, numpys in zip(tilewright.jit(function, strict=True)(z), function(z), strict=True):
                same_bits(ours, np.ascontiguousarray(numpys))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_length(plain_numpy: PlainNumPy, dtype: Any) -> None:
    """Both halves of a result are stored together, in vectors and behind the last one."""

    def f(z, w):
        v = z * w
        return v, v - z, np.conj(z), v.real.copy()  # v.real is a view of the first result

    made = compiled(f)
    for n in range(1, 70):
        args = numbers(dtype, (n,))[::-1], numbers(dtype, (n,), 1)
        traced = trace(f, args)
        theirs = plain_numpy.evaluate(traced.program_text, traced.inputs(args, {}))
        for a, b in zip(made(*args), theirs, strict=True):
            same_bits(a, b)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_and_products(dtype: Any) -> None:
    def products(z, w):
        return z @ w, (z[:, :, None] * w).sum(axis=1)

    tolerance = 1e-4 if dtype is np.complex64 else 1e-12
    for shape in ((5, 5), (70, 70)):
        z, w = numbers(dtype, shape), numbers(dtype, shape, 1)
        for function, args in ((sums, (z,)), (products, (z, w))):
            for a, b in zip(compiled(function)(*args), function(*args), strict=True):
                assert np.asarray(a).dtype == np.asarray(b).dtype and np.shape(a) == np.shape(b)
                np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@settings(max_examples=examples(5), deadline=None)
@given(
    st.sampled_from(DTYPES),
    st.sampled_from([(5,), (1, 4), (3, 5), (7, 33), (2, 3, 4)]),
    st.sampled_from([0.0, 0.2]),
    st.sampled_from([None, 1, 2, np.inf, -np.inf, 0, 3, -1, 0.5, -2.5]),
    st.integers(0, 1000),
)
def test_norms_of_vectors(dtype: Any, shape: Any, nasty: float, order: Any, seed: int) -> None:
    def f(z):
        return np.linalg.norm(z, order, axis=-1), np.linalg.norm(z, order, axis=0, keepdims=True)

    like_numpy(f, numbers(dtype, shape, seed, nasty))


@settings(max_examples=examples(5), deadline=None)
@given(
    st.sampled_from(DTYPES),
    st.sampled_from([(1, 4), (3, 5), (9, 33)]),
    st.sampled_from([0.0, 0.2]),
    st.sampled_from([None, "fro", 1, -1, np.inf, -np.inf]),
    st.integers(0, 1000),
)
def test_norms_of_matrices(dtype: Any, shape: Any, nasty: float, order: Any, seed: int) -> None:
    def f(z):
        return np.linalg.norm(z, order), np.linalg.norm(z.T, order), np.linalg.norm(z, order, (1, 0), keepdims=True)

    like_numpy(f, numbers(dtype, shape, seed, nasty))


def plain_norm(z):
    return np.linalg.norm(z)


def test_norms_of_everything_and_of_nothing() -> None:
    for dtype in DTYPES:
        for shape in ((), (4,), (2, 3, 4), (0,), (3, 0)):
            like_numpy(plain_norm, numbers(dtype, shape))
    like_numpy(lambda z: (np.linalg.norm(z[:, None] - z[None, :], axis=2), np.abs(z)), numbers(np.complex64, (6, 3)))


def like_numpy(function: Any, z: Array) -> None:
    """Sums in another order than NumPy's, of the same terms."""
    with np.errstate(all="ignore"):
        ours, theirs = compiled(function)(z), function(z)
    pairs = zip(ours, theirs, strict=True) if isinstance(theirs, tuple) else [(ours, theirs)]
    for a, b in pairs:
        assert np.asarray(a).dtype == np.asarray(b).dtype == z.real.dtype and np.shape(a) == np.shape(b)
        # Sums of powers near the largest number may overflow in one order only; these have nothing between.
        np.testing.assert_allclose(a, b, rtol=2e-5 if z.dtype == np.complex64 else 1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions(dtype: Any) -> None:
    """Roots, exponentials, magnitudes and angles: each half within a few ULP of NumPy's."""

    def f(z):
        return np.sqrt(z), np.exp(z), np.abs(z), np.angle(z)

    z = np.concatenate([numbers(dtype, 2000), numbers(dtype, 500, 1, 0.5)])
    z = z[~(np.abs(z.imag) > 1e9)]
    with np.errstate(all="ignore"):
        for ours, theirs in zip(compiled(f)(z), f(z), strict=True):
            a, b = floats_of(ours), floats_of(theirs)
            nan = np.isnan(a) & np.isnan(b)
            apart = np.abs(a.astype(np.longdouble) - b) / np.spacing(np.abs(b))
            assert (nan | (a == b) | (apart <= 4)).all(), z.repeat(2)[: a.size][~(nan | (a == b) | (apart <= 4))]


def test_magnitudes_are_compared_as_they_are() -> None:
    def f(z, h):
        return np.abs(z) < h, np.abs(z) <= h, np.abs(z) > h, np.abs(z) >= h, h > np.abs(z)

    made = compiled(f)

    def absolute(z):
        return np.abs(z)

    magnitude = compiled(absolute)
    for h in (2.0, 1.0, 0.0, -1.0, 1e300, 1e-300, 5e-324, np.inf, np.nan, 3.7):
        with np.errstate(all="ignore"):
            angles = np.linspace(0, 7, 300)
            near = complex_of(h * np.cos(angles), h * np.sin(angles), np.complex128)
            z = np.concatenate([near, np.nextafter(near.real, 9) + 1j * near.imag, numbers(np.complex128, 300, 0, 0.5)])
            size = magnitude(z)
            expected = (size < h, size <= h, size > h, size >= h, h > size)
        for a, b in zip(made(z, h), expected, strict=True):
            assert (a == b).all(), h


def test_the_last_element_is_read_inside_its_memory() -> None:
    """Halves are every other float, but nothing behind the last one is touched: there the next page begins."""
    libc = ctypes.CDLL(None, use_errno=True)
    page = mmap.PAGESIZE
    for dtype in DTYPES:
        memory = mmap.mmap(-1, 3 * page)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        guarded = -(-start // page) * page + page
        assert libc.mprotect(ctypes.c_void_p(guarded), ctypes.c_size_t(page), 0) == 0
        made = compiled(lambda z: (z * z + 1j, z.imag + 1, z[::-1].imag * 2))
        for count in (1, 2, 3, 7, 8, 16, 17, 33, 64, 100):
            size = count * np.dtype(dtype).itemsize
            z = np.frombuffer((ctypes.c_char * size).from_address(guarded - size), dtype)
            z[:] = numbers(dtype, count)
            # The very element behind the page's end would fault.
            for a, b in zip(made(z), (z * z + 1j, z.imag + 1, z[::-1].imag * 2), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
        assert libc.mprotect(ctypes.c_void_p(guarded), ctypes.c_size_t(page), 3) == 0


# -- random expressions ---------------------------------------------------------------------------


@st.composite
def expressions(draw: Any) -> str:
    """Statements on z and w (n, n), r (n, n) real, with parts, masks and views."""
    lines = ["def f(z, w, r):"]
    known = {"complex": ["z", "w"], "real": ["r", "z.real", "w.imag"]}

    def pick(*options: str) -> str:
        return draw(st.sampled_from(options))

    def some(kind: str) -> str:
        return pick(*known[kind])

    for k in range(draw(st.integers(2, 6))):
        a, b, x = some("complex"), some("complex"), some("real")
        number = pick("2", "0.5", "1j", "(1 - 2j)", "0j", "-1.5")
        text = pick(
            f"{a} + {b}", f"{a} - {x}", f"{a} * {b}", f"{a} * {x}", f"{a} / {b}", f"{a} * {number}", f"{number} + {a}",
            f"{number} / {a}", f"np.conj({a})", f"{a} ** {pick('2', '3', '-1', '5')}", f"-{a}", f"{x} * 1j",
            f"np.where({x} > 0, {a}, {b})", f"np.where({a} == {b}, {a}, {number})", f"{a}.T + {b}[::-1]",
            f"{a}[:, ::-1] * {b}[0]", f"{a}.astype(complex)", f"np.where(np.abs({a}) < 1, {a}, {b})",
        )  # fmt: skip
        lines.append(f"    c{k} = {text}")
        known["complex"].append(f"c{k}")
        if draw(st.booleans()):
            lines.append(f"    x{k} = c{k}.{pick('real', 'imag')} {pick('+', '*')} {x}")
            known["real"].append(f"x{k}")
        if draw(st.integers(0, 3)) == 0:
            lines += [f"    m{k} = c{k} + 0", f"    m{k}[{x} > 0] {pick('*', '+', '')}= {number}"]
            known["complex"].append(f"m{k}")
        if draw(st.integers(0, 3)) == 0:
            lines += [
                f"    u{k} = c{k} + 0",
                f"    u{k}[1:, {pick('0', '-1', '::2')}] = {pick(number, f'{number} * 2')}",
            ]
            known["complex"].append(f"u{k}")
    results = [name for kind in known.values() for name in kind if "." not in name and name not in "zwr"]
    return "\n".join([*lines, f"    return ({', '.join(results)},)"])


@settings(max_examples=examples(6), deadline=None)
@given(expressions(), st.sampled_from(DTYPES), st.sampled_from([0.0, 0.3]), st.integers(2, 20))
def test_random_expressions(source: str, dtype: Any, nasty: float, n: int) -> None:
    real = np.float32 if dtype is np.complex64 else np.float64
    args = (
        numbers(dtype, (n, n), 0, nasty),
        numbers(dtype, (n, n), 1, nasty),
        numbers(dtype, (n, n), 2).real.astype(real),
    )
    answers(function_of(source), PLAIN, *args)


PLAIN = PlainNumPy()

# -- regions: the pairs that loops carry ----------------------------------------------------------


def split_answers(function: Any, *args: Any) -> None:
    """The program of pairs, by the oracle, gives what the program of complex numbers gives."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        traced = trace(function, args)
        split = compiler().split_complex(traced.program_text)
        well_formed(split)
        inputs = traced.inputs(args, {})
        theirs = PLAIN.evaluate(traced.program_text, inputs)
        ours = evaluate(split, {k: np.copy(v) if isinstance(v, np.ndarray) else v for k, v in inputs.items()})
    ours = list(ours) if isinstance(ours, tuple) else [ours]
    for a, b in zip(ours, theirs, strict=True):
        same_bits(a, b)


@pytest.fixture
def every_loop_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.symbolic import trace_limits

    monkeypatch.setattr(trace_limits, "MAX_UNROLLED_ITERATIONS", 0)


def mandelbrot(xmin, xmax, ymin, ymax, nx, ny, maxiter, horizon):  # noqa: PLR0917
    X = np.linspace(xmin, xmax, nx)
    Y = np.linspace(ymin, ymax, ny)
    C = X + Y[:, None] * 1j
    N = np.zeros_like(C, dtype=int)
    Z = np.zeros_like(C)
    for n in range(maxiter):
        I = np.abs(Z) < horizon  # noqa: E741
        N[I] = n
        Z[I] = Z[I] ** 2 + C[I]
    N[maxiter - 1 == N] = 0
    return Z, N


def newton(z, n):
    done = 0
    while done < n and np.abs(z.sum()) > 1e-3:
        z = z - (z**3 - 1) / (3 * z**2)
        done += 1
    return z, done + np.zeros(1)


def scan(z):
    y = z.copy()
    total = z[0] * 0
    for i in range(1, z.shape[0]):
        if y[i].real > 0:
            y[i] = y[i - 1] * 0.5 + z[i]
        else:
            y[i] = np.conj(y[i - 1])
        total = total + y[i]
    return y, total * np.ones(2)


@pytest.mark.usefixtures("every_loop_stays")
def test_loops_over_pairs() -> None:
    split_answers(mandelbrot, -2.25, 0.75, -1.25, 1.25, 40, 33, 50, 2.0)
    split_answers(newton, numbers(np.complex128, 20), 10)
    split_answers(scan, numbers(np.complex128, 50))
    split_answers(scan, numbers(np.complex64, 50).astype(np.complex128))


# -- what is refused ------------------------------------------------------------------------------


def test_a_product_is_a_stage() -> None:
    def product(z: Any) -> Any:
        return np.prod(z) + z

    z = numbers(np.complex128, 10)
    same_bits(tilewright.jit(product, strict=True)(z), product(z))
    with pytest.raises(tilewright.TraceError, match="strict='kernels'"):
        tilewright.jit(product, strict="kernels")(z)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_what_kernels_do_not_compute_numpy_computes_between_them(dtype: Any) -> None:
    z = numbers(dtype, 10)
    for function in (
        lambda z: np.sin(z) + 1,
        lambda z: z ** (0.5 + 1j),
        lambda z: np.log(z) * 2,
        lambda z: z**z.real,
        lambda z: np.sin(z, out=z)[::2] - z[1::2],
    ):
        compiled = tilewright.jit(function, strict=True)
        for _ in range(2):
            same_bits(compiled(z.copy()), function(z.copy()))
        assert len(compiled.specializations) == 1 and compiled.specializations[0].traced.stages


def test_returned_parts_are_views_in_numpy() -> None:
    def f(z):
        return z.real

    z = numbers(np.complex128, 10)
    with pytest.warns(tilewright.FallbackWarning):
        assert np.shares_memory(tilewright.jit(f)(z), z)
