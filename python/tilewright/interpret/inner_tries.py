"""How long what Python runs is tried as compiled code."""

from __future__ import annotations

import threading
from typing import Protocol

_FREE_TRIES_S = 3.0


class Waits(Protocol):
    """What may be faster as compiled code, and is Python's until there is time to try it."""

    def try_again(self) -> None: ...


class Account:
    """What it took to try what might be faster, beside what Python took for the same function: tries are paid by runs, so
    that a program takes at most twice what it would have taken without them, and some seconds more."""

    def __init__(self) -> None:
        self.tried_s, self.ran_s = 0.0, 0.0
        self.waiting: list[Waits] = []

    def wake(self) -> None:
        if self.waiting and self.may_try:
            waiting, self.waiting = self.waiting, []
            for one in waiting:
                one.try_again()

    @property
    def may_try(self) -> bool:
        return self.tried_s <= _FREE_TRIES_S + self.ran_s


class _Here(threading.local):
    account: Account | None = None  # of the outermost function that Python runs


here = _Here()
