"""What is said of NumPy's time and the tuned one's: both in turns, by ratios of turns, the same figures everywhere."""

import json
import types

import numpy as np
import pytest
from tilewright import datasets, figures, tuning
from tilewright.cli import batch, tune_report
from tilewright.explain import evidence_lines
from tilewright.figures import Figures, MachineWatch, reserved_s, take_turns
from tilewright.program import Program

pytestmark = pytest.mark.fast


class Clock:
    """Time passes where somebody says so. Everything takes `slowness` times as long as on a quiet machine."""

    def __init__(self):
        self.now_ns = 0
        self.slowness = lambda _: 1.0

    def perf_counter_ns(self):
        return self.now_ns

    def perf_counter(self):
        return self.now_ns / 1e9

    def takes(self, ns, result=None):
        def function(*_):
            self.now_ns += round(ns * self.slowness(self.now_ns))
            return result

        return function


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(figures, "time", found)
    monkeypatch.setattr(MachineWatch, "words", lambda _: "")
    return found


CALL = datasets.Call("recorded", (3.0,), {})


def reference(function, writes=(), set_objects=()):
    traced = types.SimpleNamespace(
        arguments=(),
        stages={},
        writes=writes,
        writes_anything=bool(writes),
        generators=(),
        set_objects=set_objects,
        inputs=lambda args, _: {"x": args[0]},
    )
    return datasets.Reference(function, traced, Program("return none"))


def turns(numpy, tuned, limit_s=1.0, numpy_ns=20e6, kernel_ns=2e6, **more):
    known = Figures(numpy_ns, kernel_ns, numpy_ns / kernel_ns, kernel_ns=kernel_ns)
    return take_turns(reference(numpy), reference(tuned), CALL, limit_s=limit_s, known=known, **more)[0]


def test_a_machine_that_slows_down_and_recovers_changes_no_ratio(clock):
    # Ten times as slow for half of the time; times of NumPy alone, then of the other, would give 100x or 1x.
    clock.slowness = lambda now: 10.0 if (now // 200_000_000) % 2 else 1.0
    found = turns(clock.takes(20e6), clock.takes(2e6))
    assert found.ratio == 10 and found.turns > 6
    assert found.numpy_ns / found.tuned_ns == found.ratio
    assert found.ratio_low <= 10 <= found.ratio_high
    assert found.busy.startswith("NumPy's times spread by ")


def test_what_was_known_before_is_forgotten(clock):
    # Cold, NumPy took 160 ms before the search; the schedule 1 ms in the search.
    found = turns(clock.takes(20e6), clock.takes(2e6), numpy_ns=160e6, kernel_ns=1e6)
    assert (found.numpy_ns, found.tuned_ns, found.ratio, found.kernel_ns) == (20e6, 2e6, 10.0, 1e6)
    assert found.text() == (
        f"NumPy 20 ms -> tuned 2 ms (10.0x, 10.0 to 10.0 in {found.turns} turns, 1 ms of it in the kernel)"
    )


def test_the_interval_is_that_of_the_median_and_a_few_turns_give_their_range():
    assert [figures._outside_each_end(count) for count in (1, 5, 6, 8, 9, 20, 60)] == [0, 0, 0, 0, 1, 5, 21]
    # Of 6 values the median lies between the least and the greatest in all but 2 of 64 cases.


@pytest.mark.parametrize(("limit_s", "count"), [(100.0, 60), (1.0, 10), (0.15, 3), (0.1, 2), (0.04, 1)])
def test_turns_take_the_time_that_there_is(clock, limit_s, count):
    # 100 ms each: both functions twice, once to be warm.
    assert turns(clock.takes(45e6), clock.takes(5e6), limit_s, 45e6, 5e6).turns == count


def test_cheap_turns_are_made_whoever_else_had_the_time(clock):
    late = iter([300e6])
    found = turns(
        lambda _: setattr(clock, "now_ns", clock.now_ns + round(2e6 + next(late, 0))), clock.takes(1e6), 0.1, 2e6, 1e6
    )
    assert found.turns == 9 and found.ratio == 2


def test_a_slow_numpy_is_timed_once_and_that_is_said(clock):
    calls = []
    found = turns(calls.append, clock.takes(3e9), limit_s=0.0, numpy_ns=30e9, kernel_ns=3e9)
    assert not calls and found.turns == 0
    assert found.text() == "NumPy 30 s (timed once, before the search) -> tuned 3 s (about 10.0x)"
    cold = Figures(30e9, 3e9, 10.0, numpy_is_cold=True)
    assert cold.text() == "NumPy 30 s (its first call) -> tuned 3 s (about 10.0x)"


def test_written_arguments_are_as_they_were_at_each_call(clock):
    seen = []

    def doubles(x):
        clock.now_ns += 2_000_000
        seen.append(x[0])
        x *= 2

    call = datasets.Call("recorded", (np.ones(3),), {})
    known = Figures(2e6, 2e6, 1.0, kernel_ns=2e6)
    take_turns(reference(doubles, ["x"]), reference(doubles, ["x"]), call, limit_s=0.1, known=known)
    assert set(seen) == {1.0} and len(seen) > 6
    assert call.args[0].tolist() == [1, 1, 1]


def test_objects_are_as_they_were_at_each_call(clock):
    seen = []

    def appends(values):
        clock.now_ns += 2_000
        seen.append(len(values))
        values.append(0.5)

    call = datasets.Call("recorded", ([1.0, 2.0],), {})
    known = Figures(2e3, 2e3, 1.0, kernel_ns=2e3)
    sides = [reference(appends, set_objects=[(("parameter", "values"),)]) for _ in range(2)]
    take_turns(*sides, call, limit_s=0.001, known=known)
    assert set(seen) == {2} and len(seen) > 6
    assert call.args[0] == [1.0, 2.0]


def test_short_calls_are_made_many_times_a_turn(clock):
    made = []

    def short(_):
        made.append(1)
        clock.now_ns += 100

    found = turns(short, short, limit_s=0.1, numpy_ns=100, kernel_ns=30)
    assert found.ratio == 1 and len(made) > 1000 * found.turns


def test_on_a_device_the_kernels_count_and_the_copies_are_told_apart(clock):
    known = Figures(20e6, 1e6, 20, kernel_ns=1e6)
    found, copied_ns = take_turns(
        reference(clock.takes(20e6)), reference(clock.takes(5e6)), CALL, limit_s=1, known=known, on_device=True
    )
    assert (found.ratio, found.tuned_ns, copied_ns) == (20, 1e6, 5e6)


def test_others_on_the_machine_are_named(monkeypatch):
    monkeypatch.undo()
    moments = iter([(10.0, 100.0, 5.0, 50.0), (12.0, 103.5, 5.0, 51.5), (0.0, 0.0, 0.0, 0.0), (1.0, 2.0, 0.5, 2.0)])
    monkeypatch.setattr(MachineWatch, "_now", lambda _: next(moments))
    monkeypatch.setattr(figures, "usable_cores", lambda: 2)
    assert MachineWatch().words() == "other processes took 1.0 of 2 cores"
    assert MachineWatch().words() == "other machines took 0.5 of 2 cores"


def test_a_machine_that_does_not_say_who_runs_is_taken_as_quiet(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(MachineWatch, "_now", lambda _: None)
    assert MachineWatch().words() == ""


@pytest.mark.parametrize(
    ("budget_s", "numpy_ns", "kept_s"),
    [
        (60, 1e3, 1.0),
        (60, 30e6, 3.6),
        (60, 3e9, 6.0),
        (60, 30e9, 0.0),
        (5, 30e6, 0.5),
        (5, 0.4e9, 0.8),
        (5, 0.6e9, 0.0),
    ],
)
def test_what_a_budget_keeps_for_the_turns(budget_s, numpy_ns, kept_s):
    assert reserved_s(budget_s, numpy_ns) == pytest.approx(kept_s)


def result_of(found):
    return tuning.TuneResult(
        function="f", summary="", contract="numpy", schedule="s", figures=found, default_ns=4e6, trials=40, known=0, elapsed_s=5, reason="the end",
        bytes_moved=16e6, limit={"roof": "memory", "share": 0.43, "reached": 8.0, "unit": "GB/s"},
        workload=types.SimpleNamespace(key="k", isa="x86-64"), raw={},
    )  # fmt: skip


def test_all_that_is_printed_are_the_same_figures(capsys):
    found = Figures(22.8e6, 2e6, 11.4, 11.2, 11.7, 40, kernel_ns=1.9e6, busy="other processes took 0.9 of 2 cores")
    words = (
        "NumPy 22.8 ms -> tuned 2 ms (11.4x, 11.2 to 11.7 in 40 turns); "
        "the machine was busy: other processes took 0.9 of 2 cores"
    )
    result = result_of(found)
    assert result.closing_line() == (
        f"f: {words}; result equal under contract numpy; 8.0 GB/s, 43 % of this machine's measured limit (memory); "
        "searched 5 s, 40 candidates, stopped: the end"
    )
    evidence = json.loads(json.dumps(result.evidence()))
    assert Figures.of_evidence(evidence) == found
    assert f"  {words}" in evidence_lines(evidence)
    assert batch.Ended("s.py", 0, 1.0, {"results": [{**evidence, "complete": True}]}).line == f"f: {words}"


def test_a_function_that_numpy_runs_faster_is_said_to_stay():
    assert Figures(1e6, 2e6, 0.5, 0.4, 0.6, 9).text() == (
        "NumPy 1 ms -> tuned 2 ms (0.50x, 0.40 to 0.60 in 9 turns); NumPy is faster here: keep the function as it is"
    )
    assert "keep the function as it is" in Figures(46e6, 151e6, 0.31, turns=1).text()
    for uncertain in (Figures(1e6, 1e6, 0.9, 0.4, 1.6, 9), Figures(1e6, 2e6, 0.5, turns=1), Figures(1e6, 2e6, 0.5)):
        assert "keep" not in uncertain.text()


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (None, "8.0 GB/s;"),
        (
            {"roof": "compute with FMA", "share": 1.0, "reached": 199.4, "unit": "GFLOP/s"},
            "199.4 GFLOP/s, 100 % of this machine's measured limit (compute with FMA);",
        ),
    ],
)
def test_the_limit_that_binds_is_named(limit, text):
    result = result_of(Figures(22e6, 2e6, 11, kernel_ns=2e6))
    result.limit = limit
    assert text in result.closing_line()


def test_a_schedule_of_ones_own_is_compared_by_one_ratio():
    one = types.SimpleNamespace(function=types.SimpleNamespace(__name__="f"))
    fixed = {"outcome": "measured", "text": "", "median_ns": 3.031e6, "best_ns": 1.7e6}
    between = {"ratio": 1.783, "low": 1.7, "high": 1.85, "pairs": 30}
    assert tune_report._fixed_line(one, {**fixed, "to_best": between}) == (
        "f: your schedule 3.03 ms, 1.783 times (1.700 to 1.850) the 1.7 ms of the best known"
    )
    none = {"ratio": 1.0, "low": None, "high": None, "pairs": 0}
    assert tune_report._fixed_line(one, {**fixed, "to_best": none}) == (
        "f: your schedule 3.03 ms; the best known took 1.7 ms, but the two could not be timed together"
    )


def test_evidence_is_told_with_units():
    lines = evidence_lines({"searched_s": 12.71, "candidates": 3, "kernel_ns": 2e6, "default_ns": 3e6})
    assert lines[1:] == [
        "  its kernel takes 2 ms, that of the default schedule 3 ms",
        "  searched: 12.7 s",
        "  candidates: 3",
    ]
