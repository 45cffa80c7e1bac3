"""`tilewright.enable()`: in a notebook, at a prompt or in a script, functions are compiled once their calls take long, as under
`autotune run`; `disable()` puts the user's own back, `report()` says what was gained."""

from __future__ import annotations

import ast
import os
import sys
import types
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from . import kept_memory, recording, settings
from .errors import FallbackWarning
from .session import Session


class Front(Protocol):
    """Where the user types: what tells a session of each input."""

    def watch(self) -> None: ...
    def leave(self) -> None: ...


class Enabled:
    """What `enable()` gives: leaving a `with` of it is `disable()`, where that has enabled anything."""

    def __init__(self, *, is_new: bool) -> None:
        self._is_new = is_new

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        if self._is_new:
            disable()

    def __repr__(self) -> str:
        if not _is_on():
            return "<tilewright: disabled>"
        return "<tilewright: functions are compiled once their calls take long; tilewright.report() tells, tilewright.disable() ends it>"


_session: Session | None = None
_front: Front | None = None


def enable() -> Enabled:
    """Compile functions once their calls take long, as `autotune run` does: those of the session's inputs or cells, those that the
    caller's module has by now, and those of modules of yours that are imported from now on. NumPy's large arrays come from memory
    that is kept. A second call changes nothing. As a context (`with tilewright.enable():`) it lasts as long as that.

    A script that runs has its code already: functions that it defines below the call stay Python's, and a warning names them.
    """
    frame = sys._getframe(1)
    if _is_on() or settings.disabled() or recording.recorder is not None:
        return Enabled(is_new=False)
    session = the_session()
    session.begin()
    kept_memory.keep()
    session.look(vars(sys.modules["__main__"]))
    session.look(frame.f_globals)
    the_front().watch()
    if below := _defined_below(frame):
        file, names = Path(frame.f_code.co_filename).name, ", ".join(below)
        warnings.warn(
            f"tilewright.enable(): {file}:{frame.f_lineno}: functions that are defined below stay Python's: {names}. Call it behind "
            f"them, or run the script as it is: autotune run {file}",
            FallbackWarning,
            stacklevel=2,
        )
    return Enabled(is_new=True)


def disable() -> None:
    """Put the user's functions back where compiled ones stand, and NumPy's own memory. Where something else holds a compiled one (a
    list, a method that was bound), that runs as Python from now on. A second call changes nothing."""
    if _session is None or not _session.compiles:
        return
    the_front().leave()
    _session.end()
    kept_memory.give_back()


def report() -> None:
    """Print what calls took in NumPy and compiled since `enable()`, a line a function, and why NumPy has the others."""
    if _session is None or not _session.was_begun:
        print("tilewright.report(): nothing was compiled here yet. tilewright.enable() begins it.")
        return
    for line in _session.report_lines():
        print(line)


def the_session() -> Session:
    """That of this process, made where there is none yet."""
    global _session
    if _session is None:
        main = getattr(sys.modules["__main__"], "__file__", None)
        _session = Session(Path(main).parent if isinstance(main, str) else os.getcwd())
    return _session


def the_front() -> Front:
    """Where the user types here."""
    global _front
    if _front is None:
        shell = _shell()
        if shell is not None:
            from .cells import Cells  # noqa: PLC0415  (in notebooks alone)

            _front = Cells(the_session(), shell)
        else:
            from .prompts import Prompts  # noqa: PLC0415

            _front = Prompts(the_session())
    return _front


def _shell() -> Any:
    """IPython's, where this is one."""
    get = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return None if get is None else get()


def _is_on() -> bool:
    return _session is not None and _session.compiles


def _defined_below(frame: types.FrameType) -> list[str]:
    """Functions and classes that the script's top level defines below the line it is at."""
    file = frame.f_globals.get("__file__")
    if frame.f_code.co_name != "<module>" or frame.f_globals.get("__name__") != "__main__" or not isinstance(file, str):
        return []
    with suppress(OSError, SyntaxError, ValueError, RecursionError):
        if Path(file).samefile(frame.f_code.co_filename):
            body, kinds = ast.parse(Path(file).read_bytes()).body, (ast.FunctionDef, ast.ClassDef)
            for one in body:  # behind a `with` of it nothing is compiled
                if isinstance(one, ast.With) and any(item.context_expr.lineno == frame.f_lineno for item in one.items):
                    body = one.body
            return [one.name for one in body if isinstance(one, kinds) and one.lineno > frame.f_lineno]
    return []
