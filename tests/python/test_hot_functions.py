"""Functions of a script under `autotune run`: Python's, then hot, and given up where that costs more than it may bring."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest
from tilewright import hot_functions, trace_cache
from tilewright.call_keys import call_key
from tilewright.errors import TraceError
from tilewright.hot_functions import HotFunction
from tilewright.serving import Serving
from tilewright.specializing import Specializing
from tilewright.trace_cache import Known

pytestmark = pytest.mark.compile


def is_worth(monkeypatch, ns, call_ns=0):
    for name in ("_WORTH_NS", "_WORTH_APART_NS"):
        monkeypatch.setattr(hot_functions, name, ns)
    monkeypatch.setattr(hot_functions, "_CALL_NS", call_ns)
    monkeypatch.setattr(hot_functions, "is_possible", lambda: False)  # calls are followed here
    monkeypatch.setattr(HotFunction, "keeps_traces", False)


def half(x):
    return x / 2


def test_calls_are_pythons_until_they_have_taken_long(monkeypatch):
    is_worth(monkeypatch, 50_000_000)
    hot = HotFunction(lambda x: time.sleep(0.02) or x / 2, lambda _: True)
    for _ in range(2):
        hot(np.ones(3))
        assert not hot.is_hot
    hot(np.ones(3))
    assert hot.is_hot and hot.python_calls == 3


def test_short_calls_are_left_to_python():
    left = []
    hot = HotFunction(half, lambda one: left.append(one) or True)
    for _ in range(hot_functions._LOOKED):
        assert hot(1.0) == 0.5
    assert left == [hot] and not hot.is_hot


def test_the_outermost_function_is_hot_first(monkeypatch):
    is_worth(monkeypatch, 10_000_000)
    inner = HotFunction(lambda: time.sleep(0.006), lambda _: True)
    outer = HotFunction(lambda: (inner(), inner()), lambda _: True)
    for _ in range(2):
        outer()
    assert outer.is_hot and not inner.is_hot
    monkeypatch.setattr(outer, "is_given_up", True)
    outer()
    assert inner.is_hot


def test_a_function_that_takes_too_long_to_follow_is_pythons(monkeypatch):
    is_worth(monkeypatch, 0)
    missed = []

    def miss(self, args, kwargs):
        missed.append(args)
        self._followed(None, args, kwargs, ())
        return self.__wrapped__(*args, **kwargs)

    monkeypatch.setattr(Serving, "_miss", miss)
    monkeypatch.setattr(Specializing, "_followed", lambda *_: time.sleep(0.02))
    hot = HotFunction(half, lambda _: True)
    for k in range(4):
        np.testing.assert_array_equal(hot(np.full(3, k)), np.full(3, k / 2))
    assert hot.is_given_up and len(missed) == 1


def test_code_that_is_there_and_not_taken_yet_is_no_reason_to_give_up(monkeypatch):
    is_worth(monkeypatch, 0)
    hot = HotFunction(lambda x: x * 3 + 7, lambda _: True)
    x = np.arange(1000.0)
    hot(x)
    assert hot.is_hot
    until = time.monotonic() + 60
    while not any(one.versions for one in hot.specializations) and time.monotonic() < until:
        np.testing.assert_array_equal(hot(x), x * 3 + 7)
        assert not hot.is_given_up or any(one.versions for one in hot.specializations)
        time.sleep(0.02)
    assert any(one.versions for one in hot.specializations)


def test_waiting_for_the_code_is_not_following(monkeypatch):
    is_worth(monkeypatch, 0)
    monkeypatch.setattr(
        Serving, "_miss", lambda self, args, kwargs: time.sleep(0.02) or self.__wrapped__(*args, **kwargs)
    )
    hot = HotFunction(half, lambda _: True)
    for k in range(4):
        np.testing.assert_array_equal(hot(np.full(3, k)), np.full(3, k / 2))
    assert hot.missed_calls == 3 and not hot.is_given_up


class Copy:
    """In place of a copy of the process: it says what a test has it say."""

    said: dict | None = None

    def __init__(self, *_):
        Copy.latest = self

    def is_over(self):
        return self.said is not None

    def is_ours(self):
        return True


def copied(monkeypatch, ns=0):
    is_worth(monkeypatch, ns)
    monkeypatch.setattr(hot_functions, "is_possible", lambda: True)
    monkeypatch.setattr(hot_functions, "has_place", lambda _: True)
    monkeypatch.setattr(hot_functions, "FollowedApart", Copy)
    monkeypatch.setattr(hot_functions, "_ASKING", 1e9)


def test_a_function_that_is_left_to_its_parts_is_measured_as_before_and_compiled_once_it_takes_long_itself(monkeypatch):
    copied(monkeypatch)
    hot = HotFunction(half, lambda _: True)
    hot(np.ones(3))
    assert hot.is_hot
    hot.python_calls, hot.python_ns = 10 * hot_functions._LOOKED, 400_000_000
    monkeypatch.setattr(hot_functions, "_CALL_NS", 5_000)
    monkeypatch.setattr(hot_functions, "_WORTH_NS", 50_000_000)
    monkeypatch.setattr(hot_functions, "_WORTH_APART_NS", 50_000_000)
    Copy.latest.said = {"not_kept": "statements that Python runs"}
    hot(np.ones(3))
    assert not hot.is_hot and hot.python_ns >= 400_000_000  # the table's mean is of all calls
    hot(np.ones(3))
    assert not hot.is_hot and not hot._stays_here
    hot.python_ns += 60_000_000
    hot(np.ones(3))
    assert hot.is_hot


@pytest.mark.parametrize("told", [{"refused": "open() is Python's", "is_not_seen": False}, {}])
def test_what_is_refused_is_the_call_that_was_followed(monkeypatch, told):
    copied(monkeypatch)
    hot = HotFunction(half, lambda _: True)
    hot(np.ones(3))
    Copy.latest.said = told
    hot(1.0)
    assert list(hot._refused) == [call_key((np.ones(3),), {})]


def test_a_process_that_cannot_be_copied_says_nothing_of_it(monkeypatch):
    def fails(*_):
        raise BlockingIOError

    copied(monkeypatch)
    monkeypatch.setattr(hot_functions, "FollowedApart", fails)
    hot = HotFunction(half, lambda _: True)
    for _ in range(3):
        assert hot(1.0) == 0.5


def test_a_function_that_an_earlier_process_gave_up_is_not_followed_again(monkeypatch):
    copied(monkeypatch)
    monkeypatch.setattr(HotFunction, "keeps_traces", True)
    monkeypatch.setattr(HotFunction, "_known_traces", lambda *_: Known([], "open() is Python's", {}, 0.0))
    left = []
    hot = HotFunction(half, lambda one: left.append(one) or True)
    hot(np.ones(3))
    assert left == [hot] and not hot.is_hot and hot._begun_apart == 0


def test_what_the_values_of_a_call_decide_is_kept_of_no_function(monkeypatch):
    error, kept = TraceError("it returns its arguments and computes nothing"), []

    def refuses(*_):
        raise error

    monkeypatch.setattr(HotFunction, "specialize", refuses)
    monkeypatch.setattr(trace_cache, "leave_alone", lambda *given, **_: kept.append(given[-1]))
    hot = HotFunction(half, lambda _: True)
    for error.depends_on_values in (True, False):
        assert hot._followed_there((1.0,), {})["refused"]
    assert len(kept) == 1


@pytest.mark.parametrize(
    ("found", "kept", "served"), [(False, None, True), (True, None, False), (None, object(), True), (None, None, False)]
)
def test_calls_of_other_kinds_do_not_wait_for_a_build(monkeypatch, found, kept, served):
    """The first call may have been the only one of its kind: all others have their code."""
    hot = HotFunction(half, lambda _: True)
    hot.is_hot = True
    building, built = SimpleNamespace(is_being_built=True), SimpleNamespace(is_being_built=False)
    hot._specializations = [building, built]
    monkeypatch.setattr(hot, "_found", lambda *_: None if found is None else (building if found else built, None))
    monkeypatch.setattr(hot, "_kept_trace", lambda *_: kept)
    assert hot._is_served((1.0,), {}) is served


def test_very_short_calls_that_nobody_serves_are_asked_about_now_and_then(monkeypatch):
    asked = []
    monkeypatch.setattr(HotFunction, "_is_served", lambda self, args, kwargs: asked.append(args) and False)
    hot = HotFunction(half, lambda _: False)
    hot(1.0)
    hot.is_hot = True
    for k in range(2000):
        assert hot(float(k)) == k / 2
    assert 0 < len(asked) < 1000
    assert hot.python_calls + len(asked) == 2001, "each is counted once"
    hot.rested_misses = 1
    with pytest.raises(TypeError, match="unsupported operand") as raised:
        hot("x")
    assert [one.name for one in raised.traceback][1:] == ["half"], "the user's frames alone"


def test_long_calls_that_nobody_serves_are_all_asked_about(monkeypatch):
    asked = []
    monkeypatch.setattr(HotFunction, "_is_served", lambda self, args, kwargs: asked.append(args) and False)
    hot = HotFunction(lambda x: time.sleep(0.001) or x, lambda _: False)
    hot(1.0)
    hot.is_hot = True
    for _ in range(5):
        hot(2.0)
    assert len(asked) == 5 and hot.rested_misses == 0
