"""What another process finds out of a call: a copy of this one as it is at the call, which goes on beside it.

To follow a call takes up to seconds, and to compile it more; while a thread of this process does that, the script waits for
it at every turn of Python's. The copy has all that the call has, shows nothing to anybody, and ends with what it has put into
the caches on disk, and a line of JSON. Copies have their turns one after the other, also behind the end of the script.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from . import _face, later_builds, settings
from .later_builds import go_on_behind_all_others
from .machine import available_memory_bytes

# Copies that wait for their turn, or have it: a page that this process writes meanwhile is copied.
MOST_COPIES, _LEAST_MEMORY_LEFT = 4, 0.5
_AT_A_TIME = max(1, (os.cpu_count() or 1) // 2)  # that have it, of all processes of this user
_LOOK_NS = 10_000_000  # from one look at a copy to the next
# A turn takes no longer, by the clock: a lock that a thread of a library held at the fork is given back by nobody in the copy, which
# would wait for it, and all other copies for that one.
_LONGEST_TURN_S = 600
# A copy that has its turn runs where a processor is idle. Where none is for so long, it has had less than that share of one.
_STARVED_S, _LEAST_SHARE = 20.0, 0.1
_EXPECT_FORKS = frozenset(["IPython", "ipykernel", "rich"])
_ITS_TURN = b"turn\n"  # what a copy says behind its number, before what it has found
_goes_on: list[FollowedApart] = []


class FollowedApart:
    """A copy of this process that does some work. `is_idle`: where a processor is idle, else at low priority. OSError where none
    can be made."""

    def __init__(self, work: Callable[[], dict[str, Any]], is_idle: bool = True) -> None:
        self.said: dict[str, Any] | None = None  # None until it is over; {} where it ended otherwise
        self.is_idle = is_idle
        self._looked_ns = time.perf_counter_ns()
        self._turn_ns = 0  # when its turn was seen to have begun
        self._text = b""
        self._pipe, write = os.pipe()
        os.set_blocking(self._pipe, False)
        self._owner = os.getpid()
        try:
            with _unwarned():
                child = os.fork()
        except OSError:
            os.close(self._pipe)
            os.close(write)
            raise
        if not child:
            try:
                _become_nobody(write, is_idle)
                os.write(write, f"{os.getpid()}\n".encode())
                with suppress(OSError):  # of a folder that cannot be used: what is kept there says that of itself
                    _wait_for_turn()
                os.write(write, _ITS_TURN)
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(_LONGEST_TURN_S)
                text = json.dumps(work()).encode()
                while text:
                    text = text[os.write(write, text) :]
            finally:  # whatever was raised: behind this is the script
                os._exit(0)
        os.close(write)
        os.waitpid(child, 0)  # what goes on is that one's child, and nobody's that the script may wait for
        _goes_on.append(self)

    def is_ours(self) -> bool:
        """Whether it is a copy of this process, not of one that the script has forked this one from."""
        return self._owner == os.getpid()

    def is_over(self) -> bool:
        """Whether it has ended, which is looked at now and then."""
        now_ns = time.perf_counter_ns()
        if self.said is not None or now_ns - self._looked_ns < _LOOK_NS:
            return self.said is not None
        self._looked_ns = now_ns
        if not self.is_ours():
            self._end()
        with suppress(BlockingIOError):
            while self.said is None:
                part = os.read(self._pipe, 1 << 16)
                self._text += part
                self._turn_ns = self._turn_ns or (now_ns if _ITS_TURN in self._text else 0)
                if not part:
                    self._end()
        return self.said is not None

    @property
    def has_begun(self) -> bool:
        """Whether it was seen to have its turn."""
        return self._turn_ns > 0

    def is_starved(self) -> bool:
        """Whether it has its turn, and no processor: all are the script's, or others'. Then it is ended."""
        took_s = (time.perf_counter_ns() - self._turn_ns) / 1e9
        if not (self.is_idle and self._turn_ns and self.said is None and self.is_ours()) or took_s < _STARVED_S:
            return False
        with suppress(OSError), open(f"/proc/{self._process}/stat", "rb") as file:
            user, system = file.read().rpartition(b")")[2].split()[11:13]  # ticks, as in proc(5)
            if (int(user) + int(system)) / os.sysconf("SC_CLK_TCK") > _LEAST_SHARE * took_s:
                return False
        self.stop()
        return True

    @property
    def _process(self) -> int:
        return int(self._text.partition(b"\n")[0] or 0)

    def hurry(self) -> None:
        """Somebody waits for it: it need not be behind all others, where the system allows that."""
        if self.is_idle and self._process and self.is_ours():
            self.is_idle = False
            with suppress(OSError, AttributeError):
                os.sched_setscheduler(self._process, os.SCHED_OTHER, os.sched_param(0))

    def stop(self) -> None:
        """Nobody waits for it any longer."""
        if self._process and self.said is None and self.is_ours():
            with suppress(OSError):
                os.kill(self._process, signal.SIGKILL)

    def _end(self) -> None:
        self.said = {}
        with suppress(ValueError):
            self.said = json.loads(self._text.partition(_ITS_TURN)[2])
        os.close(self._pipe)
        _goes_on.remove(self)


@contextmanager
def _unwarned() -> Iterator[None]:
    """Of threads of libraries that are not in the copy, which runs none of theirs. Not by catch_warnings(): behind that Python says
    again whatever it has said once."""
    filters: list[Any] = warnings.filters  # type: ignore[assignment]
    filters.insert(0, ("ignore", None, DeprecationWarning, None, 0))
    try:
        yield
    finally:
        del filters[0]


def _expects_forks(thread: threading.Thread) -> bool:
    """Whether it is one of IPython's or its kernel's, which wait for messages and write what was typed to disk, or shows a progress."""
    works_for = getattr(getattr(thread, "_target", None), "__self__", None)
    return any(type(one).__module__.partition(".")[0] in _EXPECT_FORKS for one in (thread, works_for))


def _is_alone() -> bool:
    return threading.active_count() == 1 or all(
        map(_expects_forks, set(threading.enumerate()) - {threading.current_thread()})
    )


def that_go_on() -> list[FollowedApart]:
    """Copies of this process that are not over."""
    return [one for one in [*_goes_on] if one.is_ours() and not one.is_over()]


def is_possible() -> bool:
    """Whether nothing goes on in this process that a copy would be cut off from, or that the script would see of it."""
    return not why_impossible()


def why_impossible() -> str:
    """What it is that goes on, in words; "" where a copy can be made."""
    if not _is_alone():
        return "the script has threads of its own"
    if os.getpid() == 1:  # in a container, whose orphans are its children
        return "the script is the first process of a container"
    if threading.current_thread() is not threading.main_thread():
        return "its calls are a thread's"
    if later_builds.going_on():
        return "code is being built"
    if signal.getsignal(signal.SIGCHLD) is not signal.SIG_DFL:
        return "the script handles the ends of its child processes"
    if sys.gettrace() is not None:
        return "a debugger watches the script"
    if _face.current_device() is not None:
        return "its calls are for a device"
    if not settings.cache_enabled() or settings.cache_folder() is None:  # last: it asks the disk
        return "there is no cache on disk"
    return ""


def has_place(most: int = MOST_COPIES) -> bool:
    """Whether another copy may wait for its turn, where so many may at most."""
    for one in [*_goes_on]:
        one.is_over()
    taken_bytes = _resident_bytes() * (len(_goes_on) + 1)
    return len(_goes_on) < most and taken_bytes < _LEAST_MEMORY_LEFT * available_memory_bytes()


def _resident_bytes() -> int:
    with suppress(OSError), open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _wait_for_turn() -> None:
    """In the copy; the turn is over when it ends, however it does."""
    folder = settings.cache_folder()
    if folder is None:
        return
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    names = [folder / f"turn.{k}" for k in range(_AT_A_TIME)]
    turns = [os.open(one, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600) for one in names]
    for turn in turns:
        with suppress(BlockingIOError):
            fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
    fcntl.flock(turns[os.getpid() % len(turns)], fcntl.LOCK_EX)


def _become_nobody(write: int, is_idle: bool) -> None:
    """In the copy: its own child goes on, behind all others, with no file that is open here. It is in a process group
    of its own, which no key stops, and not in a session: Linux gives each of these an equal share, however nice it is."""
    if os.fork():
        os._exit(0)
    gc.freeze()  # what the script has left in cycles is not collected here: finalizers are the script's
    os.setpgid(0, 0)
    go_on_behind_all_others(is_idle)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    # What stands for them may be a notebook's, which sends what is written over sockets.
    sys.stdin, sys.stdout, sys.stderr = open(os.devnull), open(os.devnull, "w"), open(os.devnull, "w")  # noqa: SIM115
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != write:  # noqa: PLR2004
            with suppress(OSError):
                os.close(int(name))
