"""How soon it is known who makes a function's calls best, and what the calls until then do."""

import gc

import numpy as np
import pytest
import tilewright
from tilewright import comparison, held_elsewhere, specializing, tried_calls
from tilewright.decorator import JitFunction
from tilewright.interpret.inner_calls import InnerCalls
from tilewright.trials import Trial

pytestmark = [pytest.mark.compile, pytest.mark.numpy_may_win]

X = np.linspace(-1.0, 1.0, 40)
SAID = []


def say(x):
    SAID.append(float(x[0]))
    if x[0] > 100:
        raise ValueError("too large")
    return {"last": x[-1] * 2}


def says(x):
    y = np.sqrt(np.abs(x)) + 1
    found = say(x)
    return y * 2, found["last"]


def test_the_first_call_compiles_what_it_has_shown():
    compiled = tilewright.jit(says, strict=True)
    compiled(X)
    (one,) = compiled.specializations
    assert one.versions and compiled.misses == 1


@pytest.mark.parametrize("strict", [True, False])
def test_calls_that_are_tried_do_what_they_do_once_and_do_not_come_by_python(monkeypatch, strict):
    monkeypatch.setattr(Trial, "is_over", False)
    monkeypatch.setattr(specializing, "looking_ns", lambda _: 0)
    monkeypatch.setattr(tried_calls, "lost_processors", lambda: 0)  # whatever else runs here
    compiled = tilewright.jit(says, strict=strict)
    del SAID[:]
    for k in range(12):
        assert repr(compiled(X + k)) == repr(says(X + k))
    assert not SAID[24:] and [SAID[k] for k in range(24)] == [float(k - 1.0) for k in range(12) for _ in range(2)]
    (one,) = compiled.specializations
    assert compiled.misses == 1 and len(one.trial.plan_ns) >= 5 and len(one.trial.numpy_ns) >= 4


@pytest.mark.parametrize("strict", [True, False])
def test_no_call_is_compiled_codes_where_looking_takes_longer_than_numpy(monkeypatch, strict):
    monkeypatch.setattr(specializing, "looking_ns", lambda _: 10**9)
    compiled, plans = tilewright.jit(says, strict=strict), []
    monkeypatch.setattr("tilewright.effects.begin", lambda: plans.append(1))
    del SAID[:]
    for k in range(6):
        assert repr(compiled(X + k)) == repr(says(X + k))
    assert len(SAID) == 12 and not plans and compiled.misses <= 2
    assert "looking at what its calls change 1 s" in compiled.explain(source=False)


def test_short_calls_are_not_looked_into_while_they_are_tried(monkeypatch):
    monkeypatch.setattr(specializing, "looking_ns", lambda _: 150_000)
    monkeypatch.setattr(Trial, "is_over", False)
    monkeypatch.setattr(Trial, "is_lost_by_looking", False)
    monkeypatch.setattr(JitFunction, "_loses_to_watched", lambda *_: False)
    monkeypatch.setattr(InnerCalls, "__call__", lambda *_: pytest.fail("it was looked into"))
    compiled = tilewright.jit(says, strict=True)
    for k in range(8):
        assert repr(compiled(X + k)) == repr(says(X + k))
    (one,) = compiled.specializations
    assert one.trial.plan_ns or one.trial.settling


def test_calls_that_lost_the_processor_say_nothing_where_they_were_slow(monkeypatch):
    lost = iter(range(10**6))
    monkeypatch.setattr(tried_calls, "lost_processors", lambda: next(lost))
    monkeypatch.setattr(Trial, "is_far_slower", lambda *_: True)
    monkeypatch.setattr(JitFunction, "_loses_to_watched", lambda *_: True)
    compiled = tilewright.jit(says, strict=True)
    for _ in range(9):
        compiled(X)
    (one,) = compiled.specializations
    assert one.versions and one.trial.plan_ns == [] and one.settling in {7, 8}
    for _ in range(40):  # it is always so
        compiled(X)
    assert one.trial is None and not one.versions


def test_what_a_call_raises_in_a_trial_is_raised_once_and_the_trial_goes_on(monkeypatch):
    monkeypatch.setattr(Trial, "is_over", False)
    monkeypatch.setattr(specializing, "looking_ns", lambda _: 0)
    compiled = tilewright.jit(says, strict=True)
    for k in range(10):
        del SAID[:]
        if k in {3, 4, 7}:
            with pytest.raises(ValueError, match="too large"):
                compiled(X + 200)
        else:
            assert repr(compiled(X)) == repr(says(X))
            SAID.pop()
        assert len(SAID) == 1
    (one,) = compiled.specializations
    assert len(one.trial.numpy_ns) >= 3


def test_calls_of_other_kinds_are_served_while_one_is_tried(monkeypatch):
    monkeypatch.setattr(Trial, "is_over", False)
    compiled = tilewright.jit(says, strict=True)
    for k in range(8):
        for x in (X, X[:7], X.astype(np.float32), X[::-1], X[:1], np.arange(5)):
            assert repr(compiled(x)) == repr(says(x)), k
    with pytest.raises(TypeError):
        compiled(None)
    with pytest.raises(IndexError):
        compiled(X[:0])


@pytest.mark.parametrize("loses", [True, False])
def test_the_end_of_a_trial_is_known_in_c(monkeypatch, loses):
    monkeypatch.setattr(Trial, "why_numpy", property(lambda _: "it is slow" if loses else ""))
    compiled = tilewright.jit(says, strict=True)
    for _ in range(40):
        compiled(X)
    (one,) = compiled.specializations
    assert one.trial is None and bool(one.versions) != loses
    misses = compiled.misses
    for _ in range(5):
        assert repr(compiled(X)) == repr(says(X))
    assert compiled.misses == misses


def drained(queue, x):
    y = np.cos(x)
    said = []
    while queue:
        said.append(say(x)["last"] + queue.pop())
    return y, said


def test_a_call_that_empties_its_arguments_says_nothing_of_later_ones():
    compiled = tilewright.jit(drained)
    for _ in range(6):
        queues = [1, 2, 3], [1, 2, 3]
        assert repr(compiled(queues[0], X)) == repr(drained(queues[1], X))
        assert queues[0] == queues[1] == []


def grown(x, out):
    say(x)
    out += x
    return out.sum() + np.sqrt(np.abs(x)).sum()


def test_what_a_call_writes_is_written_once():
    compiled = tilewright.jit(grown, strict=True)
    ours, theirs = np.zeros(40), np.zeros(40)
    for _ in range(20):
        np.testing.assert_allclose(compiled(X, ours), grown(X, theirs), rtol=1e-13)
        np.testing.assert_array_equal(ours, theirs)


FROZEN = []


def are_frozen():
    return gc.get_freeze_count() > held_elsewhere._FROZEN_BY_PYTHON


def looked_at(x, fails):
    FROZEN.append(are_frozen())
    if fails:
        raise KeyError(fails)
    return {"one": x + 1}


def test_garbage_of_before_is_left_alone_while_a_call_is_watched():
    def first(x, fails):
        found = looked_at(x, fails)
        return np.sqrt(np.abs(x)) * found["one"]

    del FROZEN[:]
    tilewright.jit(first, strict=True)(X, 0)
    assert FROZEN == [True] and not are_frozen()

    def second(x, fails):
        found = looked_at(x, fails)
        return np.sqrt(np.abs(x)) / found["one"]

    with pytest.raises(KeyError):
        tilewright.jit(second, strict=True)(X, 1)
    assert FROZEN == [True, True] and not are_frozen()

    def third(x, fails):
        found = looked_at(x, fails)
        return np.sqrt(np.abs(x)) - found["one"]

    gc.freeze()  # as servers do before they fork
    try:
        before = gc.get_freeze_count()
        tilewright.jit(third, strict=True)(X, 0)
        assert gc.get_freeze_count() >= before - 100
    finally:
        gc.unfreeze()


def test_what_is_tried_is_freed():
    compiled = tilewright.jit(says, strict=True)
    x = X.copy()
    for _ in range(4):
        compiled(x)
    gc.collect()
    assert not [one for one in gc.get_referrers(x) if isinstance(one, tuple) and len(one) == 1]


def added(x, y):
    return x + y


def test_very_short_calls_are_compared_without_the_clock_in_them(monkeypatch):
    looks, calls, seen = [], [], []

    class Clock:
        """A call takes 5 us, the clock itself 50 ns."""

        def perf_counter_ns(self):
            looks.append(0)
            return 5000 * len(calls) + 50 * len(looks)

    def of_loops(compiled, numpy, call, count):
        monkeypatch.setattr(comparison, "time", Clock())
        counted = [lambda *args, one=one: (calls.append(0), one(*args))[1] for one in (compiled, numpy)]
        seen.append((count, best_of_loops(*counted, call, count)))
        return seen[-1][1]

    best_of_loops = comparison._best_of_loops
    monkeypatch.setattr(comparison, "_best_of_loops", of_loops)
    monkeypatch.setattr(comparison, "_time", lambda function, call, _: (function(call), 1000)[1])
    tilewright.jit(added)(X[:8], X[:8])
    ((count, times),) = seen
    assert len(looks) == 4 * 12 and len(calls) == 2 * 12 * count and count == 40
    assert times == comparison.Times(5001, 5001)


def test_both_sides_of_short_calls_run_in_turn():
    """Another process beside one side alone would decide."""
    ran = []
    ours, theirs = lambda: ran.append("compiled") or 300_000, lambda: ran.append("numpy") or 200_000
    times = comparison._best_in_turn(ours, theirs, 6_000_000, 10**9)
    assert ran[:4] == ["compiled", "numpy"] * 2 and len(ran) == 24 and times.loses
    del ran[:]
    times = comparison._best_in_turn(lambda: ran.append(0) or 1000, lambda: 10**9, 6_000_000, 10**9)
    assert len(ran) == 2 and not times.loses


@pytest.mark.parametrize("is_disturbed", [False, True])
def test_a_loss_while_others_took_the_processor_is_measured_again(monkeypatch, is_disturbed):
    """Code of several threads waits for a thread whose processor another process has: its calls are long one after the other."""
    lost, ran = iter(range(100)), []
    monkeypatch.setattr(comparison, "lost_processors", lambda: next(lost) if is_disturbed else 0)
    times = comparison._best_undisturbed(
        lambda: ran.append(0) or (3_000_000 if len(ran) < 10 else 150_000), lambda: 600_000, 3_000_000
    )
    assert times.loses is not is_disturbed


def added_in_place(x, y):
    x += y
    return x


def test_calls_that_write_are_compared_one_by_one(monkeypatch):
    monkeypatch.setattr(comparison, "_best_of_loops", lambda *_: pytest.fail("x would be added to many times"))
    x = X[:8].copy()
    assert tilewright.jit(added_in_place)(x, X[:8]) is x
    np.testing.assert_array_equal(x, X[:8] * 2)


def test_what_is_left_to_numpy_loses_by_more_than_telling_calls_apart_takes():
    assert not comparison.Times(1020, 1000).loses
    assert comparison.Times(1060, 1000).loses
    assert not comparison.Times(104_000_000, 100_000_000).loses


def counted(x):
    SAID.append(0)
    return [x[0] * 2]


def ends(x):
    first = counted(x)
    y = np.sqrt(np.abs(x)) + first[0]
    second = counted(y)
    return y * second[0]


def test_no_trace_is_made_twice_where_a_call_has_shown_too_little(monkeypatch):
    done = []
    for name in ("_new_specialization", "_in_watched"):
        run = getattr(tilewright.decorator.JitFunction, name)
        counting = lambda self, *args, run=run, name=name: done.append(name) or run(self, *args)  # noqa: E731
        monkeypatch.setattr(tilewright.decorator.JitFunction, name, counting)
    compiled = tilewright.jit(ends, strict=True)
    for _ in range(12):
        assert repr(compiled(X)) == repr(ends(X))
    assert done.count("_new_specialization") == 1 + done.count("_in_watched") > 1
