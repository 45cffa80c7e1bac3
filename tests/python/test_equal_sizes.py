"""Sizes that statements make equal, in more than one way: every trace ends, and the answers are NumPy's."""

from __future__ import annotations

import itertools
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright.symbolic.scalars import MAX_WEIGHT
from tilewright.symbolic.sizes import Size
from tilewright.symbolic.trace_limits import MAX_ROUNDS
from tilewright.symbolic.tracer import Tracer

pytestmark = pytest.mark.fast


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise AssertionError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def halves_then_reversed(a, b):
    b[::2] = a[::2]
    a[::-1] = b


def halves_then_all(a, b):
    b[::2] = a[::2]
    a[:] = b[::-1]


def thirds_and_halves(a, b):
    b[::3] = a[::3]
    b[::2] += a[::2]
    a[1:] = b[:-1]


def remainders(a, b):
    n, m = len(a), len(b)
    b[: n % 3] = a[: m % 3]
    b[::2] = a[::2]
    a[...] = b


def blocks(a, b):
    b[: len(a) // 2 * 2] = a[: len(b) // 2 * 2]
    b[len(a) // 2 :] = a[len(b) // 2 :]
    a += b


def numbers_and_sizes(a, b, n, m):
    b[: n // 2] = a[: m // 2]
    b[: m // 3] = a[: n // 3]
    b[:n] = a[:m]
    a[::-1] = b


def loops(a, b):
    for k in range(len(a)):
        b[k] += a[k]
    b[::2] = a[::2]
    for k in range(3):
        a[k::2] = b[k::2]


@pytest.mark.parametrize(
    "function", [halves_then_reversed, halves_then_all, thirds_and_halves, remainders, blocks, loops]
)
@pytest.mark.parametrize("sizes", [(3000, 3000), (3001, 3001), (3001, 3002), (3000, 3001), (7, 7)])
@pytest.mark.filterwarnings("ignore::tilewright.FallbackWarning")
def test_every_trace_ends_and_gives_numpys_answer(function: Any, sizes: tuple[int, int]) -> None:
    check(function, *(np.arange(float(n)) + k for k, n in enumerate(sizes)))


@pytest.mark.parametrize("sizes", [(300, 300, 300, 300), (301, 301, 300, 300), (301, 302, 30, 31), (40, 40, 9, 8)])
@pytest.mark.filterwarnings("ignore::tilewright.FallbackWarning")
def test_of_integer_arguments_too(sizes: tuple[int, int, int, int]) -> None:
    check(numbers_and_sizes, *(np.arange(float(n)) + k for k, n in enumerate(sizes[:2])), *sizes[2:])


def check(function: Any, *args: Any) -> None:
    def outcome(run: Any) -> Any:
        own = [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]
        try:
            run(*own)
        except ValueError:
            return ValueError
        return own

    with at_most(60):
        expected, got = outcome(function), outcome(tilewright.jit(function))
        assert (got is ValueError) == (expected is ValueError)
        if expected is not ValueError:
            for found in (got, outcome(tilewright.jit(function, strict=True))):
                assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))


def new_tracer() -> Tracer:
    tracer = Tracer("f", "f.py")
    for name, extent in (("a.0", 12), ("b.0", 12), ("c.0", 6)):
        tracer.new_symbol(name, extent, extent=True)
    return tracer


def test_every_order_of_equations_ends_in_one_normal_form() -> None:
    a, b, c = (Size.symbol(f"{name}.0") for name in "abc")
    equations = [
        ((a + 1).floor_divide(2), (b + 1).floor_divide(2)),
        (b, a),
        (a.floor_divide(2), c),
        (b.remainder(5), a.remainder(5)),
        ((c * 2 + 1).floor_divide(3), (a + 1).floor_divide(3)),
    ]
    for order in itertools.permutations(equations):
        tracer = new_tracer()
        with at_most(10):
            for left, right in order:
                tracer.unify(left, right)
        for left, right in equations:
            assert tracer.resolve(left) == tracer.resolve(right), order


def test_sizes_that_lead_to_each_other_are_an_error_that_names_the_function() -> None:
    tracer = new_tracer()
    for one, other in ("a.0", "b.0"), ("b.0", "a.0"):  # as unify() never leaves them
        tracer.substitutions[one] = Size.symbol(other) + 1
    tracer.frames.append(["f.py", "f", 3])
    with at_most(10), pytest.raises(tilewright.TraceError) as error:
        tracer.resolve(Size.symbol("a.0"))
    assert str(error.value) == (
        f"f.py:3, in f: the size a.0 + {MAX_ROUNDS} in its normal form; the sizes equal to it did not settle in "
        f"{MAX_ROUNDS} rounds. Leave this statement out of the compiled function."
    )


def test_sizes_are_resolved_once_until_others_become_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    tracer, (a, b, c) = new_tracer(), map(Size.symbol, ("a.0", "b.0", "c.0"))
    tracer.unify(a, b)
    product = b * c + b.floor_divide(c)
    assert tracer.resolve(product) == a * c + a.floor_divide(c)
    with monkeypatch.context() as once:
        once.setattr(Size, "substitute", None)
        assert tracer.resolve(b * c + b.floor_divide(c)) == tracer.resolve(product)
    tracer.unify(c, a)
    assert tracer.resolve(product) == a * a + 1


def squared_and_again(x, g):
    s = g
    for _ in range(3):
        s = s * s + g
    r = s
    for _ in range(len(x)):
        r = r * s + 1
    return x * (r % 7)


@pytest.mark.parametrize("g", [3, -2, 2**62])
def test_the_formula_of_an_integer_has_an_end(g: int) -> None:
    x = np.arange(64.0)
    with at_most(20), warnings.catch_warnings():
        warnings.simplefilter("ignore", tilewright.FallbackWarning)
        np.testing.assert_array_equal(tilewright.jit(squared_and_again)(x, g), squared_and_again(x, g))


def test_a_formula_that_is_too_long_is_an_error_that_says_what_to_do() -> None:
    with at_most(20), pytest.raises(tilewright.TraceError) as error:
        compiled = tilewright.jit(squared_and_again, strict="kernels")
        for _ in range(6):  # the statement, the loop and what is around it are looked at first
            compiled(np.arange(64.0), 2**62)
    line = squared_and_again.__code__.co_firstlineno + 6
    assert str(error.value) == (
        f"{__file__}:{line}, in squared_and_again: a Python integer whose formula has more than {MAX_WEIGHT} symbols; "
        "each operation that uses such a number twice doubles its formula. "
        "Pass the resulting number, or compute with np.int64, which has 64 bits as kernels do."
    )
