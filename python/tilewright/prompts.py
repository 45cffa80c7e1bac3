"""Python's own prompt: what was defined is looked at before each input.

`sys.ps1` may be any object: Python asks for its text whenever it is ready for an input. Nothing of an input is seen before it runs.
"""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any

from .own_frames import leave_out_ours

if TYPE_CHECKING:
    from .session import Session

_PROMPT = ">>> "


class _Prompt:
    """As the user's own, which it asks for its text in turn."""

    def __init__(self, own: Any, session: Session) -> None:
        self.own, self._session = own, session

    def __str__(self) -> str:
        self._session.look(vars(sys.modules["__main__"]))
        self._session.prune()
        return str(self.own)

    def __repr__(self) -> str:
        return repr(self.own)


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
