"""What follows NumPy's own Python source, and helpers that call themselves; what stops there names the NumPy function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright.trace import trace

pytestmark = pytest.mark.fast

X = np.linspace(1.0, 2.0, 700)


def over_a_tuple(p):
    if isinstance(p, tuple):
        return tuple(over_a_tuple(q) for q in p)
    return p * 2


def maps_itself(x):
    return over_a_tuple((x, (x + 1, x)))[0], over_a_tuple((x, (x + 1, x)))[1][0]


def axis_of_the_caller(x, axis):
    return np.diff(x.reshape(10, -1), axis=axis)


def mean_without_nans(x):
    return np.nanmean(x.reshape(10, -1), axis=0)


def mean_of_nothing(x):
    return np.nanmean(np.where(x > 0, np.nan, x).reshape(10, -1), axis=0)


def variance_without_nans(x):
    return np.nanvar(np.where(x > 1.5, np.nan, x).reshape(10, -1), axis=1)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("function", "args"),
    [(maps_itself, ()), (axis_of_the_caller, (1,)), (axis_of_the_caller, (-2,)), (mean_without_nans, ()), (mean_of_nothing, ())],
)  # fmt: skip
def test_it_is_compiled_and_gives_numpys_answer(function: Any, args: Any) -> None:
    got, expected = tilewright.jit(function, strict=True)(X, *args), function(X, *args)
    for one, other in zip(*((r if isinstance(r, tuple) else (r,)) for r in (got, expected)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


def running_sum(x):
    return np.cumsum(x)


def running_sum_method(x):
    return x.cumsum() + 1


def order(x):
    return x.argsort()


def unwrapped(x):
    return np.unwrap(x)


def solved(x):
    return np.linalg.solve(x[:4].reshape(2, 2), x[:2])


def written_out(x):
    return x * len(np.array2string(x))  # here


def written_out_inside(x):
    return np.array_repr(x)  # here


def largest(x):
    return x * max(x, key=abs)  # here


def for_ever(x):
    return for_ever(x + 1)  # here


@pytest.mark.parametrize(
    "function", [running_sum, running_sum_method, order, unwrapped, solved], ids=lambda f: f.__name__
)
def test_where_there_is_no_source_numpy_is_called_between_kernels(function: Any) -> None:
    compiled = tilewright.jit(function, strict=True)
    for x in (X, X[::-1] * 3):
        got, expected = compiled(x), function(x)
        assert type(got) is type(expected) and got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)
    assert len(compiled.specializations) == 1 and compiled.specializations[0].traced.stages


def rolled(x):
    return np.roll(x.reshape(10, -1), 1, axis=0) + np.roll(x.reshape(10, -1), (-1, 2), axis=(0, 1))


def counted(x):
    return np.flatnonzero(x > 1.5).sum() + len(np.flatnonzero(x < 1.2))


def cubed(x):
    return np.linalg.matrix_power(x[:9].reshape(3, 3), 3)


@pytest.mark.parametrize("function", [rolled, counted, cubed], ids=lambda f: f.__name__)
def test_where_kernels_have_all_that_the_source_needs_nothing_is_called_between_them(function: Any) -> None:
    compiled = tilewright.jit(function, strict=True)
    np.testing.assert_allclose(compiled(X), function(X), rtol=1e-14)
    assert not compiled.specializations[0].traced.stages


NO_RULE = "no kernel computes this NumPy function. Leave it out of the compiled function."
REFUSED = [
    (written_out, f"np.array2string(); {NO_RULE}"),
    (written_out_inside, f"np.array_repr(); {NO_RULE}"),
    (largest, "loops: max(x, key=abs), Python's max() of an array of more than 64 rows; it compares them one by one, with a key "
              "or each as a whole. Use np.max()."),
    (for_ever, "calling for_ever() from within itself; recursion is not compiled. Write it as a loop, or leave it out of "
               "the compiled function."),
]  # fmt: skip


@pytest.mark.parametrize(("function", "message"), REFUSED, ids=lambda item: getattr(item, "__name__", ""))
def test_what_is_refused_is_named(function: Any, message: str) -> None:
    line = next(
        k for k, text in enumerate(open(__file__), 1)  # noqa: SIM115
        if text.endswith("# here\n") and k > function.__code__.co_firstlineno
    )  # fmt: skip
    with pytest.raises(tilewright.TraceError) as error:
        trace(function, (X,), {})
    assert str(error.value) == f"{__file__}:{line}, in {function.__name__}: {message}"


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_products_of_vectors_along_any_axis(axis):
    a = np.random.default_rng(0).random((4, 5, 3))
    for one, other in ((a, a[::-1]), (a + 1j, a - 2j)):
        got = tilewright.jit(lambda x, y: np.vecdot(x, y, axis=axis), strict=True)(one, other)
        np.testing.assert_allclose(got, np.vecdot(one, other, axis=axis), rtol=1e-14)


def test_grids_of_a_list_of_slices():
    def grids(x):
        return np.ogrid[[slice(0, n) for n in x.shape]][0] + x, np.mgrid[[slice(0, n) for n in x.shape]][1]

    x = np.ones((3, 4))
    for got, want in zip(tilewright.jit(grids, strict=True)(x), grids(x), strict=True):
        np.testing.assert_array_equal(got, want)


def padded_on_each_side(a):
    return np.pad(a, 1, mode="edge"), np.pad(a, 2), np.pad(a, (1, 3), mode="reflect")


def test_widths_of_pads_that_are_numbers_compile():
    a = np.random.default_rng(1).normal(size=(6, 7))
    for got, wanted in zip(
        tilewright.jit(padded_on_each_side, strict="kernels")(a), padded_on_each_side(a), strict=True
    ):
        np.testing.assert_array_equal(got, wanted)
