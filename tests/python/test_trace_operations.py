"""Every operation against NumPy: dtypes, layouts, ranks, edge sizes, special values; bit for bit."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trace_cases import check, raises_like_numpy
from ufuncs import EXACT_BINARY, EXACT_UNARY, ROUNDED_BINARY, ROUNDED_UNARY

pytestmark = pytest.mark.compile

FLOATS = ["float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES = [*FLOATS, *INTEGERS, "bool"]
SPECIALS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, np.nan, np.inf, -np.inf, 1e-310, 3e38, -2.5, 1.5, 1e300]
COMMON = settings(max_examples=examples(5), deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def arrays(draw: Any, dtypes: list[str] = DTYPES, max_rank: int = 3, shape: tuple[int, ...] | None = None) -> Any:
    """An array of any layout: C, Fortran, strided, reversed; extents 0, 1, primes."""
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    if shape is None:
        rank = draw(st.integers(0, max_rank))
        shape = tuple(draw(st.lists(st.sampled_from([1, 2, 3, 7, 0, 13]), min_size=rank, max_size=rank)))
    seed = draw(st.integers(0, 2**31))
    rng = np.random.default_rng(seed)
    if dtype.kind == "f":
        values = rng.standard_normal(shape) * 3
        mask = rng.random(shape) < 0.3
        values = np.where(mask, rng.choice(SPECIALS, shape), values)
        with np.errstate(all="ignore"):
            array = np.asarray(values.astype(dtype))
    elif dtype.kind == "b":
        array = np.asarray(rng.random(shape) < 0.5)
    else:
        limits = np.iinfo(dtype)
        array = np.asarray(rng.integers(limits.min, limits.max, shape, dtype, endpoint=True))
        small = np.asarray(rng.integers(0, 5, shape).astype(dtype))
        array = np.asarray(np.where(rng.random(shape) < 0.5, array, small))
    layout = draw(st.sampled_from(["C", "F", "strided", "reversed"]))
    if layout == "F":
        array = np.asfortranarray(array)
    elif layout == "strided" and array.ndim:
        wide = np.zeros((*array.shape[:-1], array.shape[-1] * 2), dtype)
        wide[..., ::2] = array
        array = wide[..., ::2]
    elif layout == "reversed" and array.ndim:
        array = np.ascontiguousarray(array[::-1])[::-1]
    return array


UNARY = [*EXACT_UNARY, *ROUNDED_UNARY, "fabs", "degrees", "radians", "deg2rad", "rad2deg", "conjugate"]
BINARY = [*EXACT_BINARY, *ROUNDED_BINARY, "mod", "true_divide"]


def numpy_computes(function: Any, *args: Any) -> bool:
    """Whether NumPy has a loop for these, in a dtype that programs have."""
    try:
        with np.errstate(all="ignore"):
            result = function(*args)
    except (TypeError, ValueError, OverflowError):
        return False
    return all(np.asarray(r).dtype.kind in "biuf" for r in (result if isinstance(result, tuple) else (result,)))


def mixed_comparison(name: str, *dtypes: np.dtype[Any]) -> bool:
    return name in {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"} and {
        "uint64"
    } <= {str(d) for d in dtypes} and any(d.kind == "i" for d in dtypes)  # fmt: skip


def integer_power(name: str, a: Any, b: Any) -> bool:
    return name == "power" and np.result_type(a, b).kind == "i" and np.asarray(b).dtype.kind == "i"


@pytest.mark.parametrize("name", UNARY)
@COMMON
@given(x=arrays())
def test_unary_ufunc_is_numpys(name: str, x: Any) -> None:
    ufunc = getattr(np, name)

    def f(x):
        return ufunc(x)

    if numpy_computes(f, x):
        check(f, x)
    else:
        raises_like_numpy(f, x)


@pytest.mark.parametrize("name", BINARY)
@COMMON
@given(x=arrays(shape=(3, 1, 7)), y=arrays(shape=(5, 7)))
def test_binary_ufunc_broadcasts_and_promotes_as_numpy(name: str, x: Any, y: Any) -> None:
    ufunc = getattr(np, name)

    def f(x, y):
        return ufunc(x, y)

    if mixed_comparison(name, x.dtype, y.dtype) or integer_power(name, x, y):
        return
    if numpy_computes(f, x, y):
        check(f, x, y, others=[(x[:1], y[:1]), (x[:, :, :2], y[:, :2]), (x[:0], y)])
    else:
        raises_like_numpy(f, x, y)


@pytest.mark.parametrize("name", BINARY)
@COMMON
@given(x=arrays(max_rank=2), data=st.data())
def test_python_numbers_are_weak(name: str, x: Any, data: Any) -> None:
    ufunc = getattr(np, name)
    number = data.draw(
        st.sampled_from([0, 1, 2, -1, 3, 200, 300, 70000, 2**40, 0.5, -1.5, np.inf, np.nan, True, False, -0.0, 1e300])
    )

    def constant_right(x):
        return ufunc(x, number)

    def constant_left(x):
        return ufunc(number, x)

    def f(x, n):
        return ufunc(x, n)

    def g(x, n):
        return ufunc(n, x)

    for function, args in ((constant_right, (x,)), (constant_left, (x,)), (f, (x, number)), (g, (x, number))):
        if integer_power(name, *((x, np.int64(1)) if args == (x,) else (x, x))) or (
            name == "power" and x.dtype.kind in "iub"
        ):
            continue
        if numpy_computes(function, *args):
            check(function, *args)
        else:
            raises_like_numpy(function, *args)


@pytest.mark.parametrize("exponent", [2, 3, 0, 1, 0.5, -1, 2.0, -0.5, 1.5])
@pytest.mark.parametrize("dtype", FLOATS)
def test_power_by_a_constant_has_numpys_short_cuts(dtype: str, exponent: float) -> None:
    x = np.array([*SPECIALS, 1.1, 7.3], np.float64).astype(dtype)

    def operator(x):
        return x**exponent

    def function(x):
        return np.power(x, exponent)

    check(operator, x)
    check(function, x)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_power_wraps_and_refuses_a_negative_exponent(dtype: str) -> None:
    x = np.array([0, 1, 2, 3, 100], dtype)

    def square(x):
        return x**2

    def power(x, n):
        return x**n

    check(square, x)
    traced = check(power, x, 5, others=[(x, 0), (x, 2)])
    assert not traced.matches((x, -1))
    raises_like_numpy(power, x, -1)


@COMMON
@given(c=arrays(shape=(4, 3)), x=arrays(shape=(3,)), y=arrays(shape=(4, 1)), n=st.sampled_from([0.0, 1, 2.5, True]))
def test_where(c: Any, x: Any, y: Any, n: Any) -> None:
    def f(c, x, y):
        return np.where(c, x, y)

    def g(c, x, n):
        return np.where(c > 0, x, n)

    check(f, c, x, y)
    check(g, c, x, n)


@COMMON
@given(
    x=arrays(max_rank=2),
    low=st.sampled_from([None, 0, -1, 1.5, 300, -0.0]),
    high=st.sampled_from([None, 2, 100, 0.5, np.nan]),
)
def test_clip(x: Any, low: Any, high: Any) -> None:
    def f(x):
        return np.clip(x, low, high)

    def g(x):
        return x.clip(low, high)

    for function in (f, g):
        if numpy_computes(function, x):
            # NumPy may answer either zero where +0.0 meets -0.0.
            check(lambda x, function=function: function(x) + np.int8(0), x)
        else:
            raises_like_numpy(function, x)


@pytest.mark.parametrize("pair", list(itertools.product(DTYPES, DTYPES)), ids=lambda p: f"{p[0]}-{p[1]}")
def test_astype(pair: tuple[str, str]) -> None:
    source, target = pair
    x = np.array([0, 1, 2, 100], source).reshape(2, 2)

    def f(x):
        return x.astype(target), x.astype(target, copy=False), np.dtype(target).type(1) + x.astype(target)

    if source == target:
        check(lambda x: x.astype(target), x)
        return
    check(f, x)


def finite(x: Any) -> Any:
    return np.where(np.isfinite(x), x, 1).astype(x.dtype) if x.dtype.kind == "f" else x


AXES: list[Any] = [None, 0, -1, (0, 1), (1,), (-1, 0), ()]


@pytest.mark.parametrize(
    "name", ["sum", "prod", "max", "min", "any", "all", "mean", "var", "std", "ptp", "count_nonzero"]
)
@pytest.mark.parametrize("axis", AXES, ids=str)
@settings(max_examples=examples(10), deadline=None, suppress_health_check=list(HealthCheck))
@given(x=arrays(shape=(5, 3, 2)), keepdims=st.booleans())
def test_reduction_is_numpys(name: str, axis: Any, x: Any, keepdims: bool) -> None:
    function = getattr(np, name)

    def f(x):
        return function(x, axis=axis, keepdims=keepdims)

    if not numpy_computes(f, x):
        raises_like_numpy(f, x)
        return
    # The layout decides NumPy's order of a float sum; intermediate values have the oracle's.
    x = np.ascontiguousarray(x)
    check(f, x, others=[(x[:2],), (x[:, :1],), (x[:, :0],), (x[:0],)])


@pytest.mark.parametrize("name", ["argmin", "argmax"])
@COMMON
@given(x=arrays(shape=(5, 3, 2)), axis=st.sampled_from([None, 0, 1, -1]), keepdims=st.booleans())
def test_arg_reduction_takes_the_first(name: str, x: Any, axis: Any, keepdims: bool) -> None:
    def f(x):
        return getattr(np, name)(x, axis=axis, keepdims=keepdims), getattr(x, name)(axis=axis)

    check(f, x, others=[(x[:1],), (x[:, :2],)])


@pytest.mark.parametrize("name", ["max", "min", "argmin", "argmax"])
def test_empty_reduction_raises_numpys_error_and_guards_other_sizes(name: str) -> None:
    def f(x):
        return getattr(np, name)(x, axis=0)

    raises_like_numpy(f, np.zeros((0, 3)))
    traced = check(f, np.ones((2, 3)))
    assert not traced.matches((np.zeros((0, 3)),))
    assert any("empty sequence" in g.message or "zero-size array" in g.message for g in traced.size_guards)


@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions_with_dtype_and_ddof(dtype: str) -> None:
    x = np.arange(1, 13).reshape(3, 4).astype(dtype)

    def f(x):
        return x.sum(dtype=np.float64), x.mean(dtype=np.float64), x.prod(axis=1, dtype=np.int64), np.add.reduce(x)

    def g(x):
        return x.var(ddof=1), np.std(x, axis=0, ddof=1), np.var(x, ddof=20), np.maximum.reduce(x, axis=1)

    check(f, x)
    check(g, x)


@pytest.mark.parametrize("ord", [None, 1, 2, np.inf, -np.inf, 0, 3])
@pytest.mark.parametrize("dtype", [*FLOATS, "int32"])
def test_vector_norm(dtype: str, ord: Any) -> None:
    x = (np.arange(24).reshape(4, 6) - 7).astype(dtype)

    def f(x):
        return np.linalg.norm(x, ord, axis=1), np.linalg.norm(x, ord=ord, axis=0, keepdims=True)

    check(f, x, others=[(x[:, :1],), (x[:1],)])


@pytest.mark.parametrize("ord", [None, "fro", 1, -1, np.inf, -np.inf])
def test_matrix_norm(ord: Any) -> None:
    x = (np.arange(24).reshape(4, 6) - 7).astype(float)

    def f(x):
        return np.linalg.norm(x, ord, axis=(0, 1)), np.linalg.norm(x, ord, axis=(1, 0), keepdims=True)

    check(f, x, compare=close_all)


def close_all(got: Any, expected: Any) -> None:
    for a, b in zip(
        got if isinstance(got, tuple) else (got,), expected if isinstance(expected, tuple) else (expected,), strict=True
    ):
        assert np.asarray(a).dtype == np.asarray(b).dtype and np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e-5 if np.asarray(b).dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("dtype", [*FLOATS, "int32", "bool", "uint8"])
@pytest.mark.parametrize("shapes", [((5,), (5,)), ((4, 5), (5,)), ((5,), (5, 3)), ((4, 5), (5, 3)), ((2, 4, 5), (2, 5, 3)),
                                    ((2, 4, 5), (5,)), ((2, 1, 4, 5), (3, 5, 2)), ((1, 1), (1, 1)), ((4, 0), (0, 3))],
                         ids=str)  # fmt: skip
def test_matmul(dtype: str, shapes: Any) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 4, s).astype(dtype) for s in shapes)

    def f(a, b):
        return a @ b

    check(f, a, b, compare=close_all)
    raises_like_numpy(f, a, np.ones(9, dtype))


def test_dot_inner_outer_vdot() -> None:
    x, y, m = np.arange(5.0), np.arange(5.0) + 1, np.arange(15.0).reshape(3, 5)

    def f(x, y, m):
        return (
            np.dot(x, y),
            x.dot(y),
            np.dot(m, x),
            np.inner(x, y),
            np.inner(m, x),
            np.vdot(m, m),
            np.outer(x, y),
            m.dot(m.T),
        )

    traced = check(f, x, y, m, compare=close_all)
    # A product of vectors is a sum, so that it fuses with what makes them.
    assert "sum(" in traced.program_text and traced.program_text.count("matmul(") == 1


@pytest.mark.parametrize("dtype", [*FLOATS, "int32"])
def test_nan_to_num_isclose(dtype: str) -> None:
    x = np.array([1, np.nan, np.inf, -np.inf, -0.0], np.float64)
    x = x.astype(dtype) if dtype in FLOATS else np.arange(5).astype(dtype)

    def f(x):
        return (
            np.nan_to_num(x),
            np.nan_to_num(x, nan=2.0, posinf=3.0),
            np.isclose(x, 1.0),
            np.isclose(x, x, equal_nan=True),
        )

    check(f, x)


def test_isclose_of_numbers_of_python_compares_in_the_dtype_of_the_array() -> None:
    x = np.float32([1, 1.5, 0.5, 3, np.nan])
    half = float(1 - np.finfo("f8").epsneg) / 2
    check(lambda x, k: (np.isclose(x, 2, half, 0), np.isclose(x, 2.0, half, 0), np.isclose(x, k, half, 0)), x, 2)


def test_isclose_warns_of_tolerances_as_numpy_does() -> None:
    compiled = tilewright.jit(lambda x: np.isclose(x, 1.0, rtol=np.nan), strict=True)
    for _ in range(3):
        with pytest.warns(RuntimeWarning, match="rtol or atol"):
            assert compiled(np.ones(3)).all()  # equal numbers are close all the same


def test_whether_arrays_share_memory_is_asked_of_the_arguments() -> None:
    for ask in (np.may_share_memory, np.shares_memory):
        compiled = tilewright.jit(lambda x, y, ask=ask: ask(x, y))
        d = np.ones((6, 5))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for one in (d.copy(), d, d[::-1], d[:3], d[::-1, ::2], d):
                assert compiled(d, one) == ask(d, one)


def test_uint64_beside_int64_is_compared_exactly() -> None:
    """NumPy has loops for the two, which compare as no common dtype does; it is called."""
    a = np.array([0, 1, 2**63 - 1, 2**63, 2**64 - 1, 2**53 + 1], np.uint64)
    b = np.array([-1, 1, 2**63 - 1, -(2**63), -1, 2**53], np.int64)
    for compare in (np.less, np.less_equal, np.equal, np.not_equal, np.greater, np.greater_equal):
        traced = check(lambda a, b, compare=compare: (compare(a, b), compare(b, a), compare(a[:, None], b)), a, b)
        assert "call(" in traced.program_text
