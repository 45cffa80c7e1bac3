"""Generator functions: what they give, and when their statements run, is as in Python."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tilewright
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright.errors import TraceError

pytestmark = pytest.mark.compile

X = np.arange(1.0, 7.0)


def count(n: int) -> Iterator[int]:
    for k in range(n):
        if k == 1:
            continue
        if k == 4:
            return
        yield k


def doubled(x: Any) -> Iterator[Any]:
    while True:
        yield x
        x = x * 2


def nested(x: Any, n: int) -> Iterator[Any]:
    ended = yield from finite(x, n)
    yield x * ended
    yield from [x + 1, x + 2]


def finite(x: Any, n: int) -> Iterator[Any]:
    for _ in range(n):
        sent = yield x
        x = x + 1 if sent is None else x * 0
        if n > 9:
            break
    else:
        yield x - 1
    return n + 10


def rows_of(x: Any) -> Iterator[Any]:
    for row in x.reshape(3, 2):
        yield row[:2]


class Grid:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    def steps(self, x: Any) -> Iterator[Any]:
        for k in range(3):
            yield x * self.scale * k


def looped(x: Any) -> Any:
    total = x * 0
    for k in count(10):
        total = total + x * k
    for part in nested(x, 2):
        total = total + part
    return total


def taken_by_hand(x: Any) -> Any:
    items = doubled(x)
    first, second = next(items), next(items)
    return first + second * 10, next(count(0), None), next(items)


def as_late_as_python(x: Any) -> Any:
    a = x.copy()

    def reading() -> Iterator[Any]:
        for k in range(3):
            yield a[k] * 2

    items = reading()
    a[0] = 100.0
    first = next(items)
    a[1] = 50.0
    return a + first + next(items)


def never_asked(x: Any) -> Any:
    a = x.copy()

    def writing() -> Iterator[int]:
        a[:] = 0
        yield 1

    writing()
    return a * 2


def of_a_closure(x: Any) -> Any:
    calls = 0

    def counting() -> Iterator[Any]:
        nonlocal calls
        for _ in range(3):
            calls += 1
            yield x * calls

    total = x * 0
    for value in counting():
        total = total + value + calls
        if calls == 2:
            break
    return total * calls


def into_builtins(x: Any) -> Any:
    table = dict((k, k * 2) for k in count(4))
    pairs = list(zip(count(4), rows_of(x), strict=False))
    return x * (sum(count(6)) + max(count(6)) + table[3]) + pairs[1][0], any(count(2)), sorted(count(4), reverse=True)


def of_rows(x: Any) -> Any:
    return np.stack([row[::-1] for row in rows_of(x)])


def of_a_method(x: Any) -> Any:
    return sum(Grid(0.5).steps(x))


def through_itertools(x: Any) -> Any:
    total = x * 0
    for value in itertools.islice(doubled(x), 3):
        total = total + value
    return total + sum(itertools.chain(count(3), count(4)))


def handed_on(x: Any) -> Any:
    def twice(items: Any) -> Iterator[Any]:
        def both(item: Any) -> Iterator[Any]:
            yield item
            yield item

        for item in items:
            yield sum(both(item))

    return sum(twice(twice(finite(x, 3))))


def around_a_callee(x: Any) -> Any:
    def sorted_parts() -> Iterator[Any]:
        for k in range(2):
            yield np.sort(x[k:])[0]

    return x + sum(sorted_parts())


def begun_before_a_branch(x: Any) -> Any:
    items = doubled(x)
    total = next(items)
    if x[0] > 0:
        total = total + next(items)
    return total * 3


def left_by_a_break(x: Any) -> Any:
    items = iter([1.0, 2.0, 3.0, 4.0])
    for value in items:
        x = x + value
        if value == 2:
            break
    return x * next(items)


def left_before_it_changes(x: Any) -> Any:
    y = x.copy()

    def writing(k: int) -> float:
        y[k] = 7.0
        return float(k)

    total = 0.0
    for value in map(writing, range(4)):
        total = total + value
        if x[0] < value:
            break
    return y + total


def left_before_it_calls(x: Any) -> Any:
    def drawn() -> Iterator[Any]:
        rng = np.random.default_rng(3)
        for _ in range(3):
            yield rng.random()

    for value in drawn():
        x = x + value
        if x[0] < 1:
            break
    return x


@pytest.mark.parametrize(
    "function",
    [
        looped, taken_by_hand, as_late_as_python, never_asked, of_a_closure, into_builtins, of_rows, of_a_method,
        through_itertools, handed_on, around_a_callee, begun_before_a_branch, left_by_a_break, left_before_it_changes,
        left_before_it_calls,
    ],
)  # fmt: skip
def test_a_generator_is_gone_through_as_python_does(function: Callable[..., Any]) -> None:
    compiled = tilewright.jit(function, strict=True)
    for scale in (1.0, -2.0, 1.0, -1.0):
        want, got = function(X * scale), compiled(X * scale)
        for one, other in zip(*((v if type(v) is tuple else (v,)) for v in (got, want)), strict=True):
            np.testing.assert_array_equal(one, other)
            assert type(one) is type(other)
    assert compiled.specializations


def of_items(x: Any, items: Any) -> Any:
    def running() -> Iterator[Any]:
        total = 0
        for item in items:
            if item < 0:
                total = 0
                continue
            if item == 9:
                break
            total += item
            yield total
        else:
            yield -1
        yield from (item * 2 for item in items)

    return [x * value for value in running()]


@settings(max_examples=examples(20), deadline=None)
@given(items=st.lists(st.integers(-2, 9), max_size=6))
def test_any_items(items: list[int]) -> None:
    got, want = tilewright.jit(of_items)(X, tuple(items)), of_items(X, tuple(items))
    assert len(got) == len(want)
    np.testing.assert_array_equal(got, want)


def decided_by_data(x: Any) -> Any:
    def positive() -> Iterator[Any]:
        for k in range(3):
            if x[k] > 0:
                yield x[k]

    return x + sum(positive())


def over_many(x: Any) -> Any:
    def each() -> Iterator[Any]:
        for value in x:
            yield value * 2

    return x + sum(each())


def sent(x: Any) -> Any:
    items = doubled(x)
    next(items)
    return items.send(1)  # type: ignore[attr-defined]


def in_a_try(x: Any) -> Any:
    def tried() -> Iterator[Any]:
        try:
            yield x
        finally:
            pass

    return sum(tried())


def left_by_data(x: Any) -> Any:
    items = count(4)
    total = x * 0
    for k in items:
        total = total + k
        if x[0] < k:
            break
    return total + next(items, 10)


def left_before_it_counts(x: Any) -> Any:
    calls = 0

    def counting() -> Iterator[Any]:
        nonlocal calls
        for _ in range(3):
            calls += 1
            yield calls

    for value in counting():
        if x[0] < value:
            break
    return x * calls


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (decided_by_data, "an if on data around a yield or a return"),
        (over_many, "going through 300 items outside of a for"),
        (sent, "send()"),
        (in_a_try, "a yield or a return in a try statement"),
        (left_before_it_counts, "an iterator that changes variables or arrays"),
    ],
)
def test_what_only_the_run_decides_is_refused(function: Callable[..., Any], words: str) -> None:
    x = np.arange(1.0, 301.0)
    compiled = tilewright.jit(function, strict=True)
    with pytest.raises(TraceError) as caught:
        for _ in range(6):
            compiled(x)
    assert words in str(caught.value)
    relaxed = tilewright.jit(function)
    with pytest.warns(tilewright.FallbackWarning):
        got = relaxed(x)
    if function is not sent:
        np.testing.assert_array_equal(got, function(x))


def test_an_iterator_behind_a_loop_that_data_end_is_pythons() -> None:
    compiled = tilewright.jit(left_by_data, strict=True)
    for first in (1.0, 7.0, -3.0, 2.0, 9.0, 4.0):
        x = np.arange(first, first + 5)
        np.testing.assert_array_equal(compiled(x), left_by_data(x))
