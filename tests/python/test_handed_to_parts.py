"""What statements and functions that Python runs are handed: functions, classes, modules, arrays of no dimensions, one array
twice, texts that such statements gave; and those that no call comes to."""

from __future__ import annotations

import math
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.fast

X = np.array([0.5, -1.5, 2.5, 3.0])
LOG: list[Any] = []


def twice(x: Any) -> Any:
    return x * 2


def thrice(x: Any) -> Any:
    return x * 3


class Unusual(dict):  # type: ignore[type-arg]
    """Its class decides how it is read: what reads it is Python's."""

    def __getitem__(self, key: str) -> Any:
        return super().__getitem__(key.lower())


SCALES = Unusual(small=np.full(4, 0.5), large=np.full(4, 2.0))


def through(function: Any, x: Any) -> Any:
    LOG.append(len(x))
    return function(x)


def by_a_function(function: Any, x: Any) -> Any:
    return through(function, x) + x.sum()


def rooted(xp: ModuleType, y: Any) -> Any:
    LOG.append(xp.__name__)
    return xp.sqrt(abs(y))


def by_a_module(xp: ModuleType, x: Any) -> Any:
    return rooted(xp, x + 1) * 2


def made_one(kind: type, number: Any) -> Any:
    LOG.append(kind)
    return float(kind(number))


def by_a_class(kind: type, x: Any) -> Any:
    return x * made_one(kind, x[0])


@pytest.mark.parametrize(
    ("function", "first", "second"),
    [
        (by_a_function, twice, thrice),
        (by_a_function, np.sin, math.ceil),
        (by_a_module, np, np),
        (by_a_class, int, float),
    ],
)
def test_functions_and_modules_are_handed_as_they_are(function: Any, first: Any, second: Any) -> None:
    compiled = tilewright.jit(function, strict=True)
    for given in (first, first, first, second, second, first, second):
        if given is math.ceil:
            with pytest.raises(TypeError):
                compiled(given, X)
            continue
        LOG.clear()
        result = compiled(given, X)
        log = LOG[:]
        LOG.clear()
        np.testing.assert_array_equal(result, function(given, X))
        assert log == LOG


def adds_in_place(a: Any, b: Any) -> Any:
    LOG.append(a is b)
    a += 1
    return a is b


def described(y: Any) -> int:
    LOG.append(type(y))
    return y.ndim + 10 * isinstance(y, np.ndarray)


def one_twice(x: Any) -> Any:
    y = np.asarray(x.sum())
    z = np.asarray(x.max())
    same = adds_in_place(y, z)
    return y * 2, z * 2, same


def of_no_dimensions(x: Any) -> Any:
    y = np.asarray(x.sum())
    return y + 1, described(y)


@pytest.mark.parametrize("function", [one_twice, of_no_dimensions])
def test_arrays_of_no_dimensions_are_arrays(function: Any) -> None:
    compiled = tilewright.jit(function, strict=True)
    for x in (X, X, X, -X, X[:1]):
        assert repr(compiled(x)) == repr(function(x))


def of_one_array(x: Any) -> Any:
    y = x + 1
    same = adds_in_place(y, y)
    return y * 2, same


def test_an_array_that_is_handed_twice_is_one() -> None:
    compiled = tilewright.jit(of_one_array, strict=True)
    for _ in range(4):
        assert repr(compiled(X)) == repr(of_one_array(X))


def named(x: Any, name: str) -> Any:
    name = name if name in tuple(SCALES) else str.swapcase(name).capitalize()
    scale = SCALES[name]
    return x * scale


def test_a_text_that_statements_gave_belongs_to_those_that_look_into_it() -> None:
    compiled = tilewright.jit(named, strict=True)
    for name in ("small", "Large", "small", "small", "large", "Large"):
        np.testing.assert_array_equal(compiled(X, name), named(X, name))


def until_it_is_small(x: Any, most: int) -> Any:
    total = x.sum()
    for k in range(most):
        total = total / 2 + k
        if abs(total) < 3:
            return total, k
    return logged(total), most


def logged(total: Any) -> Any:
    LOG.append(total)
    return total + 1


def test_what_no_call_comes_to_is_numpys() -> None:
    compiled = tilewright.jit(until_it_is_small, strict=True)
    for scale, most in ((1.0, 9), (1.0, 9), (2.0, 9), (3.0, 9), (2.0, 9), (1e9, 9), (2.0, 9), (1e9, 9)):
        x = X * scale
        LOG.clear()
        result = compiled(x, most)
        log = LOG[:]
        LOG.clear()
        assert repr(result) == repr(until_it_is_small(x, most))
        assert log == LOG


def by_itself(n: int, x: Any) -> Any:
    def power(k: int) -> Any:
        return np.ones_like(x) if k == 0 else power(k - 1) * x

    found = power(n)
    return found + x


def test_a_function_inside_that_calls_itself() -> None:
    compiled = tilewright.jit(by_itself, strict=True)
    for n in (30, 30, 30, 29, 30):
        np.testing.assert_array_equal(compiled(n, X), by_itself(n, X))


class Steps:
    """Properties that the trace takes for attributes which may be set: NumPy raises nothing where it does."""

    def __new__(cls, count: int) -> Any:
        made = object.__new__(cls)
        made.__dict__["count"] = count
        return made

    @property
    def count(self) -> int:
        return int(self.__dict__["count"])


def by_raising(x: Any, n: int) -> Any:
    y = x * 2
    steps = Steps(n)
    return y + steps.count


def of_unequal_rows(x: Any, n: int) -> Any:
    rows = np.stack([x[k] * 2 for k in range(n)], axis=0).sum(axis=0)
    if n > 3:
        raise ValueError("too many")
    return rows + 1


@pytest.mark.parametrize("function", [by_raising, of_unequal_rows])
def test_what_the_trace_alone_raises_is_pythons(function: Any) -> None:
    compiled = tilewright.jit(function, strict=True)
    for n in (2, 2, 2, 3, 9, 2, 9, 9):
        given = np.outer(X, X) if function is of_unequal_rows else X
        results = []
        for one in (compiled, function):
            try:
                results.append(repr(one(given, n)))
            except (ValueError, IndexError) as error:
                results.append(f"{type(error).__name__}: {error}")
        assert results[0] == results[1]


def __scaled(x: Any) -> Any:
    LOG.append(len(x))
    return x * 3


def by_a_private_name(x: Any) -> Any:
    y = SCALES["SMALL"] * x
    return __scaled(y) + 1


def warned(x: Any) -> Any:
    if x.sum() > 0:
        warnings.warn("positive", stacklevel=2)
    return x * 2


def of_recorded_warnings(x: Any) -> Any:
    y = x + 1
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        y = warned(y)
    count = len(seen)
    return y * 2, count


def of_options(x: Any, *more: Any) -> Any:
    options = {"scale": 3.0, "shift": more[0]}
    y = kept_in_the_log(*more, x=x, **options)
    return y + 1


def kept_in_the_log(*more: Any, x: Any, **options: Any) -> Any:
    LOG.append((len(more), *options))
    return x * options["scale"] + SCALES["SMALL"]


def of_nested_options(x: Any, options: Any = (True, False)) -> Any:
    return chosen(x, options) + 1


def chosen(x: Any, options: Any) -> Any:
    LOG.append(options)
    return x * 2 if options[0] else x


def of_memory(x: Any) -> Any:
    y = x * 2
    words = SCALES["SMALL"].data.nbytes + y.data.nbytes
    return y + words


@pytest.mark.parametrize(
    "function", [by_a_private_name, of_recorded_warnings, of_options, of_nested_options, of_memory]
)
def test_more_statements_stand_alone(function: Any) -> None:
    compiled = tilewright.jit(function, strict=True)
    for x in (X, X, X, -X, X * 2, -X):
        given = (x, 4.0) if function is of_options else (x,)
        given = (x, (bool(x[0] > 0), True)) if function is of_nested_options else given
        LOG.clear()
        result = compiled(*given)
        log = LOG[:]
        LOG.clear()
        assert repr(result) == repr(function(*given))
        assert log == LOG


def copied_from_another(x, y):
    np.copyto(y, x)
    return y * 1


def copied_under_a_mask(x, y):
    np.copyto(y, x, where=x > 1)
    return y + x


def added_behind_a_copy(x, y):
    z = x * 2
    np.copyto(y, x)
    y += 1
    return z


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("n", [1, 8])
@pytest.mark.parametrize("function", [copied_from_another, copied_under_a_mask, added_behind_a_copy])
@pytest.mark.filterwarnings("ignore:runs in NumPy")
def test_numpy_copies_an_array_to_itself_that_nobody_may_write(function, n, strict):
    compiled = tilewright.jit(function, strict=strict)
    for k in range(12):
        found = []
        for called in compiled, function:
            x = np.arange(n) + 0.5 * k
            x.flags.writeable = False
            y = [x, x[:], x[::-1], x.copy()][k % 4]
            y.flags.writeable = False
            try:
                found.append(repr(called(x, y)))
            except ValueError as error:
                found.append(str(error))
        assert found[0] == found[1]
