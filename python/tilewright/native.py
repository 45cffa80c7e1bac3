"""The way to the compiler: `_native` (with libHalide) is loaded at the first compile, not at import."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from .errors import InternalError

_module: Any = None


def compiler() -> Any:
    """The bindings of translator, dsl and autotune. Loads libHalide the first time (some 100 ms)."""
    global _module
    if _module is None:
        try:
            _module = importlib.import_module("tilewright._native")
        except ImportError as error:
            raise InternalError(
                f"tilewright: the compiler does not load ({error}). Reinstall tilewright; `autotune doctor` says what is missing."
            ) from error
    return _module


def worker_path() -> Path:
    """The program that builds and runs candidates of a search."""
    here = Path(__file__).resolve().parent
    for candidate in (here / "tilewright-worker", here / "bin" / "tilewright-worker"):
        if candidate.is_file():
            return candidate
    # An editable build keeps compiled files beside the extension modules.
    beside = Path(compiler().__file__).resolve().parent / "tilewright-worker"
    if beside.is_file():
        return beside
    raise InternalError(f"tilewright: tilewright-worker is not in {here}. Reinstall tilewright.")
