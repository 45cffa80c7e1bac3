"""match statements of plain values: what each way gives is NumPy's and Python's; other patterns are refused, or Python's."""

from __future__ import annotations

import enum

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile

X = np.arange(5.0)


class Kind(enum.Enum):
    SINE, COSINE = 1, 2


def by_option(x, mode):
    match mode:
        case "twice" | "double":
            y = x * 2
        case None:
            y = x - 1
        case 3 if x.size > 4:
            y = x * 3
        case 3:
            y = x * 4
        case _:
            y = x
    return y + 1


def by_rank(x, n):
    match x.ndim:
        case 1:
            for i in range(n):
                match i % 3:
                    case 0:
                        x = x + 1
                    case 1:
                        continue
                    case _:
                        if i > 60:
                            break
                        x = x * 1.01
            return x
        case 2:
            return x.sum(axis=0)
    return x


def by_data(x, k):
    n = 0
    for v in x:
        match int(v):
            case 0 | 4:
                n += 1
            case 2:
                n += 10
    return n, x * k


def by_kind(x, kind):
    match kind:
        case Kind.SINE:
            return np.sin(x)
        case Kind.COSINE:
            return np.cos(x)
        case _:
            raise ValueError(kind)


class Filter:
    def __init__(self, kind):
        self.kind, self.calls = kind, 0

    def apply(self, x):
        self.calls += 1
        match self.kind:
            case "low":
                x = (x[1:] + x[:-1]) / 2
            case "high":
                x = x[1:] - x[:-1]
        print(end="")  # Python runs it, between kernels
        return x * self.calls


def outcome(function, *args):
    try:
        return function(*args)
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize(
    ("function", "values"),
    [
        (by_option, ["twice", "double", None, 3, 7]),
        (by_rank, [5, 100]),
        (by_data, [2]),
        (by_kind, [Kind.SINE, Kind.COSINE, "tangent"]),
    ],
)
@pytest.mark.parametrize("x", [X, np.arange(4.0), np.ones((3, 4)), np.ones((2, 2, 2))])
def test_each_way_is_pythons(function, values, x):
    if function is by_data and x.ndim > 1:
        pytest.skip("int() of a row is an error")
    compiled = tilewright.jit(function, strict=True)
    for value in values * 2:
        got, wanted = outcome(compiled, x, value), outcome(function, x, value)
        assert str(got) == str(wanted)


@pytest.mark.parametrize("kind", ["low", "high", "none"])
def test_in_methods_and_beside_what_python_runs(kind):
    ours, theirs = Filter(kind), Filter(kind)
    compiled = tilewright.jit(Filter.apply, strict=True)
    for _ in range(4):
        np.testing.assert_array_equal(compiled(ours, X), theirs.apply(X))
    assert ours.calls == theirs.calls


def by_parts(x, point):
    match point:
        case (a, b):
            return x * a + b
        case _:
            return x


def test_patterns_that_take_apart_are_refused_by_name():
    with pytest.raises(tilewright.TraceError) as caught:
        tilewright.jit(by_parts, strict=True)(X, (1, 2))
    line = by_parts.__code__.co_firstlineno + 1
    assert str(caught.value) == (
        f"{__file__}:{line}, in by_parts: a match statement; of patterns, values alone, alternatives of them and _ are followed. "
        "Leave it out of the compiled function."
    )
