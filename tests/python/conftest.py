"""For every test of this folder."""

import contextlib
import math
import shutil
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tilewright
from tilewright import later_builds
from tilewright.decorator import JitFunction

# Ctrl-C is what it is at a terminal, whoever started the tests: a shell's background jobs ignore SIGINT, and so does what they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def compiled_whatever_it_costs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls run in NumPy where it was measured to be faster, and a test of what is compiled would compare NumPy with itself. Those of that choice ask for it:
    `@pytest.mark.numpy_may_win`."""
    if request.node.get_closest_marker("numpy_may_win") is None:
        monkeypatch.setattr(JitFunction, "_loses", lambda *_: False)
        monkeypatch.setattr(JitFunction, "_loses_to_watched", lambda *_: False)
        monkeypatch.setattr(JitFunction, "compares", False)


@pytest.fixture(autouse=True)
def each_call_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test of what is followed would find what another one has kept. Those of traces on disk run processes of their own."""
    monkeypatch.setattr(JitFunction, "keeps_traces", False)


@pytest.fixture(autouse=True)
def builds_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compiled is there at the call that needs it, however slow the machine is."""
    monkeypatch.setattr(later_builds, "PATIENCE_S", math.inf)
    monkeypatch.setattr(later_builds, "MOST_WAITING_S", math.inf)


@pytest.fixture(scope="session")
def measured_store(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], None]:
    """Puts a store at a path that knows the limits of this machine and nothing else: a search in a new one measures them for a second."""
    made = tmp_path_factory.mktemp("measured") / "store.db"
    tilewright.jit(lambda x: x + 1, db=made).tune(np.arange(1000.0), budget=1, trials=1)
    with contextlib.closing(sqlite3.connect(made)) as connection:
        connection.executescript("PRAGMA foreign_keys = ON; DELETE FROM workloads;")

    def put(store: Path) -> None:
        store.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(made, store)

    return put


@pytest.fixture
def data_home(measured_store: Callable[[Path], None], tmp_path: Path) -> Path:
    """An XDG_DATA_HOME with such a store."""
    measured_store(tmp_path / "data" / "tilewright" / "tilewright.db")
    return tmp_path / "data"
