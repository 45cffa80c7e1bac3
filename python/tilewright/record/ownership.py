"""Whose a file is: the user's (the script, its packages, editable installs too), or a library's."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
import types
from contextlib import suppress
from pathlib import Path

_INSTALLED = {"site-packages", "dist-packages"}
_OURS = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
# What has no file: the user's own exec(), inputs of Python and of IPython.
_INPUTS = ("<string>", "<stdin>", "<python-input-", "<ipython-input-")


class Users:
    """What belongs to the user of one script. Files are compared as they are on disk, behind links and `..`."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = os.path.realpath(folder)
        self._known: dict[str, bool] = {}
        self._types: dict[type, bool] = {}
        _standard_library()  # sysconfig imports: while another import asks whose its file is, it would ask again

    def has_file(self, filename: str) -> bool:
        """Whether a file is the user's: no part of Python, of an installed package, or of tilewright."""
        if filename not in self._known:
            self._known[filename] = self._looked_up(filename)
        return self._known[filename]

    def has_type(self, cls: type) -> bool:
        """Whether a class is defined in a file of the user's."""
        if cls not in self._types:
            module = sys.modules.get(cls.__module__)
            self._types[cls] = module is not None and self.has_module(module)
        return self._types[cls]

    def has_module(self, module: types.ModuleType) -> bool:
        file = getattr(module, "__file__", None)
        if not isinstance(file, str):
            return module.__name__ == "__main__"  # of a session
        return self.has_file(file)

    def _looked_up(self, filename: str) -> bool:
        if filename.startswith("<"):
            return filename.startswith(_INPUTS)
        if not os.path.isabs(filename):
            return False
        file = _real(filename)
        if _is_in(file, _OURS) or not _INSTALLED.isdisjoint(file.split(os.sep)):
            return False
        if _is_in(file, self._folder):
            return True
        return not any(_is_in(file, folder) for folder in _standard_library()) and not any(
            _is_in(file, folder) for folder in _install_targets()
        )


def _is_in(file: str, folder: str) -> bool:
    return file.startswith(folder if folder.endswith(os.sep) else folder + os.sep)


def _real(file: str) -> str:
    """Behind all links. A script imports hundreds of files of a few folders, each of which is asked for once."""
    if os.path.islink(file):
        return os.path.realpath(file)
    folder, name = os.path.split(file)
    return os.path.join(_real_folder(folder), name)


@functools.lru_cache(maxsize=4096)
def _real_folder(folder: str) -> str:
    return os.path.realpath(folder)


@functools.cache
def _standard_library() -> tuple[str, ...]:
    return tuple({os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")})


def _install_targets() -> list[str]:
    """Folders of sys.path that pip installs into (`--target`): what it installs has its *.dist-info beside it."""
    found = []
    for entry in sys.path:
        with suppress(OSError):
            folder = os.path.realpath(entry or ".")
            if _has_installed(folder, os.stat(folder).st_mtime_ns):
                found.append(folder)
    return found


@functools.cache
def _has_installed(folder: str, _: int) -> bool:
    """By when the folder was changed last. OSError for what is no folder."""
    return any(name.endswith(".dist-info") for name in os.listdir(folder))
