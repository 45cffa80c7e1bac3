"""How long what Python runs is tried as compiled code."""

from __future__ import annotations

import threading

_FREE_TRIES_S = 3.0


class Account:
    """What it took to try what might be faster, beside what Python took for the same function: tries are paid by runs, so
    that a program takes at most twice what it would have taken without them, and some seconds more."""

    def __init__(self) -> None:
        self.tried_s, self.ran_s = 0.0, 0.0

    @property
    def may_try(self) -> bool:
        return self.tried_s <= _FREE_TRIES_S + self.ran_s


class _Here(threading.local):
    account: Account | None = None  # of the outermost function that Python runs


here = _Here()
