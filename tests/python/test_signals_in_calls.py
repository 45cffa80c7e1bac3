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
