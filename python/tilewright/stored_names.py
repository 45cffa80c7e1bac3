"""The functions that a store has schedules of, kept beside the caches: to ask the store takes the compiler's library."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from . import settings


def mark_of_store(path: str | os.PathLike[str]) -> list[list[int]]:
    """Other where something was written into it; [] where there is no store."""
    states = []
    with suppress(OSError):
        for end in ("", "-wal"):
            state = os.stat(f"{os.fspath(path)}{end}")
            states.append([state.st_ino, state.st_size, state.st_mtime_ns])
    return states


def known_names(store: Path, read: Callable[[], list[str]]) -> list[str]:
    """What `read` gives of a store, or has given while that was as it is."""
    mark = [str(store), mark_of_store(store)]
    folder = settings.cache_folder() if settings.cache_enabled() else None
    file = None if folder is None else folder / "stored_names.json"
    with suppress(OSError, ValueError, TypeError, KeyError):
        kept = json.loads(file.read_bytes())  # type: ignore[union-attr]
        if kept["of"] == mark and all(isinstance(name, str) for name in kept["names"]):
            return list(kept["names"])
    names = read()
    if file is not None and mark[1] == mark_of_store(store):  # nobody has written meanwhile
        with suppress(OSError):
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            written = file.with_name(f"{file.name}.{os.getpid()}")
            written.write_text(json.dumps({"of": mark, "names": names}), encoding="utf-8")
            os.replace(written, file)
    return names
