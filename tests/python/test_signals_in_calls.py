"""What a handler of signals raises in a call reaches the script, whatever of ours it interrupts: a comparison, a trace, a stage."""

import signal
import time

import numpy as np
import pytest
import tilewright
from tilewright import comparison
from tilewright.failed_traces import is_of_a_handler

pytestmark = [pytest.mark.compile, pytest.mark.numpy_may_win]


class LimitError(Exception):
    pass


def limit(number, frame):
    raise LimitError


@pytest.fixture
def handled():
    before = signal.signal(signal.SIGALRM, limit)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def rooted(x):
    for _ in range(400):
        x = np.sqrt(x * x + 0.1)
    return x


def slept(x):
    y = x * 2
    time.sleep(5)
    return y + 1


def test_a_comparison_hides_none(handled, monkeypatch):
    def interrupted(*_):
        signal.raise_signal(signal.SIGALRM)

    monkeypatch.setattr(comparison, "_compare_each", interrupted)
    compiled, x = tilewright.jit(rooted), np.linspace(0, 1, 20000)
    with pytest.raises(LimitError):
        compiled(x)
    monkeypatch.undo()
    np.testing.assert_allclose(compiled(x), rooted(x))


def test_a_stage_or_a_trace_hides_none(handled):
    compiled = tilewright.jit(slept)
    for _ in range(2):
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        began = time.monotonic()
        with pytest.raises(LimitError):
            compiled(np.arange(3.0))
        assert time.monotonic() - began < 4


def test_methods_and_objects_are_handlers_too(handled):
    class Handler:
        def __call__(self, number, frame):
            raise LimitError

        def method(self, number, frame):
            raise LimitError

    for one in (Handler(), Handler().method, limit):
        signal.signal(signal.SIGALRM, one)
        with pytest.raises(LimitError) as caught:
            signal.raise_signal(signal.SIGALRM)
        assert is_of_a_handler(caught.value)
    with pytest.raises(LimitError) as caught:
        raise LimitError
    assert not is_of_a_handler(caught.value)


class Armed:
    is_armed = False
    log: list[int] = []  # noqa: RUF012


def rings(k):
    Armed.log.append(k)
    if Armed.is_armed:
        signal.raise_signal(signal.SIGALRM)
    return k + 1


def sorted_between(x, scale):
    y = np.sort(x * 0.5 * scale)
    k = rings(len(Armed.log))
    return np.sort(y + k) * scale


class Kept:
    def __init__(self):
        self.u, self.steps = np.linspace(0, 1, 4000), 0

    def step(self, scale):
        self.steps += 1
        self.u = np.sort(self.u * scale)
        rings(self.steps)
        self.u = self.u + np.float64(scale)


@pytest.mark.parametrize("scale", [2.0, np.float32(2)])  # which C finds the program for, and Python
def test_stages_between_kernels_hide_none(handled, scale):
    compiled, x = tilewright.jit(sorted_between), np.linspace(0, 9, 5000)
    for is_armed in (False, False, False, True, True, False, True, False):
        said = []
        for function in (compiled, sorted_between):
            Armed.log, Armed.is_armed = [7], is_armed
            try:
                said.append((function(x, scale).tolist(), Armed.log))
            except LimitError:
                said.append(("raised", Armed.log))
        assert said[0] == said[1] and (said[0][0] == "raised") == is_armed
    assert compiled.specializations[0].versions


@pytest.mark.parametrize("scale", [2.0, np.float32(2)])
def test_methods_that_set_attributes_hide_none(handled, scale):
    step, ours, theirs = tilewright.jit(Kept.step), Kept(), Kept()
    for is_armed in (False, False, False, False, True, False):
        Armed.is_armed, logs = is_armed, []
        for one, function in ((ours, step), (theirs, Kept.step)):
            Armed.log = []
            if is_armed:
                with pytest.raises(LimitError):
                    function(one, scale)
            else:
                function(one, scale)
            logs.append(Armed.log)
        assert logs[0] == logs[1]
        if is_armed:  # what a call that was ended has set, nobody knows
            ours.u, ours.steps = theirs.u.copy(), theirs.steps
        assert ours.steps == theirs.steps
        np.testing.assert_array_equal(ours.u, theirs.u)
