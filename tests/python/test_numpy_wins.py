"""Which calls stay with NumPy because it was measured to be faster; what is measured is given."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import tilewright
from tilewright import comparison, tuning
from tilewright.datasets import Reference
from tilewright.decorator import JitFunction

pytestmark = [pytest.mark.fast, pytest.mark.numpy_may_win]
US = 1000


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def side_of(function):
    """NumPy's side is the function itself."""
    return "numpy" if getattr(function, "__func__", None) is Reference.run else "compiled"


class Measured:
    """What the measurement finds, and how often it looks at each side."""

    def __init__(self, monkeypatch, compiled_ns, numpy_ns):
        self.looks = {"compiled": 0, "numpy": 0}
        self.times_ns = {"compiled": compiled_ns, "numpy": numpy_ns}
        monkeypatch.setattr(comparison, "_time", self._time)

    def _time(self, function, call, limit_ns):
        side = side_of(function)
        self.looks[side] += 1
        function(call)
        took = self.times_ns[side]
        return took if limit_ns is None else min(took, limit_ns)

    def change(self, compiled_ns, numpy_ns):
        self.times_ns = {"compiled": compiled_ns, "numpy": numpy_ns}


def smoothed(x):
    return (x[1:] + x[:-1]) * 0.5


def jitted(monkeypatch, compiled_ns, numpy_ns):
    return tilewright.jit(smoothed, strict=True), Measured(monkeypatch, compiled_ns, numpy_ns)


SMALL, LARGE = np.arange(50.0), np.arange(300_000.0)


def runs_of_numpy(f, x):
    """How often a call runs the function itself."""
    runs = []
    sys.setprofile(lambda frame, event, _: runs.append(event) if frame.f_code is smoothed.__code__ else None)
    try:
        result = f(x)
    finally:
        sys.setprofile(None)
    np.testing.assert_array_equal(result, smoothed(x))
    return runs.count("call")


def test_small_calls_stay_with_numpy_where_it_is_faster(monkeypatch):
    f, measured = jitted(monkeypatch, 50 * US, 10 * US)
    f(SMALL)
    assert runs_of_numpy(f, SMALL) == 1
    assert "NumPy takes 10 us, compiled code 50 us" in f.explain(source=False)
    looks = dict(measured.looks)
    f(LARGE)  # another version, with a measurement of its own
    assert runs_of_numpy(f, LARGE) == 1 and all(measured.looks[side] > looks[side] for side in looks)


@pytest.mark.parametrize(("compiled_us", "numpy_us", "again"), [(50, 10, False), (10, 50, False), (110, 100, True)])
def test_what_is_clear_is_not_measured_again(monkeypatch, tmp_path, compiled_us, numpy_us, again):
    monkeypatch.setattr(JitFunction, "keeps_traces", True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(comparison, "lost_processors", lambda: 0)  # whatever else runs here
    f, measured = jitted(monkeypatch, compiled_us * US, numpy_us * US)
    f(SMALL)
    looks = dict(measured.looks)
    later = tilewright.jit(smoothed, strict=True)  # as in another process
    later(SMALL)
    assert (measured.looks != looks) == again
    assert runs_of_numpy(later, SMALL) == (compiled_us > numpy_us)
    if compiled_us == 50:
        assert "NumPy was clearly faster at such a call in an earlier process" in later.explain(source=False)


def test_calls_that_numpy_loses_are_compiled(monkeypatch):
    f, _ = jitted(monkeypatch, 10 * US, 50 * US)
    f(SMALL)
    assert runs_of_numpy(f, SMALL) == 0
    assert "NumPy takes" not in f.explain(source=False)


def test_a_little_slower_is_no_loss(monkeypatch):
    f, _ = jitted(monkeypatch, 1000, 900)
    f(SMALL)
    assert runs_of_numpy(f, SMALL) == 0


def test_long_calls_that_lose_stay_with_numpy(monkeypatch):
    f, _ = jitted(monkeypatch, 10_000 * US, 4_000 * US)
    f(LARGE)
    assert runs_of_numpy(f, LARGE) == 1
    assert "NumPy takes 4 ms, compiled code 10 ms" in f.explain(source=False)


def test_numpy_runs_once_where_a_long_call_wins_and_is_stopped_there(monkeypatch):
    f, measured = jitted(monkeypatch, 10_000 * US, 9_000_000 * US)
    f(LARGE)
    assert measured.looks == {"compiled": 1, "numpy": 1} and runs_of_numpy(f, LARGE) == 0


def test_a_long_run_of_numpy_is_stopped():
    runs = []

    def endless(_):
        runs.append(1)
        while True:
            pass

    assert comparison._time(endless, None, 5_000_000) == 5_000_000 and runs == [1]


def takes_later(monkeypatch, measured, side, ns):
    """What every run of a side but its first, cold one takes."""
    first = measured._time

    def warm(function, call, limit_ns):
        took = first(function, call, limit_ns)
        return ns if side_of(function) == side and measured.looks[side] > 1 else took

    monkeypatch.setattr(comparison, "_time", warm)


def test_a_long_call_that_loses_is_looked_at_again(monkeypatch):
    """The first run of compiled code is a cold one."""
    f, measured = jitted(monkeypatch, 10_000 * US, 4_000 * US)
    takes_later(monkeypatch, measured, "compiled", 3_000 * US)
    f(LARGE)
    assert measured.looks == {"compiled": 3, "numpy": 3} and runs_of_numpy(f, LARGE) == 0


def test_a_cold_first_run_of_numpy_is_looked_at_again(monkeypatch):
    f, measured = jitted(monkeypatch, 3_000 * US, 4_000 * US)
    takes_later(monkeypatch, measured, "numpy", 100 * US)
    f(LARGE)
    assert runs_of_numpy(f, LARGE) == 1


def test_a_cold_first_run_of_a_short_call_is_not_its_time(monkeypatch):
    f, measured = jitted(monkeypatch, 3_000 * US, 300 * US)
    takes_later(monkeypatch, measured, "compiled", 100 * US)
    f(LARGE)
    assert runs_of_numpy(f, LARGE) == 0


@pytest.mark.parametrize("side", ["numpy", "compiled"])
def test_one_run_that_another_process_interrupted_decides_nothing(monkeypatch, side):
    """Calls this short are looped over, whichever run of theirs took a turn of the scheduler."""
    f, measured = jitted(monkeypatch, *((5 * US, 10_000 * US) if side == "numpy" else (10_000 * US, 5 * US)))
    takes_later(monkeypatch, measured, side, 5 * US)
    monkeypatch.setattr(comparison, "_best_of_loops", lambda *_: comparison.Times(2000, 1000))
    f(SMALL)
    assert runs_of_numpy(f, SMALL) == 1


def test_what_numpy_has_no_memory_for_is_not_run_in_numpy(monkeypatch):
    f, measured = jitted(monkeypatch, 10_000 * US, 10 * US)
    monkeypatch.setattr(comparison, "available_memory_bytes", lambda: 4 * LARGE.nbytes)
    f(LARGE)
    assert measured.looks == {"compiled": 0, "numpy": 0} and runs_of_numpy(f, LARGE) == 0


def test_large_calls_that_lose_leave_larger_ones_compiled(monkeypatch):
    f, measured = jitted(monkeypatch, 1_000 * US, 10 * US)
    f(LARGE)
    assert runs_of_numpy(f, LARGE) == 1
    assert "NumPy for work below" in f.explain(source=False)
    measured.change(10 * US, 1_000 * US)
    larger = np.arange(3_000_000.0)
    f(larger)
    assert runs_of_numpy(f, larger) == 0 and runs_of_numpy(f, LARGE) == 1


@pytest.mark.parametrize("numpy_ns", [10 * US, 500 * US])
def test_a_stored_schedule_that_loses_is_withdrawn_at_its_first_call(monkeypatch, tmp_path, numpy_ns):
    """The store knows the time of the kernel, and not what NumPy takes."""
    tilewright.jit(smoothed, db=tmp_path / "db").tune(SMALL, trials=1, budget=5)
    f, measured = tilewright.jit(smoothed, db=tmp_path / "db"), Measured(monkeypatch, 50 * US, numpy_ns)
    f(SMALL)
    loses = numpy_ns < 50 * US
    assert measured.looks["numpy"] and runs_of_numpy(f, SMALL) == loses
    assert ("NumPy takes 10 us, compiled code 50 us (under the schedule that" in f.explain(source=False)) == loses
    assert f.for_args(SMALL).has_own_schedule == (not loses)


@pytest.mark.parametrize("loses", [True, False])
def test_a_search_that_finds_nothing_faster_than_numpy_leaves_such_calls_to_it(monkeypatch, tmp_path, loses):
    f, times = tilewright.jit(smoothed, db=tmp_path / "db"), (50 * US, 10 * US) if loses else (10 * US, 50 * US)
    Measured(monkeypatch, *times)
    monkeypatch.setattr(
        tuning, "take_turns", lambda *_, known, **__: (replace(known, ratio=0.2 if loses else 5.0), None)
    )
    f.tune(SMALL, trials=1, budget=5)
    assert runs_of_numpy(f, SMALL) == loses
    f.schedule = f.for_args(SMALL).schedule
    assert runs_of_numpy(f, SMALL) == 0  # a person decides


def scaled(x):
    x *= 2
    return x.sum()


@pytest.mark.parametrize("numpy_ns", [10 * US, 500 * US])
def test_what_writes_is_compared_on_copies_and_writes_once(monkeypatch, numpy_ns):
    f, measured = tilewright.jit(scaled, strict=True), Measured(monkeypatch, 50 * US, numpy_ns)
    x = np.ones(10)
    assert f(x) == 20 and (x == 2).all() and measured.looks["numpy"]
    assert ("NumPy takes" in f.explain(source=False)) == (numpy_ns == 10 * US)


def drawn(rng, n):
    return rng.random(n) * 2


def test_what_draws_is_compared_on_copies_and_draws_once(monkeypatch):
    Measured(monkeypatch, 50 * US, 10 * US)
    rng, numpys = np.random.default_rng(1), np.random.default_rng(1)
    f = tilewright.jit(drawn, strict=True)
    for _ in range(3):
        np.testing.assert_array_equal(f(rng, 1000), drawn(numpys, 1000))


def test_what_is_written_and_cannot_be_copied_is_not_compared(monkeypatch):
    measured = Measured(monkeypatch, 50 * US, 10 * US)

    def doubled(arrays):
        arrays[0][:] *= 2
        return arrays[0].sum()

    assert tilewright.jit(doubled, strict=True)([np.ones(10)]) == 20 and not measured.looks["compiled"]


def test_a_call_that_numpy_refuses_is_not_withdrawn(monkeypatch):
    def refuse(*_):
        raise ValueError

    monkeypatch.setattr(comparison, "_time", refuse)
    f = tilewright.jit(smoothed, strict=True)
    f(SMALL)
    assert runs_of_numpy(f, SMALL) == 0


def test_compiled_calls_are_timed_as_later_ones_go(monkeypatch):
    """Without what a first call takes in Python, which is more than all of a short one."""
    seen = []

    def compare(run, reference, call, bound, itself):
        assert itself is compiled
        frames = []
        sys.setprofile(lambda frame, event, _: frames.append(frame.f_code.co_name) if event == "call" else None)
        try:
            run(call)
        finally:
            sys.setprofile(None)
        seen.append(frames)

    monkeypatch.setattr(comparison, "compare", compare)
    compiled = tilewright.jit(smoothed, strict=True)
    np.testing.assert_array_equal(compiled(SMALL), smoothed(SMALL))
    assert seen == [["run"]]


def raised_in_place(x, k):
    x += 1
    return x[k] * 2


def test_what_numpy_raises_in_such_a_call_is_raised_once(monkeypatch):
    f = tilewright.jit(raised_in_place)
    Measured(monkeypatch, compiled_ns=2000 * US, numpy_ns=1 * US)
    f(np.zeros(4), k=np.array([1, 2]))
    x = np.zeros(4)
    with pytest.raises(IndexError):
        f(x, k=np.array([1, 9]))
    np.testing.assert_array_equal(x, np.ones(4))


def test_a_plan_whose_data_fail_at_many_calls_in_a_row_is_not_run_any_more():
    @tilewright.jit(strict=True)
    def total(x, indices):
        found = 0.0
        for k in range(len(indices)):
            found += x[indices[k]]
        return found

    x, good, bad = np.arange(50.0), np.arange(40), np.full(40, 99)
    failed = []
    for indices in (good, *[bad] * 10, good, *[bad] * 40, good):
        if indices is good:
            assert total(x, good) == 780.0
            continue
        with pytest.raises(IndexError):
            total(x, bad)
        failed.append(total._failed)
    assert max(failed) == 16 and failed[10] == 1  # a call that did not fail begins anew


def counted(n, seed):
    rng, total, k = np.random.default_rng(seed), 0, 0
    while k < n:
        if rng.random() < 0.5:
            total += rng.integers(5)
        k += 1
    return total


def test_small_calls_that_lost_say_nothing_of_much_larger_ones():
    compiled = tilewright.jit(counted, strict=True)
    assert compiled(6, 1) == counted(6, 1)
    specialization, bound = compiled.specialize((6, 1), {})
    compiled._end_trial(specialization, bound, "it was slow")
    assert specialization.numpy_reason(bound) == "it was slow" and not specialization.versions
    for n, reason in ((7, "it was slow"), (15, "it was slow"), (5000, None)):
        assert specialization.numpy_reason(compiled.specialize((n, 1), {})[1]) == reason
        assert compiled(n, 1) == counted(n, 1)
    assert specialization.versions


def long_and_refused(x):
    with np.errstate(all="raise"):
        return np.sort(np.sin(x))[::-1] * 2


def test_long_calls_in_which_nothing_is_worth_a_compilation_stay_with_numpy(monkeypatch):
    """They were looked at anew at each call: 0.7 of NumPy's speed."""
    compiled, x = tilewright.jit(long_and_refused), np.arange(100_000.0)
    misses = []
    miss = type(compiled)._miss
    monkeypatch.setattr(type(compiled), "_miss", lambda self, *args: (misses.append(1), miss(self, *args))[1])
    with pytest.warns(tilewright.FallbackWarning):
        for _ in range(6):
            compiled(x)
    misses.clear()
    for _ in range(10):
        assert np.array_equal(compiled(x), long_and_refused(x))
    assert not misses


def picked(x, mask):
    return np.sort(x[mask]) * 2.0


def shifted(x, mask):
    return x * 2.0 + mask


@pytest.mark.parametrize(("function", "lost_ns", "is_tried_again"), [
    (picked, 100, True), (picked, 10**12, False), (shifted, 100, False),
])  # fmt: skip
def test_what_data_make_longer_is_tried_again(monkeypatch, function, lost_ns, is_tried_again):
    """A simulation may begin with few elements under its mask, and go on with many."""
    found = [comparison.Times(2 * lost_ns, lost_ns), comparison.Times(lost_ns, 9 * lost_ns)]
    monkeypatch.setattr("tilewright.comparison.compare", lambda *_: found.pop(0))
    f = tilewright.jit(function)
    x, mask = np.linspace(-1, 1, 5000), np.arange(5000) % 3 > 0
    for _ in range(6):
        np.testing.assert_array_equal(f(x, mask), function(x, mask))
    assert len(found) == (0 if is_tried_again else 1)
    assert bool(f.specializations[0].versions) == is_tried_again
