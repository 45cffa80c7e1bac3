"""The figures of a tuning: NumPy and the tuned function take turns, and what is printed of them comes from here alone.

Times of two functions that were taken minutes apart compare two states of the machine as well. So both are called in
turns, warm, on the same arrays and as a user calls them, and what counts is the ratio of the two times of a turn.
"""

from __future__ import annotations

import math
import os
import resource
import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from . import datasets
from .machine import usable_cores
from .quantities import format_ns
from .trials import CLEARLY

COLD = " (its first call)"  # after NumPy's time, where no warm call of it was affordable

_TURN_NS = 1e6  # shorter calls are made several times in a turn: the clock takes 50 ns itself
# Calls up to here are made once untimed in each turn: what the other one left in the caches is not theirs.
_WARM_NS = 1e8
_MOST_CALLS = 5000  # in a turn
_MOST_ANEW = 50  # of those whose objects are copied anew before each
_MOST_TURNS = 60
_LEAST_TURNS = 3
# So many turns are made at least where they take no longer than this, however short the time: another process may have had it.
_CHEAP_TURNS = 9
_CHEAP_S = 0.5
_RESERVED_SHARE = 0.1  # of the budget, for the turns
_MOST_RESERVED_S = 4.0
_CONFIDENCE = 0.95
_CLEAR_LOSS = 0.4  # what a single turn says below it is no noise
_BUSY_SHARE = 0.1  # of the cores, taken by others
_BUSY_SPREAD = 0.25  # between the first and the last tenth of a function's times, of their median


@dataclass(frozen=True)
class Figures:
    """NumPy's time beside the tuned function's. `numpy_ns / tuned_ns` is `ratio`."""

    numpy_ns: float
    tuned_ns: float  # of a call as users make it; on a device of its kernels, with the data there
    ratio: float  # the median over turns
    ratio_low: float | None = None  # of its 95 % interval, or of all turns where they are fewer than six
    ratio_high: float | None = None
    turns: int = 0  # 0: NumPy was timed once, before the search
    numpy_is_cold: bool = False  # NumPy is too slow to be run again: its time is that of its first call
    kernel_ns: float = 0.0  # of the best schedule in the search, without the way from Python to it
    busy: str = ""  # what disturbed the turns

    @classmethod
    def of_evidence(cls, evidence: Mapping[str, Any]) -> Figures | None:
        """Those that `as_evidence` gave; None where there are none."""
        if not evidence.get("numpy_ns") or not evidence.get("tuned_ns"):
            return None
        known = {each.name for each in fields(cls)}
        given = {name: value for name, value in evidence.items() if name in known}
        return cls(**{"ratio": evidence["numpy_ns"] / evidence["tuned_ns"], **given})

    def as_evidence(self) -> dict[str, Any]:
        """For modules, explain() and --json."""
        rounded = {
            name: round(value, 3)
            for name in ("ratio", "ratio_low", "ratio_high")
            if (value := getattr(self, name)) is not None
        }
        return {**asdict(self), **rounded}

    @property
    def wins_clearly(self) -> bool:
        """Whether NumPy is slower by more than any noise: a time that was taken once may be twice as long as others."""
        least = self.ratio_low if self.ratio_low is not None else self.ratio / 2
        return least > CLEARLY

    @property
    def ratio_text(self) -> str:
        """11.4x, 11.2 to 11.7 in 40 turns"""
        if not self.turns:
            return f"about {format_ratio(self.ratio)}"
        if self.ratio_low is None or self.ratio_high is None or self.turns == 1:
            return f"{format_ratio(self.ratio)} in {self.turns} turn{'s' if self.turns > 1 else ''}"
        low, high = (format_ratio(value).removesuffix("x") for value in (self.ratio_low, self.ratio_high))
        return f"{format_ratio(self.ratio)}, {low} to {high} in {self.turns} turns"

    @property
    def numpy_text(self) -> str:
        """31.2 ms"""
        once = COLD if self.numpy_is_cold else "" if self.turns else " (timed once, before the search)"
        return f"{format_ns(self.numpy_ns)}{once}"

    @property
    def kernel_text(self) -> str:
        """What the search saw, where a call takes another time."""
        if not self.kernel_ns or 0.9 < self.tuned_ns / self.kernel_ns < 1.1:
            return ""
        if self.tuned_ns > self.kernel_ns:
            return f", {format_ns(self.kernel_ns)} of it in the kernel"
        return f", {format_ns(self.kernel_ns)} in the search"

    @property
    def loses(self) -> bool:
        """Whether NumPy is the faster one beyond doubt."""
        if self.turns <= 1:
            return self.turns == 1 and self.ratio < _CLEAR_LOSS
        return self.ratio_high is not None and self.ratio_high < 1

    def text(self, place: str = "") -> str:
        """NumPy 31.2 ms -> tuned 2.73 ms (11.4x, 11.2 to 11.7 in 40 turns)"""
        advice = "; NumPy is faster here: keep the function as it is" if self.loses else ""
        busy = f"; the machine was busy: {self.busy}" if self.busy else ""
        return (
            f"NumPy {self.numpy_text} -> tuned {format_ns(self.tuned_ns)}{place} "
            f"({self.ratio_text}{self.kernel_text}){advice}{busy}"
        )


def format_ratio(ratio: float) -> str:
    """11.4x, 0.37x, 153x"""
    return f"{ratio:.0f}x" if ratio >= 100 else f"{ratio:.1f}x" if ratio >= 1 else f"{ratio:.2f}x"


def estimate(numpy_ns: float, tuned_ns: float, is_cold: bool) -> str:
    """For progress lines, before both have taken turns: about 11.4x NumPy"""
    return f"about {format_ratio(numpy_ns / tuned_ns)} NumPy{COLD if is_cold else ''}"


def reserved_s(budget_s: float, numpy_ns: float) -> float:
    """What of a budget is kept for the turns at its end: nothing where not even one of NumPy's calls fits."""
    most = min(_MOST_RESERVED_S, _RESERVED_SHARE * budget_s)
    call_s = 2e-9 * numpy_ns  # and as much again for the tuned one at most
    return 0.0 if call_s > 2 * most else max(0.25 * most, min(most, _MOST_TURNS * call_s), call_s)


def take_turns(
    numpy: datasets.Reference,
    tuned: datasets.Reference,
    call: datasets.Call,
    *,
    limit_s: float,
    known: Figures,
    on_device: bool = False,
) -> tuple[Figures, float]:
    """Both functions in turns for `limit_s`: at least three turns where they fit twice that, one in any case. Their
    figures, and what a call of the tuned one took. Without a limit NumPy's time is the one that is known.

    on_device: the tuned one copies its arguments there and back, which its figures leave out: they have its kernels.
    """
    turns = Turns(numpy, call)
    with np.errstate(all="ignore"):
        tuned_ns = known.kernel_ns
        if tuned_ns < _WARM_NS:  # what is loaded and allocated at a first call is not every call's
            turns.run(tuned.function, calls=1, warm=False)
            tuned_ns = turns.run(tuned.function, calls=10 if tuned_ns < _TURN_NS else 1, warm=False)
        if limit_s <= 0:
            times = [turns.run(tuned.function, _calls_for(tuned_ns), warm=False) for _ in range(_LEAST_TURNS)]
            return _once(known, times, on_device), statistics.median(times)
        watch = MachineWatch()
        numpy_times: list[float] = []
        tuned_times: list[float] = []
        sides = [(numpy.function, known.numpy_ns, numpy_times), (tuned.function, tuned_ns, tuned_times)]
        # A turn is a warm call and the timed ones, of either.
        turn_s = sum(1e-9 * ns * (_calls_for(ns) + (ns < _WARM_NS)) for _, ns, _ in sides)
        least = _CHEAP_TURNS if _CHEAP_TURNS * turn_s <= _CHEAP_S else 1
        start = time.perf_counter()
        while len(numpy_times) < _MOST_TURNS:
            spent = time.perf_counter() - start
            limit = 2 * limit_s if len(numpy_times) < _LEAST_TURNS else limit_s
            if len(numpy_times) >= least and spent + spent / len(numpy_times) > limit:
                break
            # Who goes first changes from turn to turn, so that neither always inherits the other's caches.
            for function, ns, times in sides if len(numpy_times) % 2 == 0 else sides[::-1]:
                times.append(turns.run(function, _calls_for(ns), warm=ns < _WARM_NS))
    return _figures(numpy_times, tuned_times, known, on_device, watch.words()), statistics.median(tuned_times)


def _once(known: Figures, tuned_times: list[float], on_device: bool) -> Figures:
    tuned_ns = known.kernel_ns if on_device else statistics.median(tuned_times)
    return replace(known, tuned_ns=tuned_ns, ratio=known.numpy_ns / tuned_ns)


def _figures(
    numpy_times: list[float], tuned_times: list[float], known: Figures, on_device: bool, others: str
) -> Figures:
    ours = [known.kernel_ns] * len(tuned_times) if on_device else tuned_times
    ratios = sorted(theirs / mine for theirs, mine in zip(numpy_times, ours, strict=True))
    ratio = statistics.median(ratios)
    tuned_ns = statistics.median(ours)
    outside = _outside_each_end(len(ratios))
    words = [others] if others else []
    for name, times in (("NumPy's", numpy_times), ("the tuned", tuned_times)):
        spread = _spread(times)
        if spread > _BUSY_SPREAD:
            words.append(f"{name} times spread by {100 * spread:.0f} %")
    return Figures(
        # The median of the ratios is not the ratio of the medians; what is printed has to agree with itself.
        numpy_ns=tuned_ns * ratio,
        tuned_ns=tuned_ns,
        ratio=ratio,
        ratio_low=ratios[outside],
        ratio_high=ratios[-1 - outside],
        turns=len(ratios),
        kernel_ns=known.kernel_ns,
        busy=", ".join(words),
    )


def _outside_each_end(count: int) -> int:
    """How many of `count` sorted values lie below the interval of their median, and above: by the signs alone, which
    needs no distribution of the values."""
    tail, outside = 0.0, 0
    while outside < count // 2:
        tail += math.comb(count, outside) / 2**count
        if 2 * tail > 1 - _CONFIDENCE:
            break
        outside += 1
    return max(0, outside - 1)


def _spread(times: list[float]) -> float:
    if len(times) < 4:
        return 0.0
    tenths = statistics.quantiles(times, n=10, method="inclusive")
    return (tenths[-1] - tenths[0]) / statistics.median(times)


def _calls_for(ns: float) -> int:
    return max(1, min(_MOST_CALLS, math.ceil(_TURN_NS / max(ns, 1.0))))


class Turns:
    """Calls of functions on one set of arguments, which are put back where `reference` writes into them."""

    def __init__(self, reference: datasets.Reference, call: datasets.Call) -> None:
        fresh = reference.fresh(call)
        self._reference, self._args, self._kwargs = reference, fresh.args, fresh.kwargs
        # What calls make of objects would lead later ones to what no call was traced for: to NumPy, and to what it prints and writes.
        self._anew = call if reference.sets_objects else None
        self._before, self._after = reference.written(call), reference.written(fresh)
        self.writes = bool(self._after) or self._anew is not None

    def run(self, function: Callable[..., Any], calls: int, warm: bool) -> float:
        """The time of one call, in nanoseconds."""
        with self._reference.drawing_anew():
            return self._timed(function, calls, warm)

    def _timed(self, function: Callable[..., Any], calls: int, warm: bool) -> float:
        if warm:
            self._put_back()
            function(*self._args, **self._kwargs)
        spent = 0
        if self._anew is not None:
            calls = min(calls, _MOST_ANEW)
        at_once = 1 if self.writes else calls
        for _ in range(calls // at_once):
            self._put_back()
            args, kwargs = self._args, self._kwargs
            before = time.perf_counter_ns()
            for _ in range(at_once):
                function(*args, **kwargs)
            spent += time.perf_counter_ns() - before
        return spent / calls

    def _put_back(self) -> None:
        if self._anew is not None:
            fresh = self._reference.fresh(self._anew)
            self._args, self._kwargs = fresh.args, fresh.kwargs
            return
        for name, array in self._after.items():
            array[...] = self._before[name]


class MachineWatch:
    """Who else used the cores of this process since it began."""

    def __init__(self) -> None:
        self._cores = usable_cores()
        self._start = self._now()

    def words(self) -> str:
        """ "other processes took 0.9 of 2 cores"; nothing where they were quiet, or where the system does not say."""
        if self._start is None or (now := self._now()) is None:
            return ""
        wall_s, busy_s, stolen_s, own_s = (after - before for after, before in zip(now, self._start, strict=True))
        if wall_s < 0.05:
            return ""
        others, stolen = (busy_s - own_s) / wall_s, stolen_s / wall_s
        words = []
        # The system counts in hundredths of a second.
        if others > _BUSY_SHARE * self._cores + 0.02 * self._cores / wall_s:
            words.append(f"other processes took {min(others, self._cores):.1f} of {self._cores} cores")
        if stolen > _BUSY_SHARE * self._cores:
            words.append(f"other machines took {min(stolen, self._cores):.1f} of {self._cores} cores")
        return ", ".join(words)

    def _now(self) -> tuple[float, float, float, float] | None:
        """Seconds: of the clock, busy cores, cores taken by the host's other guests, and cores of this process."""
        with suppress(OSError, ValueError, IndexError):
            tick = os.sysconf("SC_CLK_TCK")
            mine = os.sched_getaffinity(0)
            busy = stolen = 0
            with open("/proc/stat", encoding="utf-8") as file:
                for line in file:
                    name, *counts = line.split()
                    if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in mine:
                        user, nice, system, _, _, irq, soft, steal = (int(count) for count in counts[:8])
                        busy += user + nice + system + irq + soft
                        stolen += steal
            own = resource.getrusage(resource.RUSAGE_SELF)
            return time.perf_counter(), busy / tick, stolen / tick, own.ru_utime + own.ru_stime
        return None
