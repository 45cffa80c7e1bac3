"""Functions and loops at several levels of what Python runs: all are measured in one call, and compiled in the next one."""

import numpy as np
import pytest
import tilewright
from tilewright import effects, later_builds
from tilewright.decorator import JitFunction
from tilewright.effects import Settling
from tilewright.interpret import inner_calls, tried_functions
from tilewright.interpret.inner_calls import InnerCalls, RunByPython, inner_calls_of
from tilewright.interpret.inner_tries import here
from tilewright.trials import Trial

pytestmark = pytest.mark.compile


@pytest.fixture(autouse=True)
def every_call_is_worth_it(monkeypatch):
    for name in ("_WORTH_S", "_EARLY_WORTH_S", "_CALL_S", "_LOOP_S", "DEEPER_S"):
        monkeypatch.setattr(tried_functions, name, 0.0)
    monkeypatch.setattr(inner_calls, "DEEPER_S", 0.0)
    monkeypatch.setattr(tried_functions, "_FASTER", 1e9)
    for name in ("UNASKED_PATIENCE_S", "MOST_WAITING_S"):
        monkeypatch.setattr(later_builds, name, 120.0)


@pytest.fixture
def tried(monkeypatch):
    """Names of what was thought worth a compilation of its own."""
    made, compiled = [], Settling.compiled
    monkeypatch.setattr(Settling, "compiled", lambda function: made.append(function.__name__) or compiled(function))
    return made


def settled_at(call, turns=12):
    """The last call in which something was found out."""
    last, events = 0, Settling.events
    for k in range(1, turns + 1):
        call()
        last, events = (k, Settling.events) if Settling.events != events else (last, events)
    return last


def candidates(grid, r, c):
    used = np.concatenate((grid[r], grid[:, c]))
    return np.setdiff1d(np.arange(1, 5), used)


def solve(grid):
    grid = grid.copy()
    best = None
    for r, c in np.argwhere(grid == 0):
        options = candidates(grid, r, c)
        if options.size == 0:
            return None
        if best is None or options.size < best[2].size:
            best = (r, c, options)
    if best is None:
        return grid
    r, c, options = best
    for value in options:
        grid[r, c] = value
        solution = solve(grid)
        if solution is not None:
            return solution
    return None


def play(puzzle):
    solution = solve(puzzle)
    return solution, solution is not None


def test_what_a_recursive_function_calls_is_compiled_in_the_third_call(tried):
    puzzle = np.array([[1, 0, 0, 4], [0, 0, 1, 0], [0, 1, 0, 0], [4, 0, 0, 1]])
    expected, compiled = play(puzzle), tilewright.jit(play, strict=True)

    def call():
        solution, is_solved = compiled(puzzle)
        assert is_solved and (solution == expected[0]).all()

    assert settled_at(call) <= 4
    one = inner_calls._inner_of(candidates)
    assert one.cell.cell_contents is one.compiled
    assert one.compiled.specializations
    assert tried.count("candidates") == 1


def carved(n):
    cells = {}
    for i in range(n):
        cells[i, i * 7 % n] = i
    return cells


def flooded(walls, start):
    far = np.full(walls.shape, -1)
    far[start] = 0
    queue = [start]
    while queue:
        at = queue.pop(0)
        for step in (-1, 1):
            to = at + step
            if 0 <= to < len(walls) and not walls[to] and far[to] < 0:
                far[to] = far[at] + 1
                queue.append(to)
    return far


def maze(n):
    cells = carved(n)
    walls = np.zeros(n, dtype=bool)
    walls[[k for k in range(n) if (k, 3) in cells]] = True
    return {"far": flooded(walls, 0), "cells": len(cells)}


def test_functions_that_are_called_once_a_call_are_tried_in_the_second_call(tried):
    inner = InnerCalls(maze)

    def call():
        found, expected = inner(40), maze(40)
        assert found["cells"] == expected["cells"]
        np.testing.assert_array_equal(found["far"], expected["far"])

    call()
    call()
    found_out = [*tried]
    assert settled_at(call) <= 6  # compiled code beside Python's
    assert tried == found_out


def weight(x, k):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * k
    return total


def weights(x):
    total = 0.0
    for k in range(5):
        total += weight(x, k)
    return total


def by_words(x):
    return {"all": weights(x)}


def test_what_is_compiled_with_its_caller_is_not_tried_by_itself(tried):
    inner, x = InnerCalls(by_words), np.linspace(0.0, 1.0, 9)
    for _ in range(6):
        assert inner(x) == {"all": pytest.approx(weights(x), rel=1e-13)}
    assert tried == ["weights"]


def refuses(x):
    words = {}
    for k in range(3):
        words[f"{weighed_again(x, k)}"] = k
    return words


def weighed_again(x, k):
    return float((x * k).sum())


def around(x):
    return [refuses(x)]


def test_what_is_refused_is_looked_into_in_the_same_call(tried):
    inner, x = InnerCalls(around), np.arange(4.0)
    assert inner(x) == around(x)
    assert tried == ["refuses"]  # what it calls is only measured
    assert inner(x) == around(x)
    assert "weighed_again" in tried


def test_one_place_finds_out_for_all(tried):
    def first(x):
        return [weighed_twice(x, 2.0)]

    def second(x):
        return (weighed_twice(x, 3.0), "second")

    x = np.arange(4.0)
    for _ in range(4):
        assert InnerCalls(first)(x) == [weighed_twice(x, 2.0)]
        assert InnerCalls(second)(x) == (weighed_twice(x, 3.0), "second")
    assert tried == ["weighed_twice"]


def weighed_twice(x, k):
    return float((x * k).sum() + (x + k).sum())


def test_what_is_found_out_elsewhere_is_no_reason_to_refuse_a_call():
    def calls_it(held, x):
        held["n"] = held.get("n", 0) + 1
        held.popitem()
        return weighed_once(x)

    one = inner_calls._inner_of(weighed_once)
    one.is_given_up = True
    one.cell.cell_contents = weighed_once
    inner = InnerCalls(calls_it)
    assert not inner.calls_others
    assert inner.called_others
    assert inner.has_what_is_compiled


def weighed_once(x):
    return float((x * 2).sum() - x.max())


def table(n):
    rows = []
    for i in range(n):
        for j in range(i):
            rows.append((i, str(j)))
    return rows


def test_looking_takes_nothing_of_what_is_measured(monkeypatch):
    """A clock that goes on by itself where calls are looked at."""
    now = [0.0]
    monkeypatch.setattr(tried_functions.time, "perf_counter", lambda: now[0])
    handed = tried_functions.TriedLoop._handed
    monkeypatch.setattr(
        tried_functions.TriedLoop, "_handed", lambda *args: now.__setitem__(0, now[0] + 1.0) or handed(*args)
    )
    inner = inner_calls_of(table)
    here.undecided += 1
    try:
        assert inner(5) == table(5)
    finally:
        here.undecided -= 1
    for one in inner._loops.values():
        assert one.plain.count == 1
        assert one.plain.took_s == 0.0


class Walker:
    def __init__(self, n):
        self.at = n

    def walk(self, x):
        said = []
        for k in range(self.at):
            said.append(f"{weighed_here(x, k)}")
        return said


def weighed_here(x, k):
    return float((x - k).sum())


def walked(x):
    return Walker(3).walk(x)


def test_methods_are_measured_with_what_is_in_them(tried):
    inner, x = InnerCalls(walked), np.arange(4.0)
    for _ in range(3):
        assert inner(x) == walked(x)
    assert "weighed_here" in tried
    run = RunByPython(Walker.walk)
    assert isinstance(run._with_levels, InnerCalls)
    assert RunByPython(Walker.__init__)._with_levels is Walker.__init__


@pytest.mark.numpy_may_win
def test_a_plan_that_loses_to_a_watched_call_has_its_function_looked_into(monkeypatch):
    monkeypatch.setattr(effects, "LONG_CALL_S", -1.0)
    monkeypatch.setattr(JitFunction, "_loses_to_watched", lambda *_: True)
    monkeypatch.setattr(tilewright.tried_calls, "lost_processors", lambda: 0)
    said = []

    def told(x):
        said.append(float(x[0]))
        return {"last": x[-1] * 2}

    def tells(x):
        y = np.sqrt(np.abs(x)) + 1
        return y * 2, told(x)["last"], checked(x)

    compiled, x = tilewright.jit(tells, strict=True), np.arange(4.0)
    for k in range(8):
        assert repr(compiled(x)) == repr(tells(x)), k
    assert len(said) == 16
    assert isinstance(compiled._python, InnerCalls)


@pytest.mark.numpy_may_win
@pytest.mark.parametrize("is_compiled", [True, False])
def test_what_is_in_a_plan_that_lost_was_tried(monkeypatch, is_compiled):
    monkeypatch.setattr(effects, "LONG_CALL_S", -1.0)
    monkeypatch.setattr(JitFunction, "_loses_to_watched", lambda *_: False)
    monkeypatch.setattr(Trial, "why_numpy", property(lambda _: "it is slow"))
    monkeypatch.setattr(inner_calls, "calls_what_is_compiled", lambda _: is_compiled)
    said = []

    def examined(x):
        return {"sum": x.sum()}

    def told(x):
        said.append(float(x[0]))
        return {"last": x[-1] * 2}

    def tells(x):
        y = np.sqrt(np.abs(x)) + 1
        return y * 2, told(x)["last"], examined(x)

    compiled, x = tilewright.jit(tells, strict=True), np.arange(4.0)
    for _ in range(30):
        assert repr(compiled(x)) == repr(tells(x))
    assert len(said) == 60
    assert isinstance(compiled._python, InnerCalls) == is_compiled


def checked(x):
    return {"sum": x.sum()}


BEYOND = [0]


def beyond(items, n):
    for i in range(n):
        items[i] = items[i] * 3 + i
    return items


def test_a_loop_whose_plan_never_comes_to_its_end_is_given_up():
    inner = InnerCalls(beyond)
    (loop,) = (inner._make_once(), [*inner._loops.values()])[1]
    for _ in range(9):
        big = [2**61, 2**62, 5]
        assert inner(big, 3) == [3 * 2**61, 3 * 2**62 + 1, 17]
    assert loop.is_given_up
