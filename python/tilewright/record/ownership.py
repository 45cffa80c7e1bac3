"""Whose a file is: the user's (the script, its packages, editable installs too), or a library's."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
import types
from pathlib import Path

_INSTALLED = {"site-packages", "dist-packages"}
_OURS = Path(__file__).resolve().parent.parent
# What has no file: the user's own exec(), inputs of Python and of IPython.
_INPUTS = ("<string>", "<stdin>", "<python-input-", "<ipython-input-")


class Users:
    """What belongs to the user of one script. Files are compared as they are on disk, behind links and `..`."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder).resolve()
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
        path = Path(filename).resolve()
        if path.is_relative_to(_OURS) or _INSTALLED.intersection(path.parts):
            return False
        if path.is_relative_to(self._folder):
            return True
        return not any(path.is_relative_to(folder) for folder in (*_standard_library(), *_install_targets()))


@functools.cache
def _standard_library() -> tuple[Path, ...]:
    return tuple({Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")})


def _install_targets() -> list[Path]:
    """Folders of sys.path that pip installs into (`--target`): what it installs has its *.dist-info beside it."""
    found = []
    for entry in sys.path:
        folder = Path(entry or ".").resolve()
        if folder.is_dir() and next(folder.glob("*.dist-info"), None) is not None:
            found.append(folder)
    return found
