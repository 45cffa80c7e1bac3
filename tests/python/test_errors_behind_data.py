"""raise, assert and warnings.warn behind a condition on data: NumPy runs such a call, and says what it says."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest
import tilewright
from asserting import asserts
from attack_effects import attack
from examples import examples
from strictly import agree, check

pytestmark = pytest.mark.fast


def refuses_negative(x):
    if x.min() < 0:
        raise ValueError(f"got {x.min()}")
    return x * 2


def refuses_in_a_loop(x):
    total = 0.0
    for i in range(x.size):
        if x[i] < -1:
            raise ValueError(f"bad {x[i]}")
        total = total + x[i]
    return total


def must_converge(x):
    y = x
    for _ in range(50):
        z = np.sqrt(np.abs(y) + 1)
        if np.abs(z - y).max() < 1e-9:
            break
        y = z
    else:
        raise RuntimeError("no convergence")
    return y


def in_the_other_branch(x):
    if x.sum() > 0:
        return x * 2
    else:
        raise ValueError("not positive")


def writes_first(x):
    x[:] = x + 1
    if x.max() > 100:
        raise OverflowError("large")
    x[:] = x * 2
    return x.sum()


FUNCTIONS = [refuses_negative, refuses_in_a_loop, must_converge, asserts, in_the_other_branch, writes_first]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_what_passes_is_compiled(function):
    check(function, np.linspace(0.5, 1.5, 7), bits=False)


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (refuses_negative, np.array([1.0, -2.0])), (refuses_in_a_loop, np.array([1.0, -2.0])), (asserts, -np.ones(3)),
        (in_the_other_branch, -np.ones(3)), (writes_first, np.full(3, 200.0)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_what_does_not_is_numpys(function, x):
    compiled = tilewright.jit(function, strict=True)
    compiled(np.linspace(0.5, 1.5, 7))
    check(compiled, x, in_numpy=True)


def test_a_warning_is_given():
    def warns(x):
        if x.sum() < 0:
            warnings.warn("negative", stacklevel=1)
        return x + 1

    compiled = check(warns, np.ones(3))
    with pytest.warns(UserWarning, match="negative"):
        assert np.array_equal(compiled(-np.ones(3)), np.zeros(3))


def test_a_call_that_raises_is_made_whoever_needs_its_result():
    def must_be_positive_definite(a):
        np.linalg.cholesky(a)
        return a * 2

    compiled = check(must_be_positive_definite, np.eye(3))
    check(compiled, -np.eye(3), in_numpy=True)

    def written_before(a, b):
        b[:] = a + 1
        inverse = np.linalg.inv(a)
        b[:] = b + 1
        return inverse

    compiled = check(written_before, np.eye(3), np.zeros((3, 3)))
    check(compiled, np.zeros((3, 3)), np.zeros((3, 3)), in_numpy=True)


def test_a_stage_that_raises_leaves_what_numpy_does_before_it():
    """Also where Python hands the plan its inputs: of generators, and of results in dicts."""

    def takes(x, rng):
        x[0] += 1
        drawn = rng.normal(size=3)
        return {"taken": np.take(drawn, x.astype(np.int64))}

    compiled = check(takes, np.array([1.0, 2]), np.random.default_rng(5))
    check(compiled, np.array([1.0, 7]), np.random.default_rng(5), in_numpy=True)


TOLD: list[float] = []


def told_by_data(x, limit):
    y = x * 2
    if x[0] > limit:
        TOLD.append(float(x[0]))
        raise ValueError("too large")
    return y


def told_by_numbers(x, limit):
    y = x * 2
    if limit < 1:
        TOLD.append(limit)
        raise ValueError("too small")
    return y


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("before", [0, 1, 7])
@pytest.mark.parametrize("n", [5, 100_000])
@pytest.mark.parametrize("function", [told_by_data, told_by_numbers])
def test_what_is_done_before_an_error_is_done_once(function, n, before, strict):
    compiled = tilewright.jit(function, strict=strict)
    for _ in range(before):
        compiled(np.arange(5.0), 1.0)
    for _ in range(3):
        TOLD.clear()
        with pytest.raises(ValueError, match="too "):
            compiled(np.arange(float(n)) + 4, 0.5)
        assert len(TOLD) == 1


def test_calls_that_raise_again_and_again_leave_nothing_behind():
    compiled = tilewright.jit(told_by_numbers, strict=True)
    for _ in range(40):
        with pytest.raises(ValueError, match="too small"):
            compiled(np.arange(5.0), 0.5)
    assert sum(map(len, compiled._watched_ns.values())) <= 8  # times; 40 bytes a call


def draws_before(x, limit):
    np.random.random()
    x += 1
    if x.max() > limit:
        raise ValueError("too large")
    return x * 2


def draws_behind(x, limit):
    x += 1
    if x.max() > limit:
        raise ValueError("too large")
    np.random.random()
    return x * 2


def draws_what_it_writes(x, limit):
    z = np.random.standard_normal(len(x))
    z += x
    x[:] = z
    if x.max() > limit:
        raise ValueError("too large")
    return x * 2


def shuffles(x, limit):
    np.random.shuffle(x)
    x += 1
    if x.max() > limit:
        raise ValueError("too large")
    return x * 2


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("n", [5, 3000])
@pytest.mark.parametrize("function", [draws_before, draws_behind, draws_what_it_writes, shuffles])
def test_what_is_drawn_before_an_error_is_drawn_once(function, n, strict):
    compiled = tilewright.jit(function, strict=strict)
    for k in range(16):
        seen = []
        for called in compiled, function:
            np.random.seed(k)
            x, given = np.arange(n) / n + (20 if k > 5 and k % 3 else 0), None
            with contextlib.suppress(ValueError):
                given = called(x, 9.0)
            seen.append((given, x, np.random.random()))
        assert agree(*seen)
        assert (seen[1][0] is None) == bool(k > 5 and k % 3)


def test_random_effects_on_ways_that_data_decide():
    assert not list(filter(None, map(attack, range(examples(8)))))
