"""Functions without a row: what they give is seen at a first call that runs as plain Python, and nothing runs twice."""

from __future__ import annotations

import collections
import sys
import types

import numpy as np
import pytest
import tilewright
from strictly import agree, check
from tilewright import callees
from tilewright.interpret.watched import run_watched
from tilewright.pure_functions import is_pure

pytestmark = pytest.mark.fast

X = np.random.default_rng(1).random(9)
CALLS: list[int] = []


@pytest.fixture(autouse=True)
def nothing_seen(monkeypatch):
    monkeypatch.setattr(callees, "_SEEN", {})
    monkeypatch.setattr(callees, "_NO_STAGE", {})
    CALLS.clear()


@tilewright.stage
def spread(x, k=2):
    CALLS.append(1)
    return np.array([x.min(), x.max(), k * x.max()])


@tilewright.stage
def of_several_kinds(x):
    at = np.argmax(x)
    return x[::2].copy(), int(at), float(x[at]), x.astype(np.complex64), {"n": x.size}


def once(x):
    return spread(x * 2) + 1


def with_a_number(x, k):
    return spread(x + 1, k=k) * 2


def all_kinds(x):
    part, at, largest, complex_numbers, more = of_several_kinds(x)
    return part * largest + at, complex_numbers * 2, x[at], more


def in_a_loop(x):
    total = 0.0
    for k in range(3):
        total = total + spread(x * k)[1]
    return total


def of_all(x):
    if isinstance(x, tuple):
        return sum(of_all(part) for part in x)
    return spread(x)[2]


def in_a_recursion(x):
    return of_all((x, (x, x - 1)))


def helper(x):
    return spread(x - 1)


def in_a_helper(x):
    return helper(x) + helper(x * 2)


@pytest.mark.parametrize(
    ("function", "more"), [(once, ()), (with_a_number, (3,)), (all_kinds, ()), (in_a_loop, ()), (in_a_helper, ())]
)
def test_numpys_results(function, more):
    check(function, X, *more)


def test_a_function_that_calls_itself_is_watched():
    assert agree(run_watched(in_a_recursion, (X,), {}), in_a_recursion(X))
    check(in_a_recursion, X)


def test_nothing_runs_twice():
    compiled = tilewright.jit(once, strict=True)
    for calls in (1, 2, 3):
        assert agree(compiled(X), np.array([X.min() * 2, X.max() * 2, X.max() * 4]) + 1)
        assert len(CALLS) == calls


def test_methods_and_closures_are_watched():
    Model = collections.namedtuple("Model", "scale")

    def of(model, x):
        def scaled(y):
            return spread(y * model.scale)

        return scaled(x) + 1

    check(of, Model(3.0), X)


def test_another_function_of_that_name_is_another_stage(monkeypatch):
    compiled = tilewright.jit(once, strict=True)
    compiled(X)
    compiled(X)
    monkeypatch.setitem(globals(), "spread", tilewright.stage(lambda x: np.array([1.0, 2.0])))
    for _ in range(2):
        assert np.array_equal(compiled(X), [2.0, 3.0])


def test_what_is_no_stage_is_refused_with_the_reason():
    same = tilewright.stage(lambda x: x)
    text = tilewright.stage(lambda x: "text")
    twice = tilewright.stage(lambda x: (y := x + 1, y))

    def shares_memory(x):
        return same(x) + 1

    def gives_text(x):
        return x + len(text(x))

    def gives_one_array_twice(x):
        return np.add(*twice(x))

    refused = (
        (shares_memory, "it gives memory of its argument"),
        (gives_text, "it gives a str"),
        (gives_one_array_twice, "two of its results share memory"),
    )
    for function, why in refused:
        compiled = tilewright.jit(function, strict=True)
        compiled(X)  # seen
        with pytest.raises(tilewright.TraceError, match=f"it is no stage between kernels, for {why}"):
            compiled(X)


def test_what_numpy_calls_for_each_row_is_left_to_it():
    def of_rows(x, rows):
        lowest = np.apply_along_axis(spread, 1, x.reshape(rows, -1))
        return lowest[:, 0] * 2, lowest.max()

    compiled = tilewright.jit(of_rows, strict=True)
    for rows in (3, 3, 3, 9, 1, 3):
        assert repr(compiled(X, rows)) == repr(of_rows(X, rows))
    assert any("lines_" in one.explain(source=False) for one in compiled.specializations)


@tilewright.stage
def table(x):
    u = np.unique(x)
    return np.outer(u, u)


def test_a_call_that_no_version_takes_is_looked_at_once():
    def squares(x):
        t = table(x)
        # Of as many elements as two sizes that data decide: too many for kernels, as far as is known.
        return np.vdot(t, t)

    compiled = tilewright.jit(squares)
    twice = np.concatenate([X, X])
    for x in (twice, twice, twice, twice[:12], twice[:12]):
        assert np.isclose(compiled(x), squares(x))
    misses = compiled.misses
    for x in (twice, twice[:12], twice):
        assert np.isclose(compiled(x), squares(x))
    assert compiled.misses == misses


KEPT: list[np.ndarray] = []


@tilewright.stage
def keeps_a_part(x):
    KEPT.append(x[1:])
    return x.sum()


@tilewright.stage
def keeps_from_the_third_call(x):
    CALLS.append(1)
    if len(CALLS) > 2:
        KEPT.append(x)
    return x.sum()


@pytest.mark.parametrize("callee", [keeps_a_part, keeps_from_the_third_call])
def test_what_a_stage_keeps_stays_as_it_was(callee):
    """A declared function should keep nothing, and where one does, it does not see the memory of later calls."""

    def function(x):
        y = x * 2
        y = y + callee(y)
        y = y * 3 + callee(y)
        return y + 1

    compiled = tilewright.jit(function, strict=True)
    KEPT.clear()
    for k in range(6):
        compiled(X + k)
    got = [one.copy() for one in KEPT]
    KEPT.clear()
    CALLS.clear()
    for k in range(6):
        function(X + k)
    assert len(got) >= len(KEPT) - 1  # a call in which it began to keep may run in NumPy
    for one in got:
        assert any(one.shape == other.shape and np.allclose(one, other) for other in KEPT)


def test_stage_takes_functions_alone():
    with pytest.raises(TypeError, match=r"tilewright\.stage: 3 is not callable\. Decorate a function\."):
        tilewright.stage(3)
    assert spread.__name__ == "spread"
    assert spread(X).shape == (3,)


def test_what_a_library_calls_inside_may_write(monkeypatch):
    def solve(a):
        return a * 2

    def works_in_place(a):
        a *= 2

    public = types.ModuleType("scipy.linalg")
    for function in (solve, works_in_place):
        function.__module__ = "scipy.linalg._basic"
    public.solve = solve
    monkeypatch.setitem(sys.modules, "scipy.linalg", public)
    assert is_pure(solve)
    assert not is_pure(works_in_place)


def test_a_librarys_function_whose_parts_write():
    linalg = pytest.importorskip("scipy.linalg")

    def grows(a):
        return linalg.expm(a) + 1

    compiled = tilewright.jit(grows, strict=True)
    for k in range(1, 8):
        a = np.array([[0.5, 0.2, 0.1], [0.3, 0.4, 0.2], [0.1, 0.6, 0.3]]) * k
        assert agree(compiled(a), grows(a), bits=False)


ROWS = {"rows": [1.0, 2.0]}


def rows_of(x):
    return ROWS["rows"]


def rows_at_many_places(x):
    total = rows_of(x)[0] + rows_of(x)[1] + rows_of(x)[0]
    total += rows_of(x)[1] + rows_of(x)[0] + rows_of(x)[1]
    return x * total


def test_what_was_no_stage_three_times_is_not_looked_at_again(monkeypatch):
    looked = []
    is_it = callees.refuse_containers
    monkeypatch.setattr(callees, "refuse_containers", lambda *given: (looked.append(1), is_it(*given))[1])
    look = callees.watching_effects(rows_of, rows_of, ("a way",), (), lambda took_s: None)
    for _ in range(6):
        assert look(X) is ROWS["rows"]
    assert len(looked) == 3
    other = callees.watching_effects(rows_of, rows_of, ("another",), (), lambda took_s: None)
    assert other(X) is ROWS["rows"] and len(looked) == 3
    with pytest.raises(TypeError, match="somebody else holds"):
        callees.seen((rows_of, ("another",)), (X,), {}, callees.kind_of_value)
    assert other(X.astype(np.float32)) is ROWS["rows"] and len(looked) == 4  # another kind of argument
    check(rows_at_many_places, (X,))


@tilewright.stage
def blurred(x):
    return x * 0.5 + x.mean()


@tilewright.stage
def blurred_in_columns(x):
    return np.asfortranarray(x * 0.5)


@tilewright.stage
def every_other(x):
    return x.reshape(-1)[::2].copy()


def test_what_a_pure_function_gave_in_c_order_is_handed_to_one_that_asks_how_it_lies():
    def after_another(x):
        return every_other(blurred(x)) * 2

    compiled = tilewright.jit(after_another, strict=True)
    for rows in (4, 4, 7, 1):
        x = np.random.default_rng(rows).random((rows, 6))
        np.testing.assert_array_equal(compiled(x), after_another(x))
    in_columns = np.asfortranarray(x := np.ones((4, 6)) * np.arange(6))
    with pytest.raises(tilewright.TraceError, match="strides decide between a view and a copy"):
        compiled(in_columns)  # what blurred() gives lies as its argument does
    stages = compiled.for_args(x).traced.stages
    assert {"blurred", "every_other"} <= {one.name.rpartition(".")[2] for one in stages.values()}


@pytest.mark.parametrize("rows", [1, 4])
def test_what_lies_otherwise_or_in_one_row_is_not(rows):
    def after_another(x):
        return every_other(blurred_in_columns(x)) * 2

    compiled, x = tilewright.jit(after_another, strict=True), np.random.default_rng(1).random((rows, 6))
    np.testing.assert_array_equal(compiled(x), after_another(x))  # looked at
    with pytest.raises(tilewright.TraceError, match="strides decide between a view and a copy"):
        compiled(x)
