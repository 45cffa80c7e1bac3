"""What follows NumPy's own Python source, and helpers that call themselves; what stops there names the NumPy function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright

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
    return np.cumsum(x)  # here


def running_sum_method(x):
    return x.cumsum() + 1  # here


def order(x):
    return x.argsort()  # here


def repeated(x):
    return np.repeat(x, 2)  # here


def blocks(x):
    return np.block([x, x])  # here


def unwrapped(x):
    return np.unwrap(x)  # here


def solved(x):
    return np.linalg.solve(x[:4].reshape(2, 2), x[:2])  # here


def largest(x):
    return x * max(x.T)  # here


def total(x):
    return x * sum(x)  # here


def for_ever(x):
    return for_ever(x + 1)  # here


NO_RULE = "this NumPy function has no rule. Leave it out of the compiled function."
REFUSED = [
    (running_sum, f"np.cumsum(); {NO_RULE}"),
    (running_sum_method, f"np.cumsum(); {NO_RULE}"),
    (order, f"np.argsort(); {NO_RULE}"),
    (repeated, f"np.repeat(); {NO_RULE}"),
    (blocks, f"np.block(); {NO_RULE}"),
    (unwrapped, f"np.unwrap(); {NO_RULE}"),
    (solved, f"np.linalg.solve(); {NO_RULE}"),
    (largest, "loops: max(x.T), Python's max() of 700 rows of an array; it takes them one by one, and at most "
              "64 are unrolled. Use np.max()."),
    (total, "loops: sum(x), Python's sum() of 700 rows of an array; it takes them one by one, and at most "
            "64 are unrolled. Use np.sum()."),
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
        tilewright.jit(function, strict=True)(X)
    assert str(error.value) == f"{__file__}:{line}, in {function.__name__}: {message}"
