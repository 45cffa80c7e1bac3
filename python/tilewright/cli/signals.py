"""SIGTERM and SIGHUP end a command as Ctrl-C does: the best so far is kept and its module written. Exit code 128 + n."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class EndedBySignal(KeyboardInterrupt):
    """An interruption by a signal that came to this process alone."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextmanager
def ending_as_ctrl_c() -> Iterator[Callable[[int], int]]:
    """Gives what turns the exit code of an interrupted command into that of the signal which came."""
    came: list[int] = []
    owner = os.getpid()

    def end(number: int, _: FrameType | None) -> None:
        if os.getpid() != owner:  # a forked child of the script's
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        came.append(number)
        if number == signal.SIGHUP:
            _leave_terminal()
        raise EndedBySignal(number)

    before = {}
    if threading.current_thread() is threading.main_thread():
        # Those that somebody ignores (nohup) or handles stay as they are.
        before = {
            number: signal.signal(number, end) for number in _SIGNALS if signal.getsignal(number) is signal.SIG_DFL
        }
    try:
        yield lambda interrupted: 128 + came[0] if came else interrupted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave_terminal() -> None:
    """It is gone: what is written there would be an error."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            if os.isatty(stream.fileno()):
                os.dup2(os.open(os.devnull, os.O_RDWR), stream.fileno())
