"""Which time of NumPy speed-ups are relative to: that of warm calls, or of a cold one that says so."""

import types

import pytest
from tilewright import datasets, figures, tuning
from tilewright.cli.progress import Progress
from tilewright.figures import Figures
from tilewright.program import Program

pytestmark = pytest.mark.fast


class Clock:
    """Time as `tuning` and `datasets` see it: it passes where somebody says so, and a little at each look at it."""

    LOOK_NS = 50

    def __init__(self):
        self.now_ns = 0

    def perf_counter_ns(self):
        self.now_ns += self.LOOK_NS
        return self.now_ns

    def perf_counter(self):
        return self.perf_counter_ns() / 1e9


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(tuning, "time", found)
    monkeypatch.setattr(datasets, "time", found)
    monkeypatch.setattr(figures, "time", found)
    return found


class Slow:
    """A function whose first call takes longer than the others."""

    def __init__(self, clock, first_s, later_s):
        self.calls = 0
        self._clock, self._first_s, self._later_s = clock, first_s, later_s

    def __call__(self, x):
        self.calls += 1
        self._clock.now_ns += round(1e9 * (self._first_s if self.calls == 1 else self._later_s))
        return x


def reference(function):
    return datasets.Reference(
        function,
        types.SimpleNamespace(
            writes=(), writes_anything=False, generators=(), set_objects=(), arguments=(), stages={}, results=None
        ),
        Program("return %1"),
    )


def measured(function, is_warm):
    call = datasets.Call("recorded", (3.0,), {})
    answer, ns, is_cold = tuning._measure_numpy(reference(function), call, is_warm)
    assert answer.results[0] == 3.0
    return types.SimpleNamespace(ns=ns, is_cold=is_cold)


def test_the_first_call_of_a_process_does_not_count(clock):
    function = Slow(clock, 0.3, 0.002)
    found = measured(function, is_warm=False)
    assert not found.is_cold and found.ns == 2e6 + Clock.LOOK_NS
    assert function.calls == 1 + tuning._BASELINE_RUNS


def test_after_the_recorded_call_each_call_counts(clock):
    function = Slow(clock, 0.002, 0.002)
    assert not measured(function, is_warm=True).is_cold
    assert function.calls == tuning._BASELINE_RUNS


def test_a_slow_numpy_is_not_run_again(clock):
    function = Slow(clock, 20, 20)
    found = measured(function, is_warm=False)
    assert found.is_cold and found.ns == 20e9 + Clock.LOOK_NS and function.calls == 1
    function = Slow(clock, 20, 20)
    assert not measured(function, is_warm=True).is_cold  # the recorded call was the cold one
    assert function.calls == 1


def result_of(**fields):
    known = {
        "function": "f", "summary": "", "contract": "numpy", "schedule": "s", "figures": Figures(9e9, 3e9, 3.0, kernel_ns=3e9),
        "default_ns": 0, "trials": 20, "known": 0, "elapsed_s": 2, "reason": "the end", "bytes_moved": 6e9, "limit": None,
        "workload": types.SimpleNamespace(key="k", isa="x86-64"),
    }  # fmt: skip
    return tuning.TuneResult(**(known | fields))


def test_short_calls_are_compared_as_calls_from_python(capsys):
    result = result_of(figures=Figures(1670, 265, 1670 / 265, 6.2, 6.4, 60, kernel_ns=33), bytes_moved=330)
    assert result.closing_line().startswith(
        "f: NumPy 1.67 us -> tuned 265 ns (6.3x, 6.2 to 6.4 in 60 turns, 33 ns of it in the kernel); "
    )
    assert "; 10.0 GB/s;" in result.closing_line()  # what moves the bytes is the kernel
    evidence = result.evidence()
    assert (evidence["numpy_ns"], evidence["tuned_ns"], evidence["kernel_ns"]) == (1670, 265, 33)
    assert evidence["ratio"] == 6.302
    with Progress(quiet=False, budget_s=9) as progress:
        progress({"event": "numpy", "median_ns": 1670, "is_cold": False})
        progress({"event": "started", "left_s": 9.0})
        progress({"event": "new_best", "median_ns": 33, "call_ns": 265, "left_s": 8.4})
    assert "best 265 ns, about 6.3x NumPy, 8 s left" in capsys.readouterr().err


def test_very_short_calls_are_timed_without_the_clock(clock):
    def short(x):
        clock.now_ns += 100
        return x

    times = tuning._many_times(reference(short), datasets.Call("recorded", (3.0,), {}))
    assert len(times) == 1000
    assert all(100 < each < 101 for each in times)  # a look at the clock is half such a call


@pytest.mark.parametrize(
    ("is_cold", "text"), [(False, "about 50.0x NumPy,"), (True, "about 50.0x NumPy (its first call),")]
)
def test_progress_uses_it_and_names_a_cold_one(is_cold, text, capsys):
    with Progress(quiet=False, budget_s=9) as progress:
        progress({"event": "numpy", "median_ns": 2e9, "is_cold": is_cold})
        progress({"event": "started", "left_s": 9.0})
        progress({"event": "trial", "trial": 1})
        progress({"event": "new_best", "median_ns": 40e6})
    assert f"1 candidate, best 40 ms, {text} 9 s left" in capsys.readouterr().err


def test_the_closing_line_names_a_cold_one():
    result = result_of(figures=Figures(9e9, 3e9, 3.0, numpy_is_cold=True, kernel_ns=3e9))
    assert result.closing_line() == (
        "f: NumPy 9 s (its first call) -> tuned 3 s (about 3.0x); result equal under contract numpy; 2.0 GB/s; "
        "searched 2 s, 20 candidates, stopped: the end"
    )
    assert result.evidence()["numpy_is_cold"] is True
