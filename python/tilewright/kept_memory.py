"""NumPy's own large arrays in memory of our pool: what a loop frees it takes again, without asking the system for each page.

glibc gives the end of its heap back and takes it again, by the heap's state: each page is zeroed and mapped anew, which is
up to a third of the time of some loops. NEP 49 lets the memory of arrays come from elsewhere; NumPy counts, traces and resizes such
arrays as its own. A handler is set in a context, so threads get it where they begin.
"""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from types import FrameType, ModuleType
from typing import Any

_face: Any = None
"""The module of that name, once NumPy is there: it imports NumPy."""


def keep() -> bool:
    """Take the memory of NumPy's large arrays from the pool from now on, in this thread and those that `threading` begins
    later. Where NumPy is not imported yet, that begins with its import, which this does not bring about. False where
    another handler of memory is set, or TILEWRIGHT_POOL_MB=0: nothing is changed then."""
    if "numpy" not in sys.modules:
        if _finder not in sys.meta_path:
            sys.meta_path.insert(0, _finder)
        return True
    return _keep_now()


def give_back() -> int:
    """Take new arrays from NumPy's own allocator again, and give kept memory back to the system: how many bytes. Arrays
    that are there stay as they are."""
    with suppress(ValueError):
        sys.meta_path.remove(_finder)
    if threading.getprofile() is _keep_in_thread:
        threading.setprofile(None)  # type: ignore[arg-type]
    if "numpy" not in sys.modules:
        return 0
    return int(_handler().leave_arrays())


def _keep_now() -> bool:
    kept = bool(_handler().keep_arrays())
    if kept and threading.getprofile() is None:
        threading.setprofile(_keep_in_thread)
    return kept


def _keep_in_thread(frame: FrameType, event: str, argument: Any) -> None:
    """`threading` has each new thread call it once, before anything else: contexts of threads begin empty."""
    sys.setprofile(None)
    _face.keep_arrays()


def _handler() -> Any:
    global _face
    from . import _face as module  # noqa: PLC0415

    _face = module
    return module


class _Finder:
    """Asks the finders behind it for NumPy, and has its arrays kept when it is there."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "numpy":
            return None
        finders = sys.meta_path
        finders = finders[finders.index(self) + 1 :] if self in finders else []
        for finder in finders:
            find = getattr(finder, "find_spec", None)
            if find is not None and (spec := find(name, path, target)) is not None:
                self._watch(spec)
                return spec
        return None

    def _watch(self, spec: Any) -> None:
        run = getattr(spec.loader, "exec_module", None)
        if run is None:
            return

        def run_and_keep(module: ModuleType) -> None:
            del spec.loader.exec_module
            run(module)
            if self in sys.meta_path:  # nobody has given memory back since
                sys.meta_path.remove(self)
                _keep_now()

        with suppress(AttributeError):  # a loader whose attributes cannot be set
            spec.loader.exec_module = run_and_keep


_finder = _Finder()
