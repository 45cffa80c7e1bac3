"""Compiled objects on disk, so that no process compiles what another one has compiled.

$XDG_CACHE_HOME/tilewright/objects: one file per build, 0700 and owned by us, opened without following links, written
beside and renamed, its SHA-256 checked at each load. A cache that cannot be used costs time and one warning, never a
result. Not done here: deciding what belongs in a key (builder.py).
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from . import settings
from .logs import logger
from .plan import Build, Kernel

_MAGIC = b"tilewright-objects 1\n"
_OPEN = os.O_CLOEXEC | os.O_NOFOLLOW


class ObjectCache:
    """One folder of builds. All methods are safe among processes; none raises for the disk's sake."""

    def __init__(self, folder: Path | None, limit_bytes: int) -> None:
        self._folder = folder
        self._limit_bytes = limit_bytes
        self._warned = False

    def load(self, key: str) -> Build | None:
        """The build under `key`, or None where there is none or it is damaged (which is then removed)."""
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
            build = decode(data)
            if build is None:
                self._warn(f"{key} is damaged and was removed; it is compiled again")
                with suppress(OSError):
                    os.unlink(key, dir_fd=folder)
                return None
            with suppress(OSError):
                os.utime(key, dir_fd=folder, follow_symlinks=False)
            return build

    def store(self, key: str, build: Build) -> None:
        """Keep `build`; the oldest ones leave when the folder grows beyond its limit."""
        with self._open_folder() as folder:
            if folder is None:
                return
            temporary = f"{key}.{os.getpid()}.{os.urandom(4).hex()}.new"
            try:
                descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPEN, 0o600, dir_fd=folder)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(encode(build))
                os.rename(temporary, key, src_dir_fd=folder, dst_dir_fd=folder)
            except OSError as error:
                self._warn(f"cannot be written ({error.strerror or error})")
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                return
            self._shrink(folder)

    @contextmanager
    def building(self, key: str) -> Iterator[None]:
        """One build at a time per key, among all processes of this user."""
        with self._open_folder() as folder:
            lock = -1
            if folder is not None:
                try:
                    lock = os.open(f"{key[:2]}.lock", os.O_RDWR | os.O_CREAT | _OPEN, 0o600, dir_fd=folder)
                    # 256 locks for all keys: a file per key would never go away. Two keys that share
                    # one build one after the other, which is harmless.
                    fcntl.flock(lock, fcntl.LOCK_EX)
                except OSError as error:
                    self._warn(f"cannot be locked ({error.strerror or error})")
            try:
                yield
            finally:
                if lock >= 0:
                    os.close(lock)

    def size_bytes(self) -> int:
        """What the builds take on disk."""
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
            logger.warning("object cache %s: %s. Compiling goes on without it.", self._folder, reason)


def object_cache() -> ObjectCache:
    """The cache that the environment asks for."""
    global _current
    folder = settings.cache_folder() if settings.cache_enabled() else None
    path = None if folder is None else folder / "objects"
    if _current is None or _current[0] != path:
        for problem in settings.problems():
            logger.warning("environment: %s.", problem)
        _current = (path, ObjectCache(path, settings.cache_limit_bytes()))
    return _current[1]


_current: tuple[Path | None, ObjectCache] | None = None


def encode(build: Build) -> bytes:
    """A digest, a line of JSON and the objects one after another."""
    head = {
        "header": build.header,
        "body": build.body,
        "schedule": build.schedule,
        "isa": build.isa,
        "kernels": [{"name": k.name, "bytes": len(k.object), "requires": list(k.requires)} for k in build.kernels],
    }
    rest = json.dumps(head).encode() + b"\n" + b"".join(k.object for k in build.kernels)
    return _MAGIC + hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest


def decode(data: bytes) -> Build | None:
    """None for anything that encode() did not write, byte for byte."""
    start = len(_MAGIC) + 65
    rest = data[start:]
    if not data.startswith(_MAGIC) or data[len(_MAGIC) : start] != hashlib.sha256(rest).hexdigest().encode() + b"\n":
        return None
    line, _, blob = rest.partition(b"\n")
    head = json.loads(line)
    kernels = []
    offset = 0
    for kernel in head["kernels"]:
        end = offset + kernel["bytes"]
        kernels.append(Kernel(kernel["name"], blob[offset:end], tuple(kernel["requires"])))
        offset = end
    return Build(tuple(kernels), head["header"], head["body"], head["schedule"], head["isa"])


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
    with os.fdopen(descriptor, "rb") as file:
        state = os.fstat(descriptor)
        if state.st_uid != os.geteuid() or not stat.S_ISREG(state.st_mode) or state.st_mode & 0o022:
            raise OSError(errno.EPERM, "the file is not ours alone")
        return file.read()


def _entries(folder: int) -> list[tuple[float, int, str]]:
    found = []
    for name in os.listdir(folder):
        if name.endswith(".lock"):
            continue
        with suppress(OSError):
            state = os.stat(name, dir_fd=folder, follow_symlinks=False)
            found.append((state.st_mtime, state.st_size, name))
    return found
