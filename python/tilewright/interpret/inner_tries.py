"""How long what Python runs is tried as compiled code."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

_FREE_RUNS, _FREE_TRIES_S = 3, 3.0
# Of a run behind those: what tries may take of its time, and what one takes at least.
_SHARE, _TRY_S = 0.3, 1.0


class Waits(Protocol):
    """What may be faster as compiled code, and is Python's until there is time to try it."""

    def try_again(self) -> None: ...


class Account:
    """What it took to try what might be faster, beside what Python took for the same function: in the first runs tries are
    free, up to some seconds; later ones are paid by runs, of whose time they may take a share."""

    def __init__(self) -> None:
        self.runs = 0
        self.tried_s, self.ran_s = 0.0, 0.0
        self.waiting: list[Waits] = []

    def end_free_runs(self) -> None:
        """All tries are paid from now on."""
        self.runs = max(self.runs, _FREE_RUNS)

    def begin(self) -> None:
        """One more run."""
        self.runs += 1
        if self.runs == _FREE_RUNS + 1:
            self.tried_s = self.ran_s = 0.0
        if self.waiting and self.may_try:
            waiting, self.waiting = self.waiting, []
            for one in waiting:
                one.try_again()

    @property
    def is_early(self) -> bool:
        return self.runs <= _FREE_RUNS

    @property
    def may_try(self) -> bool:
        if self.is_early:
            return self.tried_s <= _FREE_TRIES_S
        return self.tried_s + _TRY_S <= _SHARE * self.ran_s


class Turns:
    """Whether all that was found worth a compilation is so together: once nothing new has been found for some runs, Python runs
    the function as it is in turn with the one whose calls are looked at. What looking takes is in no measurement of what is
    inside. Where something is found later they begin anew, a few times."""

    _QUIET, _LEAST, _EACH, _MOST_BEGUN = 16, 48, 12, 3
    _WORTH = 0.98  # of the function's own time
    _CLEARLY = 2.0  # twice so much longer as it is: it would be slow for nothing
    _LONGEST_S = 0.02  # looking takes some 10 us

    def __init__(self) -> None:
        self._events = -1
        self._runs = self._since = self._begun = 0
        self._plain: list[float] = []
        self._looked_at: list[float] = []

    def is_plain(self, events: int) -> bool:
        """Whether it is the turn of the function as it is."""
        self._runs += 1
        if events != self._events:
            self._events, self._since, self._plain, self._looked_at = events, 0, [], []
        self._since += 1
        turn = self._since - self._QUIET - 1
        if turn < 0 or self._runs < self._LEAST or self._begun >= self._MOST_BEGUN:
            return False
        return turn % 4 in (0, 3) and self._looked_at[-1] < self._LONGEST_S

    def loses(self, is_plain: bool, took_s: float) -> bool:
        """Whether all turns were taken, and looking at calls was in vain. `took_s`: this run."""
        if self._begun >= self._MOST_BEGUN:
            return False
        (self._plain if is_plain else self._looked_at).append(took_s)
        del self._looked_at[: -self._QUIET - self._EACH]
        if not is_plain:
            return False
        usual_s = statistics.median(self._looked_at)
        if len(self._plain) > 1 and min(self._plain) > self._CLEARLY * usual_s:
            self._begun = self._MOST_BEGUN
        if len(self._plain) < self._EACH:
            return False
        self._begun += 1
        loses = usual_s > self._WORTH * statistics.median(self._plain)
        self._since, self._plain, self._looked_at = 0, [], []
        return loses


class _Here(threading.local):
    account: Account | None = None  # of the outermost function that Python runs
    looked_s = 0.0  # that looking at what is called took so far, which is in no measurement of it
    undecided = 0  # how many of those that run are only measured, and may be compiled with what they call

    @contextmanager
    def looking(self) -> Iterator[None]:
        """What is done inside counts as looking, once."""
        begun, looked_s = time.perf_counter(), self.looked_s
        try:
            yield
        finally:
            self.looked_s = looked_s + time.perf_counter() - begun  # with what was looked at meanwhile


here = _Here()
