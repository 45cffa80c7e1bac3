"""Folders for files that are gone after a run, also after a run that was killed.

A folder of ours holds a lock as long as its process lives: the next run removes those that nobody holds. Not done here:
what lies in them.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

OWNER_FILE = ".tilewright-owner"  # in every such folder; its text is the owner's process id


@contextmanager
def work_folder(prefix: str, base: Path, *, keep: bool = False) -> Iterator[Path]:
    """A new folder `prefix…` in `base`, which is removed in the end (with `keep` only after an exception; the lock is gone
    in any case). What killed processes left there under such a name goes first. Raises OSError."""
    remove_left_behind(prefix, base)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=base))
    lock = folder / OWNER_FILE
    try:
        # Not inherited over exec, so that no worker holds it longer than we live.
        with open(lock, "w", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(str(os.getpid()))
            file.flush()
            yield folder
            if keep:
                lock.unlink()
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    if not keep:
        shutil.rmtree(folder, ignore_errors=True)


def remove_left_behind(prefix: str, base: Path) -> None:
    """Remove folders of ours under such a name whose process is dead: its id is nobody's, and its lock is free."""
    with suppress(OSError):
        for folder in [p for p in base.iterdir() if p.name.startswith(prefix)]:
            with suppress(OSError, ValueError):
                if _is_left_behind(folder):
                    shutil.rmtree(folder, ignore_errors=True)


def _is_left_behind(folder: Path) -> bool:
    descriptor = os.open(folder / OWNER_FILE, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "r+", encoding="utf-8") as file:
        if folder.is_symlink() or folder.stat().st_uid != os.getuid() or os.fstat(descriptor).st_uid != os.getuid():
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        # Some file systems lock nothing: then the process tells. One that has just made the folder has no id in it yet.
        return not Path("/proc", str(int(file.read()))).exists()
