"""The way to the compiler: which SQLite it takes. What a wheel carries is the last choice."""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tilewright.native import worker_path

pytestmark = pytest.mark.fast

# The process says which libsqlite3 it has, or why the compiler does not load. What it carries is its argument.
CODE = """
import sys
from pathlib import Path
import tilewright.native as native
from tilewright.errors import InternalError
native._CARRIED_SQLITE = Path(sys.argv[1])
try:
    native.compiler()
except InternalError as error:
    print(error)
else:
    maps = Path("/proc/self/maps").read_text().splitlines()
    print(*sorted({str(Path(line.split()[-1]).parent) for line in maps if "libsqlite3" in line}))
"""


@pytest.fixture
def unloadable(tmp_path):
    """A folder that hides the system's libsqlite3 from the loader."""
    folder = tmp_path / "hidden"
    folder.mkdir()
    (folder / "libsqlite3.so.0").write_bytes(b"")
    return folder


@pytest.fixture
def carried(tmp_path):
    """A copy where a wheel has its own."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        ctypes.CDLL("libsqlite3.so.0")
        loaded = next(line.split()[-1] for line in maps if "libsqlite3" in line)
    folder = tmp_path / "carried"
    folder.mkdir()
    return Path(shutil.copy(loaded, folder / "libsqlite3.so.0"))


def said(carried, **environment):
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(carried)],
        env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_systems_sqlite_comes_first(carried):
    folder = said(carried)
    assert folder and folder != str(carried.parent)
    assert " " not in folder


def test_a_carried_sqlite_serves_where_there_is_none(carried, unloadable):
    assert said(carried, LD_LIBRARY_PATH=str(unloadable)) == str(carried.parent)


def test_a_worker_needs_none(unloadable):
    done = subprocess.run(
        [worker_path()],
        env={**os.environ, "LD_LIBRARY_PATH": str(unloadable)}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert "libsqlite3" not in done.stderr
    assert done.returncode != 127


def test_without_any_the_compiler_says_what_is_missing(tmp_path, unloadable):
    assert said(tmp_path / "none", LD_LIBRARY_PATH=str(unloadable)) == (
        f"tilewright: the compiler does not load ({unloadable}/libsqlite3.so.0: file too short). "
        "Reinstall tilewright; `autotune doctor` says what is missing."
    )
