"""A fork waits until no other thread compiles, so that the child has no lock that nobody gives back; so does the end of the process.

Locks of ours, of Python's import system, of libHalide and of LLVM are held while a function is traced and compiled. What
is inside of a lock of this kind, or of `compiling()`, is waited for. Kernels that run need no wait; searches neither, but
for the end of the process, which ends them.
"""

from __future__ import annotations

import atexit
import logging  # noqa: F401  (its handler of forks takes its lock, which compiling needs: ours has to run before it, so be the later one)
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .errors import InternalError

WAIT_S = 30.0  # for one compilation at most: a child without a compiler is better than a fork that never comes

_state = threading.Condition()
_inside: dict[int, int] = {}  # thread -> how deep
_forks = 0  # that wait: nobody else begins
_searches: list[Callable[[], object]] = []  # what ends each of those that run now
_locks: weakref.WeakSet[Any] = weakref.WeakSet()
_ending: int | None = None  # the thread that ends the process: it may begin, for whoever registered with atexit
_is_cut_off = False


class Lock:
    """An RLock that a fork waits for."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self._lock)

    def __enter__(self) -> None:
        _enter()
        try:
            self._lock.acquire()
        except BaseException:  # Ctrl-C
            _leave()
            raise

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        _leave()


@contextmanager
def compiling() -> Iterator[None]:
    """What other threads may do at the same time, but a fork must wait for."""
    _enter()
    try:
        yield
    finally:
        _leave()


@contextmanager
def searching(cancel: Callable[[], object]) -> Iterator[None]:
    """What a fork needs no wait for, and the end of the process calls `cancel` for until it is over."""
    with _state:
        _searches.append(cancel)
    try:
        yield
    finally:
        with _state:
            _searches.remove(cancel)
            _state.notify_all()


def check_compiler() -> None:
    """InternalError where this process was forked while a thread of its parent was in the compiler: what that was in the
    middle of never ends here."""
    if _is_cut_off:
        raise InternalError(
            f"tilewright: this process was forked while a thread of its parent was in the compiler for {WAIT_S:.0f} s or more; "
            "it cannot compile. Fork before or after that, or start processes by spawn."
        )


def _enter() -> None:
    thread = threading.get_ident()
    with _state:
        if thread not in _inside:
            _state.wait_for(lambda: not _forks or thread == _ending, WAIT_S if _ending else None)
        _inside[thread] = _inside.get(thread, 0) + 1


def _leave() -> None:
    thread = threading.get_ident()
    with _state:
        _inside[thread] -= 1
        if not _inside[thread]:
            del _inside[thread]
            _state.notify_all()


def _others() -> set[int]:
    return _inside.keys() - {threading.get_ident()}


def _before() -> None:
    global _forks
    _state.acquire()
    _forks += 1
    _state.wait_for(lambda: not _others(), WAIT_S)


def _after_in_parent() -> None:
    global _forks
    _forks -= 1
    _state.notify_all()
    _state.release()


def _after_in_child() -> None:
    global _forks, _is_cut_off, _state
    if others := _others():
        _is_cut_off = True
        for lock in _locks:
            if not lock._is_owned():
                lock._at_fork_reinit()
        for thread in others:
            del _inside[thread]
    _searches.clear()
    _forks, _ending = 0, None
    _state = threading.Condition()  # the old one has waiters that are not here


def _at_exit() -> None:
    """LLVM's globals and ours are destroyed when the process ends, under a daemon thread that compiles or searches then: a
    crash. What has begun is waited for (a search ends at its next candidate), and what would begin ends with the process."""
    global _forks, _ending
    until = time.monotonic() + WAIT_S
    with _state:
        _forks += 1
        _ending = threading.get_ident()
        while (_others() or _searches) and time.monotonic() < until:
            for cancel in _searches:
                cancel()  # again and again: the search may not have begun yet
            _state.wait(0.1)


def end_without_waiting() -> None:
    """For whoever ends the process by os._exit() where others compile: nothing is destroyed then."""
    atexit.unregister(_at_exit)


atexit.register(_at_exit)
os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
