"""Builds that go on in threads of their own, while Python runs the calls that need them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from .plan import Build

# A call waits for a build that takes so much time of the processor, for one that nobody asked for less, in the background not
# at all, but no longer than this by the clock.
PATIENCE_S, UNASKED_PATIENCE_S, MOST_WAITING_S = 3.0, 0.5, 5.0


NICE = 10  # of whatever builds what no call waits for
# Builds at a time: more of them take the time of the calls that Python makes meanwhile.
_SLOTS = threading.Semaphore(max(1, (os.cpu_count() or 1) // 2))


def go_on_behind_all_others(is_idle: bool = True) -> None:
    """For a process: by its niceness alone Linux lets it run on for a slice of some milliseconds where a thread of the script's
    wants to go on, and each call of many threads waits for that; `is_idle`: it runs where a processor is idle alone."""
    with suppress(OSError, AttributeError):
        if is_idle:
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
            return
    with suppress(OSError):
        os.nice(NICE)


class _Later(threading.Thread):
    def __init__(self, make: Callable[[], Build], is_waited_for: bool, request: Any = None) -> None:
        super().__init__(name="tilewright build", daemon=True)  # the end of the process waits for those that compile
        self.make, self.is_waited_for, self.request = make, is_waited_for, request
        self.made: Build | None = None
        self.error: BaseException | None = None
        self.is_over = False
        self.then: set[Callable[[], None]] = set()

    def run(self) -> None:
        if not self.is_waited_for:
            with suppress(OSError):  # behind the calls that Python makes meanwhile
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        try:
            with _SLOTS:
                self.made = self.make()
        except BaseException as error:  # noqa: BLE001  (whoever takes the build gets it)
            self.error = error
        self.is_over = True
        for one in [*self.then]:
            one()

    def wait(self, patience_s: float) -> None:
        until = time.monotonic() + MOST_WAITING_S
        with suppress(OSError):  # it has ended meanwhile
            clock = time.pthread_getcpuclockid(self.ident or 0)
            while self.is_alive() and time.clock_gettime(clock) < patience_s and time.monotonic() < until:
                self.join(0.01)


_begun: dict[str, _Later] = {}  # by the keys of builds


def is_done(key: str, make: Callable[[], Build], patience_s: float, request: Any = None) -> bool:
    """Whether a build is there, or came while the call could wait so long; else another thread goes on with it. `request`: what
    it is of, for `going_on`."""
    later = _begun.get(key)
    if later is None:
        later = _begun[key] = _Later(make, patience_s > 0, request)
        later.start()
        later.wait(patience_s)
    return not later.is_alive()


def goes_on(key: str) -> bool:
    """Whether another thread is at it."""
    return key in _begun and _begun[key].is_alive()


def going_on() -> list[Any]:
    """The requests of all builds that other threads are at."""
    return [later.request for later in list(_begun.values()) if later.is_alive()]


def when_over(key: str, then: Callable[[], None]) -> bool:
    """Whether a build goes on: `then` is called at its end."""
    later = _begun.get(key)
    if later is None:
        return False
    later.then.add(then)
    return not later.is_over


def taken(key: str) -> Build | None:
    """A build that was begun so, waited for; None where there is none, or a fork has left its thread behind."""
    later = _begun.pop(key, None)
    if later is None:
        return None
    later.join()
    if later.error is not None:
        raise later.error
    return later.made
