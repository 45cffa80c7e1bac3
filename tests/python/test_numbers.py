"""Numbers in expressions: arguments, globals, literals and NumPy scalars, with NumPy's values, types and errors."""

from __future__ import annotations

import linecache
import math
import re
import types
import warnings
import zlib
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples, one_in
from hypothesis import example, given, settings
from hypothesis import strategies as st

pytestmark = [
    pytest.mark.compile,
    pytest.mark.filterwarnings("ignore::tilewright.FallbackWarning", "ignore::RuntimeWarning"),
]


def outcome(function: Any, *args: Any) -> Any:
    """What a call gives and leaves behind, or the class of its error."""
    own = [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        try:
            result = function(*own)
        except Exception as error:
            return type(error)
    return [described(result), *(described(a) for a in own if isinstance(a, np.ndarray))]


def described(value: Any) -> Any:
    if isinstance(value, tuple):
        return [described(part) for part in value]
    if isinstance(value, (np.ndarray, np.generic)):
        numbers = (
            np.where(np.isnan(value), np.array(math.nan, value.dtype), value) if value.dtype.kind in "fc" else value
        )
        return (
            type(value),
            value.dtype,
            value.shape,
            repr(np.ravel(value)[:4]),
            zlib.crc32(np.asarray(numbers).tobytes()),
        )
    return type(value), repr(value)


def same_as_numpy(function: Any, *args: Any) -> None:
    compiled = tilewright.jit(function)
    expected = outcome(function, *args)
    with_version = tilewright.jit(function)
    try:
        with_version.for_args(*(np.copy(a) if isinstance(a, np.ndarray) else a for a in args))
    except Exception as error:
        assert isinstance(error, (tilewright.Error, ArithmeticError, ValueError, TypeError, IndexError)), error
    for made in (compiled, with_version):
        assert outcome(made, *args) == expected, f"{outcome(made, *args)} instead of {expected}"


def made(expression: str, parameters: str = "x", **names: Any) -> Any:
    """A function of one line, with the source that a file would give it."""
    import linecache

    text = f"def f({parameters}):\n    {expression}\n"
    file = f"<numbers {hash((expression, parameters))}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"np": np, "math": math, **names}
    exec(compile(text, file, "exec"), namespace)  # noqa: S102
    function: types.FunctionType = namespace["f"]
    return function


some = settings(max_examples=examples(12), deadline=None, derandomize=True)
X = np.linspace(-3.0, 4.0, 700)
NUMBERS = [
    2 - 3j, 3, -4, 2.5, -0.0, 0.0, True, math.inf, math.nan, complex(math.nan, math.inf), np.float32(1.5), np.int8(-3),
    np.complex64(1 - 2j), np.complex128(2j), np.bool_(True), np.array(2.5), np.array(2 - 3j), np.array(3, np.int16),
]  # fmt: skip
PARTS = ["np.real(k)", "np.imag(k)", "np.isreal(k)", "np.iscomplex(k)", "np.iscomplexobj(k)", "np.isrealobj(k)",
         "np.angle(k)", "np.conj(k)", "k.real", "k.imag", "np.real([k, 1])", "np.isrealobj([k])"]  # fmt: skip


@given(st.sampled_from(PARTS), st.sampled_from(NUMBERS), st.sampled_from(["return x * {}", "return x + 1, {}"]))
@some
def test_parts_of_a_number_wherever_it_comes_from(part: str, k: Any, statement: str) -> None:
    same_as_numpy(made(statement.format(part), k=k), X)
    same_as_numpy(made(statement.format(part), "x, k"), X, k)
    if type(k) in (int, float, bool, complex) and np.isfinite(k):
        same_as_numpy(
            made(statement.format(part.replace("(k", f"(({k!r})").replace("k.", f"({k!r}).").replace("[k", f"[{k!r}"))),
            X,
        )


@pytest.mark.parametrize(
    ("part", "value"),
    one_in(
        2,
        ["np.real", "np.imag", "np.isreal", "np.iscomplexobj", "np.isrealobj"],
        ["x[:1].sum()", "x[3]", "x.imag", "x.real", "np.float32(1) * x[0]", "float(x[1])", "len(x)"],
    ),
)
def test_parts_of_what_is_computed(part: str, value: str) -> None:
    same_as_numpy(made(f"return x + 1, {part}({value})"), X)
    same_as_numpy(made(f"return x + 1, {part}({value})"), X + 1j * X[::-1])


PRODUCTS = ["np.dot(a, b)", "np.inner(a, b)", "np.outer(a, b)", "np.vdot(a, b)", "np.multiply(a, b)", "a * b",
            "np.tensordot(a, b, axes=0)", "np.kron(a, b)", "np.multiply.outer(a, b)", "np.where(x > 0, a, b)",
            "np.add(a, b)", "np.maximum(a, b)", "np.copysign(a, b)", "np.hypot(a, b)", "np.append(a, b)"]  # fmt: skip
OPERANDS = [np.uint8(200), 2, -3, 2.5, np.float32(1.1), np.int16(-300), True, np.bool_(True), 1j, np.complex64(1j),
            np.array(200, np.uint8), np.array([200, 3], np.uint8), np.array([1.5, 2], np.float32)]  # fmt: skip


@given(st.sampled_from(PRODUCTS), st.sampled_from(OPERANDS), st.sampled_from(OPERANDS), st.booleans())
@example("np.dot(a, b)", np.uint8(200), 2, True)
@example("a * b", 2, True, True)
@some
def test_two_operands_of_any_kind(product: str, a: Any, b: Any, passed: bool) -> None:  # noqa: FBT001
    if passed:
        same_as_numpy(made(f"return x + 1, {product}", "x, a, b"), X[:5], a, b)
    else:
        same_as_numpy(made(f"return x + 1, {product}", a=a, b=b), X[:5])


INTEGERS = [
    0,
    1,
    -1,
    2,
    7,
    255,
    256,
    300,
    -129,
    1000,
    2**31,
    2**53 - 1,
    2**53 + 1,
    -(2**53) - 3,
    2**62,
    2**63 - 1,
    -(2**63),
]
OF_INTEGERS = [
    "s = k\n    for i in range(3):\n        s = s * s\n    return x * 1, s",
    "return x * 1, k + 1", "return x * 1, k - 1", "return x * 1, -k", "return x * 1, k * 3 - 2", "return x * 1, k * k",
    "return x * (k * k * k)", "return x + k * len(x) * len(x) * len(x)", "return x * 1, k / 7, k / 3, 7 / (k or 1)",
    "return x * 1, round(k / 3)", "return x * (k / 7)", "return x * 1, k // 3, k % 7, abs(k)", "return x * 1, ~k, k << 3",
    "return x * 1, k / (k - 1 or 1)", "return x * 1, k ** 3", "return x * float(k), k * 0.5",
    "t = 0\n    for i in range(len(x)):\n        t = t + i * k\n    return x * 1, t",
    "t = k\n    for i in range(len(x)):\n        t = t + 1\n    return x * 1, t",
    "t = k\n    for i in range(len(x)):\n        t = t * 3 + i\n    return x * 1, t",
    "t = 0\n    for i in range(len(x)):\n        t = t + i ** 5 * k\n    return x * 1, t",
    "if k * k * k > 10:\n        return x + 1\n    return x - 1",
    "return x + (k * k * k * k) * (k * k * k * k) % 11, (k * k * k * k * k) // 3",
    "return x + max(k * k * k * k * k * k, 3) % 5, x * min(k * k * k * k * k * k * k, 2)",
    "return x[: k * k * k * k * k * k * k * k % 3] * 2", "return x * 2 if (k * k * k * k * k * k * k * k) % 11 > 4 else x * 3",
]  # fmt: skip


@given(st.sampled_from(INTEGERS) | st.integers(-(2**63), 2**63 - 1), st.sampled_from(OF_INTEGERS))
@example(256, OF_INTEGERS[0])
@example(2**63 - 1, "return x * 1, k + 1")
@example(2**53 + 1, "return x * 1, k / 7, k / 3, 7 / (k or 1)")
@some
def test_integers_have_no_limit(k: int, body: str) -> None:
    same_as_numpy(made(body, "x, k"), X, k)


@pytest.mark.parametrize("body", OF_INTEGERS)
def test_one_program_serves_the_numbers_that_fit_it(body: str) -> None:
    function = made(body, "x, k")
    compiled = tilewright.jit(function)
    for k in (3, *INTEGERS):
        assert outcome(compiled, X, k) == outcome(function, X, k), k


@pytest.mark.parametrize("scale", [2.0, np.uint8(3), np.int16(3), np.float32(2)])
@pytest.mark.parametrize("parameters", ["x, k, s", "x, k, s, **other"])
def test_conditions_of_integers_are_exact(parameters: str, scale: Any) -> None:
    # Some of these calls go through C alone, others through Python: a NumPy integer is converted there.
    function = made("if k * k * k * k + k * k + k > 1:\n        return x * s + 1\n    return x * s", parameters)
    compiled = tilewright.jit(function)
    for k in (3, -1, *INTEGERS):
        assert outcome(compiled, X, k, scale) == outcome(function, X, k, scale), k


def test_products_of_sizes_are_exact() -> None:
    for power in (3, 5, 6, 7, 9):
        for length in (10, 700, 60_000):
            body = "return x * 1, " + " * ".join(["len(x)"] * power)
            same_as_numpy(made(body), np.ones(length))


DTYPES = ["uint8", "int8", "int64", "uint64", "bool", "float32"]
STORES = [
    "return np.full(3, k, dtype=np.{d}), x + 1", "return np.full_like(x, k, dtype=np.{d}), x + 1", "return np.{d}(k), x + 1",
    "y = np.zeros(5, np.{d})\n    y[2] = k\n    return y, x + 1", "y = np.zeros(5, np.{d})\n    y[1:3] = k\n    return y, x + 1",
    "y = x.astype(np.{d})\n    y[y > 1] = k\n    return y", "y = np.zeros(5, np.{d})\n    y.fill(k)\n    return y, x + 1",
    "y = np.zeros((2, 2), np.{d})\n    y[0, 0] = k\n    return y, x + 1",
    "y = np.zeros((2, 2), np.{d})\n    y[0, 0, ...] = k\n    return y, x + 1",
    "y = np.zeros(len(x), np.{d})\n    for i in range(len(x)):\n        y[i] = k\n    return y",
    "y = np.zeros(5, np.{d})\n    np.copyto(y, k, casting='unsafe')\n    return y, x + 1",
]  # fmt: skip
STORED = [256, -1, 1.5, 300.5, -1.5, math.nan, 1e39, -math.inf, np.float64(300.5), np.float64("nan"), np.float32(1e38),
          np.int64(300), np.int64(-1), np.uint64(2**63), np.complex128(complex(math.inf, 1)), np.complex64(2 + 1j),
          np.array(300.5), np.array([5.0]), np.array([300]), True, np.bool_(True)]  # fmt: skip


@given(st.sampled_from(STORES), st.sampled_from(STORED), st.sampled_from(DTYPES))
@example(STORES[0], 256, "uint8")
@example(STORES[0], -1, "uint8")
@example(STORES[2], -1.5, "uint8")
@example(STORES[2], math.nan, "int64")
@example(STORES[5], 1e39, "int64")
@example(STORES[7], np.array([5.0]), "int64")
@some
def test_what_does_not_fit_raises_numpys_error(store: str, k: Any, dtype: str) -> None:
    same_as_numpy(made(store.format(d=dtype), "x, k"), X[:50], k)


ELEMENTS = [
    "y[i] = x[i]", "y[i] = x[i].astype(y.dtype)", "y[i] = y.dtype.type(x[i])", "y[i] = np.int64(x[i])",
    "y[i] += x[i].astype(y.dtype)", "y[i] = int(x[i].real)", "y[i:i+1] = x[i]", "y[i] = x[i].real",
]  # fmt: skip
SPECIAL = [math.nan, math.inf, -math.inf, 1e39, 300.5, -1.5, -0.0, 2.0]


@given(
    st.sampled_from(ELEMENTS), st.sampled_from(DTYPES), st.sampled_from(["float64", "float32", "complex128", "complex64"]),
    st.sampled_from(SPECIAL),
)  # fmt: skip
@example("y[i] = x[i]", "int64", "complex128", math.inf)
@example("y[i] = x[i]", "int8", "complex64", math.nan)
@some
def test_elements_in_loops(statement: str, dtype: str, source: str, special: float) -> None:
    x = np.ones(20, source)
    with np.errstate(all="ignore"):
        x[7] = special if source[0] == "f" else complex(special, 1)
    same_as_numpy(made(f"for i in range(len(x)):\n        {statement}", "x, y"), x, np.zeros(20, dtype))


@pytest.mark.parametrize(
    "made_of",
    ["np.zeros((True, 0))", "np.zeros(True)", "np.eye(True)", "np.ones((2, True))", "np.full(True, 1.0)",
     "np.identity(True)", "np.arange(True)", "np.linspace(0, 1, True)", "x.reshape(True, -1)", "np.tri(True)",
     "np.broadcast_to(1.0, (True, 2))", "np.empty([True])", "np.zeros(2.0)", "np.zeros(np.int8(2))", "np.eye(3, k=1.0)"],
)  # fmt: skip
def test_true_is_no_size(made_of: str) -> None:
    same_as_numpy(made(f"return x + 1, {made_of}"), X)
    same_as_numpy(made(f"return x + 1, {made_of.replace('True', 'k')}", "x, k"), X, True)


@given(st.floats(), st.floats(), st.integers(0, 9), st.booleans(), st.sampled_from(["float64", "float32", "python"]))
@some
def test_linspace_and_arange(a: float, b: float, n: int, endpoint: bool, kind: str) -> None:  # noqa: FBT001
    if kind != "python":
        with np.errstate(all="ignore"):
            a, b = np.dtype(kind).type(a), np.dtype(kind).type(b)
    same_as_numpy(made(f"return x + 1, np.linspace(a, b, {n}, endpoint={endpoint})", a=a, b=b), X[:3])
    same_as_numpy(made("return x + 1, np.linspace(a, b, 5)", "x, a, b"), X[:3], a, b)


@pytest.mark.parametrize("tiny", [5e-324, 1e-308, -5e-324])
def test_the_smallest_numbers(tiny: float) -> None:
    for text in (
        "np.linspace(0, t, 5)",
        "np.linspace(t, -t, 4)",
        "np.arange(0, 5 * t, t)",
        "np.arange(t, 9 * t, 2 * t)",
    ):
        same_as_numpy(made(f"return x + 1, {text}", t=tiny), X[:3])
        same_as_numpy(made(f"return x + 1, {text}", "x, t"), X[:3], tiny)


NAMES = ["fmax", "fmin", "maximum", "minimum", "copysign", "add", "multiply"]
ZEROS = [-0.0, 0.0, 0, np.float64(-0.0), math.nan]


@pytest.mark.parametrize("name", NAMES)
def test_zeros_of_constants_keep_their_sign(name: str) -> None:
    for a, b in (pair for each, *pair in one_in(3, NAMES, ZEROS, ZEROS) if each == name):
        same_as_numpy(made(f"return x + 1, np.{name}(a, b), np.copysign(x, np.{name}(a, b))", a=a, b=b), X[:3])
        same_as_numpy(made(f"return x + 1, np.{name}(a, b), np.copysign(x, np.{name}(a, b))", "x, a, b"), X[:3], a, b)


COMPLEX = ["x * np.exp(1j * g)", "x * (g + 1j)", "x * (2 * g - 1j).real", "x + (1j * g).imag", "(3 - 2j) * g * x", "x * -(1j * g)",
           "x * (1j * len(x))", "x.astype(np.float32) * (1j * g)", "x / (1 + 1j * g)", "x * abs(1j * g)", "x, 1j * g",
           "x + (1j * g).conjugate()", "x * (1j * g == 0.5j)", "x * ((1j * g) * (g - 1j))", "x * (1j * g) ** 2", "x * (g * 1j + 2)",
           "x + float(1j * g)", "x + (1j * g > 0)"]  # fmt: skip


@pytest.mark.parametrize(("text", "g"), one_in(4, COMPLEX, [0.5, 3, True, -0.0]))
def test_complex_numbers_of_arguments(text: str, g: Any) -> None:
    same_as_numpy(made(f"return {text}", "x, g"), X[:9], g)


def test_a_complex_product_compiles_once_for_all_arguments() -> None:
    f = tilewright.jit(made("return x * np.conj(1j * g + 2)", "x, g"), strict=True)
    for g in (0.5, 1.5, -2.0):
        assert np.array_equal(f(X, g), X * np.conj(1j * g + 2))
    assert len(f.specializations) == 1


@pytest.mark.parametrize(
    "line", ["np.less(s, s, out=s)", "np.sum(x, out=s)", "np.copyto(s, 2)", "np.add(x[0], 1, out=np.ones_like(s) * 2)"]
)
def test_a_number_is_no_place_for_a_result(line):
    space = {"np": np}
    source = f"def f(x):\n    s = x.max()\n    {line}\n    return s, x * 2\n"
    linecache.cache["<no place>"] = (len(source), None, source.splitlines(True), "<no place>")
    exec(compile(source, "<no place>", "exec"), space)
    x = np.arange(1000.0)
    with pytest.raises(TypeError) as numpys:
        space["f"](x)
    with pytest.raises(TypeError, match=re.escape(str(numpys.value))):
        tilewright.jit(space["f"])(x)


NO_REAL_NUMBER = [
    "k * 1j",
    "1j",
    "1j * x[0]",
    "x[0] * 1j",
    "complex(k)",
    "np.complex128(1j) * k",
    "(k * 1j).conjugate()",
]
OF_NO_REAL_NUMBER = ["x[0] = v", "x[1:3] = v", "x.fill(v)", "y[1] = v", "y[:] = v", "for i in range(6):\n        x[i] = v",
                     "for i in range(6):\n        y[i] = v", "for i in range(6):\n        x[i] = 1j * x[i]", "x[x > 2] = v",
                     "y[y > 2] = v", "x = np.array([v, 1], dtype=float)", "y = np.array([x[0], 300], dtype=np.int8)",
                     "b = np.zeros(3, bool)\n    b[0] = v\n    x = b * 1"]  # fmt: skip


@pytest.mark.parametrize(("number", "statement"), one_in(3, NO_REAL_NUMBER, OF_NO_REAL_NUMBER))
def test_pythons_complex_numbers_are_stored_in_no_real_array(number: str, statement: str) -> None:
    text = f"v = {number}\n    {statement}\n    return x, y * 1"
    same_as_numpy(made(text, "x, y, k"), np.arange(6.0) + 1, np.arange(6), 2.5)


@pytest.mark.parametrize(
    ("k", "text"),
    one_in(
        2, [10**30, 2**64, -(2**63) - 1, 2**63, 2**63 - 1],
        ["np.angle(k)", "np.linspace(0, k, 5)", "np.linspace(k, 0, 5)", "np.isposinf(k)", "np.isneginf(k)",
         "np.arange(k, k + 3)", "np.arange(k - 3, k)", "np.arange(k + 3, k, -1)", "np.arctan2(0, k)", "np.sqrt(k)"],
    ),
)  # fmt: skip
def test_integers_that_are_objects_in_numpy(text: str, k: int) -> None:
    if "arange" in text and not 0 < k <= 2**63:
        return  # arrays of objects, whose bytes are addresses
    same_as_numpy(made(f"return x + 1, {text}", k=k), X)
    same_as_numpy(made(f"return x + 1, {text}", "x, k"), X, k)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_the_sign_of_zero_of_numbers_is_numpys(dtype: Any) -> None:
    both = np.array([0.0, -0.0], dtype)
    for name in ("fmin", "fmax", "minimum", "maximum"):
        same_as_numpy(made(f"return x + 1, np.{name}(x[0], x[1]), np.{name}(x[1], x[0])"), both)
        same_as_numpy(made(f"return x + 1, np.{name}(x.max(), y.min())", "x, y"), both[:1], both[1:])
