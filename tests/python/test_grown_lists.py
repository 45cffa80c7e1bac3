"""Lists of the caller to which a function appends: `self.history.append(loss)`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright
from objects_seen import seen

pytestmark = pytest.mark.compile


class Solver:
    def __init__(self) -> None:
        self.history: list[Any] = []
        self.log: dict[str, list[Any]] = {"loss": [], "step": []}
        self.snapshots: list[Any] = []
        self.x = np.linspace(0.0, 1.0, 50)
        self.steps = 0

    def step(self, dt: float) -> float:
        self.x = self.x + dt * np.sin(self.x)
        self.history.append(self.x)  # the very array
        self.log["loss"].append(float(self.x.sum()))
        self.log["step"].append(self.steps)
        self.steps += 1
        return self.log["loss"][-1]

    def in_place(self, dt: float) -> Any:
        self.x *= dt
        self.history.append(self.x)
        self.x += 1.0
        self.snapshots.append(self.x[:3])
        self.history.append((self.steps, "text", None, [self.x.mean()]))
        return self.history

    def run(self, n: int, tol: float) -> int:
        for k in range(n):
            new = self.x * 0.9 + 0.01 * k
            change = np.max(np.abs(new - self.x))
            self.x = new
            self._note(change, k)
            if change < tol:
                break
        return k

    def _note(self, change: Any, k: int) -> None:
        self.history.append(change)
        self.log["loss"].append(float(change))
        if k % 10 == 0:
            self.snapshots.append((k, self.x.copy()))

    def until(self, least: float) -> Any:
        while True:
            self.x = self.x * 0.5
            self.history.append(float(self.x.sum()))
            if self.history[-1] < least:
                return self.x.max()

    def shared(self, n: int) -> Any:
        for k in range(n):
            self.x = self.x * 0.5 + k
            self.history.append(self.x)
        return self.x.mean()

    def anew(self, n: int) -> Any:
        self.history.append(n * self.x[0])
        self.history = []
        for k in range(n):
            self.history.append(self.x[k] * 2)
        self.snapshots.append(len(self.history))
        return self.x.mean()

    def raises(self, k: int) -> Any:
        self.history.append(self.x[0] * 2)
        return self.x[k]


CALLS = [
    ("step", (0.1,)), ("in_place", (2.0,)), ("run", (100, 1e-3)), ("run", (100, 0.0)), ("run", (3, 0.0)), ("until", (3.0,)),
    ("shared", (5,)), ("shared", (100,)), ("anew", (5,)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args"), CALLS)
def test_the_callers_list_gets_what_is_appended(name: str, args: Any) -> None:
    function = getattr(Solver, name)
    compiled = tilewright.jit(function)
    ours, theirs = Solver(), Solver()
    lists = ours.history, ours.log["loss"]
    for _ in range(6):
        assert seen((compiled(ours, *args), ours)) == seen((function(theirs, *args), theirs))
    assert name == "anew" or lists[0] is ours.history
    assert lists[1] is ours.log["loss"]


@pytest.mark.parametrize("name", ["step", "run", "until"])
def test_one_program_serves_lists_of_any_length(name: str) -> None:
    args = dict(CALLS)[name]
    compiled = tilewright.jit(getattr(Solver, name), strict=True)
    solver = Solver()
    for _ in range(12):
        compiled(solver, *args)
    assert len(compiled.specializations) == 1
    assert ".append()" in compiled.explain(source=False)


class Watcher:
    """Looks at the end of its lists, before and behind what it appends."""

    def __init__(self) -> None:
        self.losses: list[Any] = []
        self.best: list[Any] = []
        self.states: list[Any] = [np.zeros(4), np.ones(4)]

    def is_done(self, x: Any) -> bool:
        loss = ((x - 0.5) ** 2).mean()
        self.losses.append(loss)
        return bool(len(self.losses) > 3 and abs(self.losses[-1] - self.losses[-2]) < 0.02)

    def no_worse(self, x: Any) -> Any:
        loss = float(x.sum())
        if self.losses and loss > self.losses[-1]:
            loss = self.losses[-1]
        self.losses.append(loss)
        if not self.best or len(self.losses) % 3 == 0:
            self.best.append(len(self.best))
        return loss, len(self.losses), self.losses[-1]

    def moves(self, x: Any) -> Any:
        state = self.states[-1] * 0.5 + x[:4]
        self.states.append(state)
        self.states.append(self.states[-1] - self.states[-2] + self.states[-3])
        return self.states[-1].sum() + len(self.states)

    def writes(self, x: Any) -> Any:
        self.states[-1] += x[:4]
        self.losses.append(self.states[-1][0])
        self.states.append(self.states[-1])
        return self.states[-1] * 2

    def in_a_loop(self, x: Any) -> Any:
        total = 0.0
        for value in x:
            total += value * len(self.losses)
        self.losses.append(total)
        for value in x:
            if value > 0.5:
                self.best.append(value)
        return len(self.best), self.losses[-1]


@pytest.mark.parametrize("name", ["is_done", "no_worse", "moves", "writes", "in_a_loop"])
def test_its_end_may_be_read(name: str) -> None:
    function, draws = getattr(Watcher, name), np.random.default_rng(0)
    compiled = tilewright.jit(function)
    ours, theirs = Watcher(), Watcher()
    for turn in range(14):
        x = draws.random(8)
        assert seen((compiled(ours, x), ours)) == seen((function(theirs, x), theirs)), turn
        if turn == 6:  # items of other kinds, and fewer of them
            for one in (ours, theirs):
                one.losses[:] = [1, 2.5, np.float32(3)]
                one.states = [one.states[-1], np.arange(4), one.states[-1]]
        if turn == 9:
            for one in (ours, theirs):
                one.losses.clear()
                one.best = one.losses
        if turn == 11:
            for one in (ours, theirs):
                one.best, one.states = [], [np.ones(4, np.float32), np.zeros(4)]


@pytest.mark.parametrize("name", ["is_done", "moves"])
def test_its_end_is_read_by_compiled_code(name: str) -> None:
    function, draws = getattr(Watcher, name), np.random.default_rng(1)
    compiled = tilewright.jit(function, strict=True)
    ours, theirs = Watcher(), Watcher()
    for _ in range(12):
        x = draws.random(8)
        assert seen((compiled(ours, x), ours)) == seen((function(theirs, x), theirs))
    assert len(compiled.specializations) <= 3  # of no item, of some


def test_an_array_that_each_iteration_sets_before_a_break_is_new() -> None:
    compiled, ours, theirs = tilewright.jit(Solver.run, strict=True), Solver(), Solver()
    for n, tol in ((100, 1e-3), (100, 1e9), (1, 0.0), (100, 1e-3), (70, 0.0)):
        before = ours.x, theirs.x
        assert seen((compiled(ours, n, tol), ours)) == seen((Solver.run(theirs, n, tol), theirs))
        assert ours.x is not before[0]
        with pytest.raises(UnboundLocalError):
            compiled(ours, 0, tol)
    compiled.for_args(ours, 100, 1e-3)


def test_what_is_raised_leaves_the_list_as_numpy_does() -> None:
    compiled, ours, theirs = tilewright.jit(Solver.raises), Solver(), Solver()
    assert compiled(ours, 3) == Solver.raises(theirs, 3)
    for one, function in ((ours, compiled), (theirs, Solver.raises)):
        with pytest.raises(IndexError):
            function(one, 50)
    assert seen(ours) == seen(theirs)


def both(solver: Solver, others: list[Any]) -> Any:
    solver.history.append(solver.x[0])
    return sum(others) + solver.x.sum()


def test_a_list_that_is_there_twice_is_numpys() -> None:
    compiled = tilewright.jit(both)
    for length in (3, 100):
        ours, theirs = Solver(), Solver()
        for one in (ours, theirs):
            one.history += [float(k) for k in range(length)]
        for _ in range(3):
            assert seen((compiled(ours, ours.history), ours)) == seen((both(theirs, theirs.history), theirs))
            others = [1.0] * len(ours.history)
            assert seen((compiled(ours, others), ours)) == seen((both(theirs, others), theirs))


def reads(solver: Solver, n: int) -> Any:
    total = 0.0
    for k in range(n):
        total += solver.x[k]
        solver.history.append(total)
    return total + len(solver.history) + solver.history[0]


def test_what_else_is_done_with_it_is_refused_in_words() -> None:
    with pytest.raises(
        tilewright.TraceError, match=r"reading solver\.history, to which the function appends; what is in it"
    ):
        tilewright.jit(reads).for_args(Solver(), 30)
    compiled, ours, theirs = tilewright.jit(reads, strict=True), Solver(), Solver()
    for _ in range(3):
        assert seen((compiled(ours, 30), ours)) == seen((reads(theirs, 30), theirs))


class Negated(list[Any]):
    def append(self, item: Any) -> None:
        super().append(-item)


def test_a_list_of_another_class_is_numpys() -> None:
    compiled = tilewright.jit(Solver.run)
    for kind in (list, Negated, list):
        ours, theirs = Solver(), Solver()
        ours.history, theirs.history = kind(), kind()
        assert seen((compiled(ours, 9, 0.0), ours)) == seen((Solver.run(theirs, 9, 0.0), theirs))


def test_what_stages_append_is_compared_by_searches_and_by_debug() -> None:
    solver, one = Solver(), Solver()
    run = tilewright.jit(Solver.run, strict=True)
    for n in (200, 300):
        assert run(solver, n, 0.0) == one.run(n, 0.0)
    assert solver.history == one.history
    before = len(solver.history)
    run.tune(solver, 200, 0.0, budget=1)
    assert "nothing differs" in str(run.debug(solver, 200, 0.0))
    assert len(solver.history) == before
