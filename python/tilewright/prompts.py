"""Python's own prompt: what was defined is looked at before each input.

`sys.ps1` may be any object: Python asks for its text whenever it is ready for an input. Nothing of an input is seen before it runs; its
text, which Python does not keep, is in readline's history.
"""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any

from .own_frames import leave_out_ours

if TYPE_CHECKING:
    from .session import Session

_PROMPT, _FILE = ">>> ", "<stdin>"


class _Prompt:
    """As the user's own, which it asks for its text in turn."""

    def __init__(self, own: Any, session: Session) -> None:
        self.own, self._session = own, session
        self._lines = _lines_so_far()

    def __str__(self) -> str:
        names = vars(sys.modules["__main__"])
        if (count := _lines_so_far()) > self._lines:
            _give_sources(names, self._lines, count)
        self._lines = count
        self._session.look(names)
        self._session.prune()
        return str(self.own)

    def __repr__(self) -> str:
        return repr(self.own)


def _lines_so_far() -> int:
    readline = sys.modules.get("readline")
    return 0 if readline is None else readline.get_current_history_length()


def _give_sources(names: dict[str, Any], begin: int, end: int) -> None:
    """To functions and methods that the latest input has defined."""
    if "numpy" not in sys.modules:
        return
    from .interpret.source import typed_as  # noqa: PLC0415  (slow to import, and no prompt without NumPy needs it)

    readline = sys.modules["readline"]
    text = "\n".join(readline.get_history_item(k + 1) or "" for k in range(begin, end)) + "\n"
    if "def " not in text and "lambda" not in text:
        return
    for value in list(names.values()):
        members = list(vars(value).values()) if isinstance(value, type) and value.__module__ == "__main__" else [value]
        for one in members:
            function = getattr(one, "__func__", one)
            if isinstance(function, types.FunctionType) and function.__code__.co_filename == _FILE:
                typed_as(function, text)


class Prompts:
    """A session at Python's prompt, or in a script."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._hook: Any = None

    def watch(self) -> None:
        if hasattr(sys, "ps1") or sys.flags.interactive:
            sys.ps1 = _Prompt(getattr(sys, "ps1", _PROMPT), self._session)
        own = sys.excepthook

        def shown(kind: type[BaseException], error: BaseException, trace: types.TracebackType | None) -> Any:
            if error.__traceback__ is trace:
                leave_out_ours(error)
                trace = error.__traceback__
            return own(kind, error, trace)

        self._own_hook, self._hook = own, shown
        sys.excepthook = shown

    def leave(self) -> None:
        prompt = getattr(sys, "ps1", None)
        if isinstance(prompt, _Prompt):
            sys.ps1 = prompt.own
        if sys.excepthook is self._hook:
            sys.excepthook = self._own_hook
