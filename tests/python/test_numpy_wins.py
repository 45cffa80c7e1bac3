"""Which calls stay with NumPy because it was measured to be faster; what is measured is given."""

import sys

import numpy as np
import pytest
import tilewright
from tilewright import decorator

pytestmark = pytest.mark.numpy_may_win
US = 1000


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


class Measured:
    """What the measurement finds, and how often it looks."""

    def __init__(self, monkeypatch, compiled_ns, numpy_ns):
        self.looks = 0
        self.times_ns = compiled_ns, numpy_ns
        monkeypatch.setattr(decorator, "_best_ns", self._best_ns)

    def _best_ns(self, call, limit_ns):
        call()
        self.looks += 1
        return self.times_ns[limit_ns > decorator._SHORT_NS]


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
    assert "NumPy takes 10.0 us, compiled code 50.0 us" in f.explain()
    f(LARGE)  # another version, with a measurement of its own
    assert runs_of_numpy(f, LARGE) == 1 and measured.looks == 4


def test_calls_that_numpy_loses_are_compiled(monkeypatch):
    f, _ = jitted(monkeypatch, 10 * US, 50 * US)
    f(SMALL)
    assert runs_of_numpy(f, SMALL) == 0
    assert "NumPy takes" not in f.explain()


def test_a_little_slower_is_no_loss(monkeypatch):
    f, _ = jitted(monkeypatch, 1000, 900)
    f(SMALL)
    assert runs_of_numpy(f, SMALL) == 0


def test_long_calls_are_not_compared(monkeypatch):
    f, measured = jitted(monkeypatch, 10_000 * US, 10 * US)
    f(LARGE)
    assert measured.looks == 1 and runs_of_numpy(f, LARGE) == 0


def test_large_calls_that_lose_leave_larger_ones_compiled(monkeypatch):
    f, measured = jitted(monkeypatch, 1_000 * US, 10 * US)
    f(LARGE)
    assert runs_of_numpy(f, LARGE) == 1
    assert "NumPy for work below" in f.explain()
    measured.times_ns = 10 * US, 1_000 * US
    larger = np.arange(3_000_000.0)
    f(larger)
    assert runs_of_numpy(f, larger) == 0 and runs_of_numpy(f, LARGE) == 1


def test_what_writes_runs_once(monkeypatch):
    measured = Measured(monkeypatch, 50 * US, 10 * US)

    def scaled(x):
        x *= 2
        return x.sum()

    x = np.ones(10)
    assert tilewright.jit(scaled, strict=True)(x) == 20 and (x == 2).all() and not measured.looks
