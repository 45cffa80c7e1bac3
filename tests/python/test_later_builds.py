"""Programs that leave statements to Python are built in another thread, if that takes long: Python runs the calls meanwhile."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
import tilewright
from tilewright import builder, later_builds, left_builds, serving
from tilewright.errors import InternalError
from tilewright.interpret import inner_calls, tried_functions
from tilewright.serving import Serving

pytestmark = pytest.mark.compile


@pytest.fixture
def held_back(monkeypatch, tmp_path):
    """Builds go on once this is set, in threads that no call waits for."""
    monkeypatch.setenv("TILEWRIGHT_CACHE", "off")
    monkeypatch.setattr(later_builds, "MOST_WAITING_S", 0.0)
    monkeypatch.setattr(later_builds, "_begun", {})
    goes_on, compile_now = threading.Event(), builder.compile_now

    def late(*args):
        assert goes_on.wait(60)
        return compile_now(*args)

    monkeypatch.setattr(builder, "compile_now", late)
    yield goes_on
    goes_on.set()
    for later in later_builds._begun.values():
        later.join()


def told(heard):
    def total(x):
        seen = {}
        for k in range(3):
            seen[k] = k
        heard.append(len(seen))
        return (x * 2).sum() + len(seen)

    return total


def test_python_runs_calls_while_another_thread_builds(held_back):
    heard, x = [], np.arange(5.0)
    compiled = tilewright.jit(told(heard), strict=True)
    for calls in range(1, 6):
        assert compiled(x) == 23.0
        assert heard == [3] * calls  # each call does once what it does
    (specialization,) = compiled.specializations
    assert not specialization.versions
    assert "one is being built, Python runs such calls meanwhile" in compiled.explain(source=False)
    held_back.set()
    for later in [*later_builds._begun.values()]:
        later.join()
    assert compiled(x) == 23.0
    assert specialization.versions
    assert "is being built" not in compiled.explain(source=False)
    assert heard == [3] * 6


def test_such_calls_cost_next_to_nothing_meanwhile(held_back, monkeypatch):
    came = []
    bind = Serving._bind
    monkeypatch.setattr(Serving, "_bind", lambda self, *args: came.append(args) or bind(self, *args))
    compiled = tilewright.jit(told([]), strict=True)
    for _ in range(4):
        compiled(np.arange(5.0))
    came.clear()
    for _ in range(20):
        assert compiled(np.arange(5.0)) == 23.0
    assert not came
    assert compiled(np.arange(6.0)) == 33.0  # is none of them
    assert len(came) == 1
    held_back.set()
    for later in [*later_builds._begun.values()]:
        later.join()
    assert compiled(np.arange(5.0)) == 23.0
    assert len(came) > 1 and compiled.specializations[0].versions


def test_who_asks_for_the_program_waits_for_it(held_back):
    x = np.arange(5.0)
    compiled = tilewright.jit(told([]), strict=True)
    for _ in range(4):
        compiled(x)
    held_back.set()
    assert compiled.for_args(x).versions


def test_what_ends_a_build_is_raised_at_a_call(held_back, monkeypatch):
    def fails(*_):
        raise InternalError("it does not build")

    monkeypatch.setattr(builder, "compile_now", fails)
    compiled, x = tilewright.jit(told([]), strict=True), np.arange(5.0)
    with pytest.raises(InternalError, match="it does not build"):
        for _ in range(6):
            compiled(x)
            for later in later_builds._begun.values():
                later.join()


def test_programs_of_kernels_alone_are_there_at_once(held_back):
    held_back.set()
    compiled = tilewright.jit(lambda x: x * 2 + 1, strict=True)
    np.testing.assert_array_equal(compiled(np.arange(4)), [1, 3, 5, 7])
    assert compiled.specializations[0].versions


def test_a_build_whose_thread_a_fork_left_behind_is_made_anew():
    later = later_builds._Later(lambda: None, is_waited_for=True)
    later_builds._begun["a key"] = later
    later.start()
    later.join()  # without a build, as in a child of a fork
    assert later_builds.is_done("a key", lambda: None, later_builds.PATIENCE_S)
    assert not later_builds.when_over("a key", list)
    assert later_builds.taken("a key") is None
    assert later_builds.taken("a key") is None
    assert not later_builds.when_over("a key", list)


def test_inner_functions_are_pythons_while_another_thread_builds_them(held_back, monkeypatch):
    """Such calls say nothing of compiled code, however many they are."""
    monkeypatch.setattr(tried_functions, "_WORTH_S", 1e-5)
    monkeypatch.setattr(tried_functions, "_EARLY_WORTH_S", 1e-5)
    monkeypatch.setattr(tried_functions, "_CALL_S", 0.0)
    inner = inner_calls.inner_calls_of(around)
    x = np.arange(8.0)
    for _ in range(5):
        assert inner(x, 30) == around(x, 30)
    (loop,) = inner._loops.values()  # which is Python's, and calls what may be compiled
    known = loop.cell.cell_contents._inner["wave"]
    assert known.compiled is not None
    assert not known.is_given_up
    assert known.compiled.waits
    held_back.set()
    for _ in range(2):  # the loop's own build comes first
        for later in [*later_builds._begun.values()]:
            later.join()
        assert inner(x, 30) == around(x, 30)
    assert not known.compiled.waits
    assert known.compiled.specializations[0].versions


def wave(x, k):
    return (x * k + x * x).sum()


def around(x, count):
    heights = {}
    for k in range(count):
        heights[k] = float(wave(x, k))
    return heights


def test_what_is_being_built_is_finished_by_another_process(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(later_builds, "_begun", {})
    held = threading.Event()
    monkeypatch.setattr(builder, "_built", lambda *_, **__: held.wait(60))
    compiled = tilewright.jit(lambda x: x * 7 + 5, background=True)
    try:
        np.testing.assert_array_equal(compiled(np.arange(4)), [5, 12, 19, 26])  # NumPy's, for nothing is built
        assert left_builds.hand_over()
        (request,) = later_builds.going_on()
        until = time.monotonic() + 60
        while not (built := list(tmp_path.rglob(request.key()))) and time.monotonic() < until:
            time.sleep(0.05)
        assert built
    finally:
        held.set()
    for later in later_builds._begun.values():
        later.join()
    assert not left_builds.hand_over()


def test_what_compares_a_version_is_imported_while_it_is_built(monkeypatch, held_back):
    imported = threading.Event()
    monkeypatch.setattr(serving, "_import_what_compares", imported.set)
    compiled = tilewright.jit(lambda x: x * 3 + 7, background=True)
    np.testing.assert_array_equal(compiled(np.arange(4)), [7, 10, 13, 16])  # NumPy's
    assert not imported.is_set()
    held_back.set()
    assert imported.wait(60)
