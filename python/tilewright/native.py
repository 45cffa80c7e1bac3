"""The way to the compiler: `_native` (with libHalide) is loaded at the first compile, not at import."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
from contextlib import suppress
from pathlib import Path
from typing import Any

from . import __version__, forks
from .errors import InternalError

_BUILD_ID = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0"  # the head of an ELF note; 20 bytes follow
_NOTES_WITHIN = 1 << 16  # of the file: notes stand right behind the headers

_SQLITE = "libsqlite3.so.0"
_CARRIED_SQLITE = Path(__file__).resolve().parent / "lib" / "sqlite" / _SQLITE  # in wheels (.ci/wheel)

_module: Any = None
_loading = forks.Lock()


def compiler() -> Any:
    """The bindings of translator, dsl and autotune. Loads libHalide the first time (some 100 ms)."""
    global _module
    forks.check_compiler()
    if _module is None:
        try:
            with _loading:
                _load_sqlite()
                _module = importlib.import_module("tilewright._native")
        except ImportError as error:
            raise InternalError(
                f"tilewright: the compiler does not load ({error}). Reinstall tilewright; `autotune doctor` says what is missing."
            ) from error
    return _module


def _load_sqlite() -> None:
    """Two copies of SQLite in one process break each other's locks. So `_native` takes the one that Python's sqlite3 uses, else the system's, and only
    where there is neither the one that a wheel carries."""
    with suppress(ImportError):
        import _sqlite3  # noqa: F401, PLC0415  (not every Python has it)
    try:
        ctypes.CDLL(_SQLITE)
    except OSError:
        if _CARRIED_SQLITE.is_file():
            ctypes.CDLL(str(_CARRIED_SQLITE))


def compiler_identity() -> str:
    """Tells one build of the compiler from every other one, without loading it: the linker's digest of it."""
    with suppress(ImportError, OSError):
        spec = importlib.util.find_spec("tilewright._native")
        if spec is not None and spec.origin is not None:
            with open(spec.origin, "rb") as file:
                head = file.read(_NOTES_WITHIN)
            _, found, rest = head.partition(_BUILD_ID)
            if found and len(rest) >= 20:
                return f"{__version__} {rest[:20].hex()}"
            state = Path(spec.origin).stat()  # linked by somebody who leaves the note out
            return f"{__version__} {state.st_size} {state.st_mtime_ns}"
    return __version__


def worker_path() -> Path:
    """The program that builds and runs candidates of a search."""
    here = Path(__file__).resolve().parent
    worker = here / "tilewright-worker"
    if not worker.is_file():  # an editable build keeps compiled files beside the extension modules
        worker = Path(compiler().__file__).resolve().parent / "tilewright-worker"
    if not worker.is_file():
        raise InternalError(f"tilewright: tilewright-worker is not in {here}. Reinstall tilewright.")
    return worker
