"""What the environment says: switches and folders. Read at each use, so that tests and notebooks may change them."""

from __future__ import annotations

import os
import re
from pathlib import Path

DEFAULT_CACHE_LIMIT_BYTES = 512 << 20

# What each variable of the environment does. python/environment.md has the same table, beside one for tests; presubmit
# compares them with each other and with what the code reads.
VARIABLES = {
    "TILEWRIGHT_DISABLE": "`1`: every jitted function runs as plain NumPy",
    "TILEWRIGHT_LOGS": "`fallback,guards,passes,schedule,loops,asm`, or `all`: what is logged; `passes` logs each pass and the program after it",
    "TILEWRIGHT_PASSES": "`-NAME,-NAME`: passes of the translator to leave out, to find a wrong one",
    "TILEWRIGHT_DB": "the store of tuned schedules, instead of `$XDG_DATA_HOME/tilewright/tilewright.db`",
    "TILEWRIGHT_CACHE": "`off`: compiled objects are kept in memory only, not in `$XDG_CACHE_HOME/tilewright`, and traces and texts nowhere",
    "TILEWRIGHT_CACHE_MB": "maximum size of the cache of objects, and of those of traces and texts, 512 each by default",
    "TILEWRIGHT_NUM_THREADS": "threads of a call; `OMP_NUM_THREADS` applies if it is not set",
    "TILEWRIGHT_POOL": "`own` or `openmp`: the thread pool for parallel loops",
    "TILEWRIGHT_POOL_MB": "memory kept for later results: 64 more than the largest (`0`: none); under `autotune run` for arrays too, an eighth of all or 1024",
    "TILEWRIGHT_ISA": "`x86-64`, `x86-64-v3`: run code for at most this level",
    "TILEWRIGHT_TRACEBACK": "`1`: show the traceback of an internal error of `autotune`",
    "TILEWRIGHT_DEVICE_POOL_MB": "memory of a CUDA device kept for later results, in megabytes or as a share (`10%`); a quarter by default",
    "TILEWRIGHT_CUDA_GRAPHS": "`0`: do not run loops with many launches as CUDA graphs",
    "TILEWRIGHT_CUDA_L2_WINDOW": "`0`: do not hold parts of arrays in a device's L2 cache",
    "TILEWRIGHT_LIBCUDA": "the CUDA driver's library, if it has another name",
    "TILEWRIGHT_LIBCUBLAS": "cuBLAS, if it has another name",
    "TILEWRIGHT_PTXAS": "the ptxas that assembles code in advance",
}

_OFF = ("off", "0", "no")
_SHARE = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?%")
_NUMBERS = ("TILEWRIGHT_CACHE_MB", "TILEWRIGHT_NUM_THREADS", "TILEWRIGHT_POOL_MB", "TILEWRIGHT_DEVICE_POOL_MB")


def problems() -> list[str]:
    """Variables whose values mean nothing: they are as good as not set, and somebody meant something."""
    found = []
    if (given := os.environ.get("TILEWRIGHT_CACHE", "")).lower() not in ("", *_OFF, "on", "1", "yes"):
        found.append(
            f"TILEWRIGHT_CACHE is {given!r}, which is neither on nor off: the cache stays on. XDG_CACHE_HOME names another folder"
        )
    for name in _NUMBERS:
        given = os.environ.get(name, "")
        least = 1 if name == "TILEWRIGHT_NUM_THREADS" else 0
        if name == "TILEWRIGHT_DEVICE_POOL_MB" and _SHARE.fullmatch(given):
            continue
        if given and not (given.isascii() and given.isdigit() and int(given[:9]) >= least):
            found.append(f"{name} is {given!r}, which is not a whole number of at least {least}: it is ignored")
    for name in sorted(os.environ):
        if name.startswith("TILEWRIGHT_") and name not in VARIABLES:
            import difflib  # noqa: PLC0415  (slow to import)

            if meant := difflib.get_close_matches(name, VARIABLES, 1, 0.9):
                found.append(f"{name} is not a variable of tilewright: it has no effect. Is {meant[0]} meant?")
    return found


def disabled() -> bool:
    """TILEWRIGHT_DISABLE=1: every jitted function runs as plain NumPy."""
    return os.environ.get("TILEWRIGHT_DISABLE", "").lower() not in ("", *_OFF)


def cache_enabled() -> bool:
    """TILEWRIGHT_CACHE=off keeps nothing on disk."""
    return os.environ.get("TILEWRIGHT_CACHE", "").lower() not in _OFF


def cache_limit_bytes() -> int:
    """TILEWRIGHT_CACHE_MB, for people with small disks."""
    try:
        return int(os.environ["TILEWRIGHT_CACHE_MB"]) << 20
    except (KeyError, ValueError):
        return DEFAULT_CACHE_LIMIT_BYTES


def cache_folder() -> Path | None:
    """$XDG_CACHE_HOME/tilewright; None where there is no home."""
    return _xdg("XDG_CACHE_HOME", ".cache")


def passes() -> str:
    """TILEWRIGHT_PASSES, which the translator reads: it decides what is compiled."""
    return os.environ.get("TILEWRIGHT_PASSES", "")


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
