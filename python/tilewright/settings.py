"""What the environment says: switches and folders. Read at each use, so that tests and notebooks may change them."""

from __future__ import annotations

import os
from pathlib import Path

DEFAULT_CACHE_LIMIT_BYTES = 512 << 20


def disabled() -> bool:
    """TILEWRIGHT_DISABLE=1: every jitted function runs as plain NumPy."""
    return _on("TILEWRIGHT_DISABLE")


def cache_enabled() -> bool:
    """TILEWRIGHT_CACHE=off keeps objects in memory only."""
    return os.environ.get("TILEWRIGHT_CACHE", "").lower() not in ("off", "0", "no")


def cache_problem() -> str:
    """What is wrong with TILEWRIGHT_CACHE: a folder in it would be taken for "on"."""
    given = os.environ.get("TILEWRIGHT_CACHE", "")
    if given.lower() in ("", "off", "0", "no", "on", "1", "yes"):
        return ""
    return (
        f"TILEWRIGHT_CACHE is {given!r}, which is neither on nor off: it stays on. XDG_CACHE_HOME names another folder"
    )


def cache_limit_bytes() -> int:
    """TILEWRIGHT_CACHE_MB, for people with small disks."""
    try:
        return int(os.environ["TILEWRIGHT_CACHE_MB"]) << 20
    except (KeyError, ValueError):
        return DEFAULT_CACHE_LIMIT_BYTES


def cache_folder() -> Path | None:
    """$XDG_CACHE_HOME/tilewright; None where there is no home."""
    return _xdg("XDG_CACHE_HOME", ".cache")


def store_path(given: str | os.PathLike[str] | None = None) -> Path | None:
    """`given`, else TILEWRIGHT_DB, else $XDG_DATA_HOME/tilewright/tilewright.db; None where there is no home."""
    chosen = given or os.environ.get("TILEWRIGHT_DB")
    if chosen:
        return Path(chosen).expanduser().absolute()
    folder = _xdg("XDG_DATA_HOME", ".local/share")
    return None if folder is None else folder / "tilewright.db"


def _xdg(variable: str, below_home: str) -> Path | None:
    base = os.environ.get(variable)
    if base and os.path.isabs(base):  # the XDG specification: relative paths are ignored
        return Path(base) / "tilewright"
    try:
        home = Path.home()
    except RuntimeError:
        return None
    return home / below_home / "tilewright" if home.is_dir() else None


def _on(variable: str) -> bool:
    return os.environ.get(variable, "").lower() not in ("", "0", "off", "no")
