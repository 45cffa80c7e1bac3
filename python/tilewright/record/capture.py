"""Recording calls: time per function, signatures and sizes, and copies of the arguments made before the call.

A function is a candidate when it is called with NumPy arrays, as they are or inside of containers and objects of the user's, and
where it stands for a loop of the script's; one that takes plain numbers and functions and gives back arrays, or numbers after a
while, is a maker. Functions of the script (and of modules beside it) are
wrapped when their names are bound (observe.py); functions marked @tilewright.jit report through their own dispatch. Not done here:
choosing what to tune (choose.py).
"""

from __future__ import annotations

import copy
import functools
import mmap
import os
import threading
import time
import types
from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np

from ..light_dataclass import dataclass
from ..machine import available_memory_bytes
from ..own_frames import stands_in
from ..strided_copies import copy_as_it_lies
from .ownership import Users
from .values import arrays_in, describe, key_of

_STOP_AFTER_S = 20.0  # of recording since the first call of a candidate
_SETTLED_AFTER_S = 2.0  # of time in candidates, when each signature has been seen often
_SEEN_OFTEN = 3
_MOST_OTHERS = 2  # calls of a signature whose arguments are kept beside those that stand for all
_MOST_SIGNATURES = 64  # of a function, with a copy of the arguments each: what grows has new sizes at each call
_LONG_NS = 1_000_000  # of a call from numbers to numbers: shorter ones are the script's bookkeeping
_CHILD_COUNTS = 1 << 16  # of 8 bytes: of processes whose pids differ by as many, one at a time is likely to live
_NUMBERS = (bool, int, float, complex, np.generic)
_PLAIN = (bool, int, float, complex, np.generic, str, type(None), types.FunctionType)


class RecordingDone(BaseException):
    """Unwinds the script once nothing more can be learnt. No Exception, so that scripts do not catch it."""


@dataclass
class RecordedCall:
    """All calls of one signature at one size; the arguments are those of the first, or of a later one where that took hardly any of
    the time that such calls take: what a simulation does on its first day says little of the others."""

    signature: tuple[Any, ...]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    count: int = 0
    total_ns: int = 0
    order: int = 0
    bytes: int = 0
    args_ns: int = 0  # what the call of the arguments took
    # Arguments of other calls, an early one among them: what objects hold there may be of another kind than later.
    others: list[tuple[tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)

    @property
    def may_be_untypical(self) -> bool:
        """Whether the next call is worth another copy: of the third, the fifth, the ninth and so on."""
        count = self.count
        return count > 1 and not count & (count - 1) and 2 * self.args_ns * count < self.total_ns

    def take(self, args: tuple[Any, ...], kwargs: dict[str, Any], took_ns: int) -> bool:
        """The copied arguments of a later call: they stand for all calls where that took longer. Whether one copy more is kept."""
        if took_ns > self.args_ns and self.count > 1:
            args, self.args = self.args, args
            kwargs, self.kwargs = self.kwargs, kwargs
            self.args_ns = took_ns
        is_kept = len(self.others) < _MOST_OTHERS
        if is_kept:
            self.others.append((args, kwargs))
        return is_kept

    def text(self) -> str:
        """X float64[20000000, 2], means float64[2, 2]"""
        return ", ".join(_describe(part) for part in self.signature)


@dataclass
class Candidate:
    """A function that was called with arrays."""

    name: str
    function: Callable[..., Any]
    marked: bool  # @tilewright.jit
    jitted: Any = None  # the JitFunction, where marked
    calls: dict[tuple[Any, ...], RecordedCall] = field(default_factory=dict)
    total_ns: int = 0
    own_ns: int = 0  # without other functions called inside
    order: int = 0
    fate: str = ""  # what choosing has made of it
    called_by: set[int | None] = field(default_factory=set)  # the functions around its calls; None: there was none
    count: int = 0

    @property
    def where(self) -> str:
        code = getattr(self.function, "__code__", None)
        return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else self.name


class _Nesting(threading.local):
    """Per thread: which functions run, and the time of those called inside, a number per level of nesting."""

    def __init__(self) -> None:
        self.inside_ns = [0]  # of candidates
        self.watched_ns = [0]  # of all functions
        self.running: list[int] = []


class Recorder:
    """Collects the calls of one run of a script."""

    def __init__(
        self,
        only: str | None = None,
        first_only: bool = False,
        run_all: bool = False,
        covers: bool = False,
        takes_regions: bool = False,
    ) -> None:
        # All of the script's time counts: loops that run once are functions too (regions.py), and what has not run yet may take long.
        self.covers = covers
        # Functions have the code that they have under `autotune run`, whose traces go by it.
        self.takes_regions = covers or takes_regions
        # What makes the calls of a function that goes by a name: itself, or what does the same.
        self.run_of: Callable[[Callable[..., Any], str], Callable[..., Any]] = lambda function, _: function
        self._runs: dict[int, Callable[..., Any]] = {}
        self.candidates: dict[int, Candidate] = {}
        self.makers: dict[int, Candidate] = {}  # called without arrays, gave back some, or numbers after a while
        self.others: dict[int, Candidate] = {}  # called without arrays: their time alone
        self.done = False
        self.left_out: list[str] = []  # calls whose arguments do not fit into memory a second time
        self._only = only
        self._first_only = first_only
        self._run_all = run_all
        self._started_ns = 0
        self._nesting = _Nesting()
        self.script_ns = 0  # from the script's first line to its end
        self._sequence = 0
        self._kept_bytes = 0
        self.users = Users(os.getcwd())  # of the script; run_script() sets it
        self._owner = os.getpid()
        # Shared with processes that the script forks: their calls of functions of arrays. A count a process, by its pid:
        # children that count at the same moment lose nothing, and one that is killed leaves no lock behind.
        self._in_children = np.frombuffer(mmap.mmap(-1, 8 * _CHILD_COUNTS), np.int64)

    @property
    def calls_in_children(self) -> int:
        """Calls of candidates in processes that the script forked, where nothing is recorded."""
        return int(self._in_children.sum())

    def wrap(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """A function that behaves as `function` and reports its calls."""
        self._runs[id(function)] = self.run_of(function, name)

        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            return self.call(function, name, args, kwargs)

        recorded.__tilewright_recorded__ = function  # type: ignore[attr-defined]
        return recorded

    def call(
        self, function: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any], jitted: Any = None
    ) -> Any:
        """Run the call in NumPy and record it, unless nothing of it is an array."""
        if self.done or not self._is_wanted(function, name):
            return function(*args, **kwargs)
        values = (*args, *kwargs.values())
        # A loop of the script's may read its arrays from outside.
        has_arrays = stands_in(function.__code__) or any(True for value in values for _ in arrays_in(value, self.users))
        if os.getpid() != self._owner:
            if has_arrays:
                self._in_children[os.getpid() % _CHILD_COUNTS] += 1
            return function(*args, **kwargs)
        if not has_arrays:
            return self._call_without_arrays(function, name, args, kwargs, jitted)
        candidate = self._candidate(function, name, jitted, self.candidates)
        recorded = self._recorded(candidate, args, kwargs)
        is_copied = recorded is not None and ((recorded.count == 1 and self.takes_regions) or recorded.may_be_untypical)
        is_copied = is_copied and recorded is not None and self._has_room(recorded.bytes)
        anew = copy_arguments(args, kwargs) if is_copied else None
        inside_of = self._nesting.inside_ns
        inside_of.append(0)
        if not self._started_ns:
            self._started_ns = time.perf_counter_ns()
        try:
            result, spent = self._timed(candidate, function, args, kwargs)
        finally:
            inside_of.pop()
        inside_of[-1] += spent
        if recorded is not None:
            if recorded.count == 0:
                recorded.args_ns = spent
            elif anew is not None:
                self._kept_bytes += recorded.bytes * recorded.take(*anew, spent)
            recorded.count += 1
            recorded.total_ns += spent
        is_main = threading.current_thread() is threading.main_thread()
        if not self._run_all and is_main and len(inside_of) == 1 and self._nothing_more_to_learn():
            self.done = True
            raise RecordingDone
        return result

    def _timed(
        self, candidate: Candidate, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, int]:
        """The result and the time of a call, which is added to the candidate's, also where it raises."""
        nesting, key = self._nesting, id(function)
        candidate.called_by.add(nesting.running[-1] if nesting.running else None)
        is_recursive = key in nesting.running
        nesting.running.append(key)
        nesting.watched_ns.append(0)
        spent = 0
        start = time.perf_counter_ns()
        try:
            result = self._runs.get(key, function)(*args, **kwargs)
        finally:
            spent = time.perf_counter_ns() - start
            nesting.running.pop()
            candidate.own_ns += spent - nesting.watched_ns.pop()
            nesting.watched_ns[-1] += spent
            if not is_recursive:  # the outer call has this one in its time
                candidate.total_ns += spent
            candidate.count += 1
        return result, spent

    def _is_wanted(self, function: Callable[..., Any], name: str) -> bool:
        """Whether it is what --function names: `energy`, `Model.energy`."""
        only = self._only
        return only is None or only in (name, name.rpartition(".")[2], function.__qualname__, function.__name__)

    def _call_without_arrays(
        self, function: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any], jitted: Any
    ) -> Any:
        """It never ends the recording, and is in no other function's time: what makes a script's data looks like this too."""
        other = self._candidate(function, name, jitted, self.others)
        own_before_ns = other.own_ns
        result, spent = self._timed(other, function, args, kwargs)
        is_plain = all(isinstance(value, _PLAIN) for value in (*args, *kwargs.values()))
        results = result if isinstance(result, (tuple, list)) else (result,)
        gives_arrays = any(isinstance(value, (np.ndarray, np.random.Generator)) for value in results)
        computes = spent >= _LONG_NS and bool(args or kwargs) and all(isinstance(value, _NUMBERS) for value in results)
        if not is_plain or not (gives_arrays or computes):
            return result
        candidate = self._candidate(function, name, jitted, self.makers)
        recorded = self._recorded(candidate, args, kwargs)
        if recorded is not None:
            recorded.count += 1
            recorded.total_ns += spent
        candidate.total_ns += spent
        candidate.own_ns += other.own_ns - own_before_ns
        return result

    def _candidate(
        self, function: Callable[..., Any], name: str, jitted: Any, among: dict[int, Candidate]
    ) -> Candidate:
        key = id(function)
        if key not in among:
            among[key] = Candidate(name, function, jitted is not None, jitted, order=len(among))
        return among[key]

    def _recorded(self, candidate: Candidate, args: tuple[Any, ...], kwargs: dict[str, Any]) -> RecordedCall | None:
        signature = self._signature(args, kwargs)
        recorded = candidate.calls.get(signature)
        if recorded is not None:
            return recorded
        size = sum(
            array.nbytes
            for value in (*args, *kwargs.values())
            for _, array in arrays_in(value, self.users)
            if isinstance(array, np.ndarray)
        )
        if len(candidate.calls) == _MOST_SIGNATURES:
            return None
        if not self._has_room(size):
            self.left_out.append(f"{candidate.name}({', '.join(_describe(p) for p in signature)})")
            return None
        self._sequence += 1
        self._kept_bytes += size
        recorded = RecordedCall(signature, *copy_arguments(args, kwargs), order=self._sequence, bytes=size)
        candidate.calls[signature] = recorded
        return recorded

    def _has_room(self, size: int) -> bool:
        return self._kept_bytes + size <= available_memory_bytes() // 3

    def _signature(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        parts = [("", key_of(value, self.users)) for value in args]
        parts += [(name, key_of(kwargs[name], self.users)) for name in sorted(kwargs)]
        return tuple(parts)

    def _nothing_more_to_learn(self) -> bool:
        if self._first_only:
            return True
        if time.perf_counter_ns() - self._started_ns > _STOP_AFTER_S * 1e9:
            return True
        total = self._nesting.inside_ns[0]
        if self.covers or total < _SETTLED_AFTER_S * 1e9:
            return False
        # What was seen only once or twice may still be growing, unless it hardly counts.
        rare = sum(
            call.total_ns
            for candidate in self.candidates.values()
            for call in candidate.calls.values()
            if call.count < _SEEN_OFTEN
        )
        return rare < 0.05 * total


IMMUTABLE = (int, float, complex, bool, str, bytes, type(None), np.generic, np.dtype, type)


def copy_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Copies that later writes of the script do not reach; layouts are kept."""
    memo: dict[int, Any] = {}

    def one(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            if id(value) not in memo:
                memo[id(value)] = copy_as_it_lies(value)
            return memo[id(value)]
        if isinstance(value, types.FunctionType):  # of the script, it reports its calls
            return getattr(value, "__tilewright_recorded__", value)
        if isinstance(value, IMMUTABLE):
            return value
        try:
            return copy.deepcopy(value, memo)
        except Exception:  # noqa: BLE001  (an argument that cannot be copied is used as it is)
            return value

    return tuple(one(a) for a in args), {k: one(v) for k, v in kwargs.items()}


def _describe(part: tuple[Any, ...]) -> str:
    name, key = part
    return f"{name}={describe(key)}" if name else describe(key)
