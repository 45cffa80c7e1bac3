"""Folders of files that save later processes work.

$XDG_CACHE_HOME/tilewright: a folder per kind, 0700 and owned by us, opened without following links; a file is written beside and
renamed, and its SHA-256 checked at each load. A cache that cannot be used costs time and one warning, never a result. Not done
here: what is kept, and what belongs in its key (cache.py, trace_cache.py, record/kept_texts.py).
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from . import settings
from .logs import logger

# Without waiting for a writer where a pipe lies in the place of a file.
_OPEN = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_MAX_FILE_BYTES = 1 << 30
LOCK_WAIT_S = 30.0  # for another process that builds the same; it may be stopped, or hang


T = TypeVar("T")


class FileCache(Generic[T]):
    """One folder of files. All methods are safe among processes; none raises for the disk's sake."""

    what: ClassVar[str]  # as warnings call it
    redone: ClassVar[str]  # what is done again where a file is damaged, in those words
    going_on: ClassVar[str]  # what goes on where the cache cannot be used

    @staticmethod
    def encoded(value: T) -> bytes:
        raise NotImplementedError

    @staticmethod
    def decoded(data: bytes) -> T | None:
        """None for anything that encoded() did not write, byte for byte."""
        raise NotImplementedError

    def __init__(self, folder: Path | None, limit_bytes: int) -> None:
        self._folder = folder
        self._limit_bytes = limit_bytes
        self._warned = False

    def load(self, key: str) -> T | None:
        """What is under `key`, or None where there is none or it is damaged (which is then removed)."""
        with self._open_folder() as folder:
            if folder is None:
                return None
            try:
                data = _read_own_file(folder, key)
            except FileNotFoundError:
                return None
            except OSError as error:
                self._warn(f"{key} cannot be read ({error.strerror or error})")
                return None
            value = self.decoded(data)
            if value is None:
                self._warn(f"{key} is damaged and was removed; it is {self.redone} again")
                with suppress(OSError):
                    os.unlink(key, dir_fd=folder)
                return None
            with suppress(OSError):
                os.utime(key, dir_fd=folder, follow_symlinks=False)
            return value

    def has(self, key: str) -> bool:
        """Whether there is something under `key`, be it damaged."""
        with self._open_folder() as folder, suppress(OSError):
            return folder is not None and stat.S_ISREG(os.stat(key, dir_fd=folder, follow_symlinks=False).st_mode)
        return False

    def store(self, key: str, value: T) -> bool:
        """Keep `value`, and say whether it is kept; the oldest ones leave when the folder grows beyond its limit."""
        with self._open_folder() as folder:
            if folder is None:
                return False
            temporary = f"{key}.{os.getpid()}.{os.urandom(4).hex()}.new"
            try:
                descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPEN, 0o600, dir_fd=folder)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(self.encoded(value))
                os.rename(temporary, key, src_dir_fd=folder, dst_dir_fd=folder)
            except OSError as error:
                self._warn(f"cannot be written ({error.strerror or error})")
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                return False
            self._shrink(folder)
            return True

    @contextmanager
    def building(self, key: str) -> Iterator[None]:
        """One process of this user at a time per key, as long as each gets on with what it builds, or changes."""
        with self._open_folder() as folder:
            lock = None
            if folder is not None:
                # 256 locks for all keys: a file per key would never go away. Two keys that share
                # one wait for each other, which is harmless.
                name = f"{key[:2]}.lock"
                try:
                    lock = _Lock(folder, name)
                    if not lock.take(LOCK_WAIT_S):
                        logger.warning(
                            "%s cache %s: another process has held %s for %.0f s. %s goes on beside it.",
                            self.what, self._folder, name, LOCK_WAIT_S, self.going_on,
                        )  # fmt: skip
                except OSError as error:
                    self._warn(f"cannot be locked ({error.strerror or error})")
            try:
                yield
            finally:
                if lock is not None:
                    lock.give_back()

    def size_bytes(self) -> int:
        """What its files take on disk."""
        with self._open_folder() as folder:
            return 0 if folder is None else sum(size for _, size, _ in _entries(folder))

    @contextmanager
    def _open_folder(self) -> Iterator[int | None]:
        descriptor = None
        if self._folder is not None:
            try:
                descriptor = _own_folder(self._folder)
            except OSError as error:
                self._warn(error.strerror or str(error))
        try:
            yield descriptor
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def _shrink(self, folder: int) -> None:
        entries = sorted(_entries(folder))
        total = sum(size for _, size, _ in entries)
        for _, size, name in entries:
            if total <= self._limit_bytes:
                return
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
            total -= size

    def _warn(self, reason: str) -> None:
        if not self._warned:
            self._warned = True
            logger.warning("%s cache %s: %s. %s goes on without it.", self.what, self._folder, reason, self.going_on)


def folder_of(name: str) -> Path | None:
    """Where files of one kind are kept; None where the environment wants none, or there is no home."""
    folder = settings.cache_folder() if settings.cache_enabled() else None
    return None if folder is None else folder / name


@lru_cache(maxsize=1)
def state_of_sources() -> str:
    """What follows functions and texts: this tilewright, down to its files' times (it may be worked on), with this Python."""
    files = sorted(_sources_in(os.path.dirname(__file__)))
    return f"{sys.version} {hashlib.sha256(repr(files).encode()).hexdigest()}"


def _sources_in(folder: str) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for one in entries:
            if one.name.endswith(".py"):
                state = one.stat()
                yield one.path, state.st_size, state.st_mtime_ns
            elif one.name != "__pycache__" and one.is_dir(follow_symlinks=False):
                yield from _sources_in(one.path)


def sealed(magic: bytes, data: bytes) -> bytes:
    """With what begins its files, and a digest."""
    return magic + hashlib.sha256(data).hexdigest().encode() + b"\n" + data


def unsealed(magic: bytes, data: bytes) -> bytes | None:
    """None for anything that sealed() did not give, byte for byte."""
    start = len(magic) + 65
    rest = data[start:]
    if not data.startswith(magic) or data[len(magic) : start] != hashlib.sha256(rest).hexdigest().encode() + b"\n":
        return None
    return rest


def _own_folder(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _OPEN)
    state = os.fstat(descriptor)
    if state.st_uid != os.geteuid():
        os.close(descriptor)
        raise OSError(errno.EPERM, "the folder belongs to another user")
    if stat.S_IMODE(state.st_mode) & 0o077:
        writable = state.st_mode & 0o022
        if writable:  # what others could write may be theirs: no machine code from there
            os.close(descriptor)
            raise OSError(errno.EPERM, f"others may write to the folder; `chmod 700 {path}` after emptying it")
        os.fchmod(descriptor, 0o700)
    return descriptor


def _read_own_file(folder: int, name: str) -> bytes:
    descriptor = os.open(name, os.O_RDONLY | _OPEN, dir_fd=folder)
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        if state.st_uid != os.geteuid() or state.st_mode & 0o022:
            raise OSError(errno.EPERM, "the file is not ours alone")
        if state.st_size > _MAX_FILE_BYTES:
            raise OSError(errno.EFBIG, f"it has {state.st_size} bytes, and no build has more than {_MAX_FILE_BYTES}")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


class _Lock:
    """A lock file that is open. A child that is forked meanwhile has the descriptor too, and must not keep the lock."""

    _open: ClassVar[set[int]] = set()

    def __init__(self, folder: int, name: str) -> None:
        self._owner = os.getpid()
        self._descriptor = os.open(name, os.O_RDWR | os.O_CREAT | _OPEN, 0o600, dir_fd=folder)
        self._open.add(self._descriptor)
        if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            self.give_back()
            raise OSError(errno.EINVAL, f"{name} is not a regular file")

    def take(self, seconds: float) -> bool:
        """False where another process has it all that time."""
        until = time.monotonic() + seconds
        pause = 0.001
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            if time.monotonic() >= until:
                return False
            time.sleep(pause)
            pause = min(2 * pause, 0.05)

    def give_back(self) -> None:
        """In the process that took it, whoever else has the descriptor."""
        if self._owner != os.getpid() or self._descriptor not in self._open:
            return
        self._open.remove(self._descriptor)
        with suppress(OSError):
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        os.close(self._descriptor)

    @classmethod
    def forget(cls) -> None:
        """In a forked child."""
        for descriptor in cls._open:
            with suppress(OSError):
                os.close(descriptor)
        cls._open.clear()


os.register_at_fork(after_in_child=_Lock.forget)


def _entries(folder: int) -> list[tuple[float, int, str]]:
    found = []
    for name in os.listdir(folder):
        if name.endswith(".lock"):
            continue
        with suppress(OSError):
            state = os.stat(name, dir_fd=folder, follow_symlinks=False)
            found.append((state.st_mtime, state.st_size, name))
    return found
