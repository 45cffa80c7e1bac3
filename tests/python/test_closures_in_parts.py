"""Functions with closures, compiled and in parts by Python: a closure sees what its variable is at each of its calls."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright

pytestmark = pytest.mark.compile

LOG = []


def assigned_between_calls(x):
    c = 1.0

    def scaled(a):
        LOG.append(c)
        return a * c

    a = scaled(x)
    c = 2.0
    b = scaled(x)
    return a, b


def a_parameter(x, c=3.0):
    scaled = lambda a: (LOG.append(c), a * c)[1]  # noqa: E731
    a = scaled(x)
    c = c + 1
    return a, scaled(x)


def read_by_a_comprehension(x):
    v = 2.0
    twice = lambda: v  # noqa: E731
    return [twice() + v for v in x], sum(twice() + v for v in x)


def set_in_a_comprehension(x):
    t = 0.0
    sums = [(t := t + v) for v in x]
    return sums[-1], t


@pytest.mark.parametrize(
    "function", [assigned_between_calls, a_parameter, read_by_a_comprehension, set_in_a_comprehension]
)
def test_closures_see_their_variables(function):
    """Or are refused: no call gives what another value of the variable gives."""
    compiled = tilewright.jit(strict=True)(function)
    for size in (100, 100, 100, 70, 3):
        x = np.arange(1.0, size + 1)
        LOG.clear()
        expected, log = function(x), list(LOG)
        LOG.clear()
        try:
            ours = compiled(x)
        except tilewright.TraceError:
            continue
        assert repr(ours) == repr(expected)
        assert log == LOG


def test_an_error_of_a_stage_is_raised_once():
    calls = []

    def checked(a):
        calls.append(1)
        if a[0] > 0:
            raise ValueError("positive")
        return a.sum()

    def both(x):
        return checked(x * 1.0), x + 1

    compiled = tilewright.jit(strict=True)(both)
    for sign in (-1, -1, 1, -1, 1, 1, -1, 1, -1, 1):
        calls.clear()
        x = np.full(10, float(sign))
        if sign > 0:
            with pytest.raises(ValueError, match="positive"):
                compiled(x)
        else:
            assert compiled(x)[0] == -10.0
        assert len(calls) == 1


def changed_by_a_loop(x, w):
    b = 0.0

    def distance(i):
        return np.sum(w * x[i]) + b

    for i in range(len(x)):
        error = distance(i) - 1.0
        if error > 0:
            b = b - 0.1 * error
    return b, distance(0)


def changed_by_a_while(x, w):
    limit, steps = x[0, 0], 0

    def is_open():
        return limit < 5.0

    while is_open():
        limit = limit * 1.5 + w[0]
        steps += 1
    return limit, steps


@pytest.mark.parametrize("function", [changed_by_a_loop, changed_by_a_while])
def test_a_closure_is_the_first_to_read_what_a_loop_changes(function):
    compiled = tilewright.jit(strict="kernels")(function)
    rng = np.random.default_rng(5)
    for size in (100, 100, 30):
        x, w = rng.random((size, 4)) + 0.1, rng.random(4)
        np.testing.assert_allclose(compiled(x, w), function(x, w), rtol=1e-12)


def closed_over_and_changed(x):
    words = []
    b = x[0]

    def note(k):
        words.append(f"{b:.3f} {k}")
        return b + k

    for k in range(len(x)):
        if x[k] > 0.5:
            b = note(k) / 2
            words.sort()
    return b, words


def boards_of_a_game(start):
    board = start.copy()
    stats = {"moves": 0}

    def move(k):
        stats["moves"] += 1
        board[k] += 1
        return k if board[k] > 2 else move((k * 5 + 1) % len(board))

    k = 0
    while board.sum() < 40:
        k = move(k)
    return board.reshape(2, -1), stats["moves"], k


@pytest.mark.parametrize("function", [closed_over_and_changed, boards_of_a_game])
def test_what_belongs_together_is_left_to_python_together(function):
    """Functions with the variables of theirs that the statements change, and arrays with the views that are given of them."""
    compiled = tilewright.jit(strict=True)(function)
    for seed in range(5):
        x = np.random.default_rng(seed).random(12)
        x = x if function is closed_over_and_changed else np.floor(x * 2).astype(int)
        assert repr(compiled(x.copy())) == repr(function(x.copy()))
