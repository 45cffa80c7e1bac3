"""Whether NumPy is faster than a version that is new, which is asked once, at the call that the version was made for.

Both sides of a short call run a few times, of a very short one many times between two looks at the clock. Of a long one NumPy
runs until it has taken longer than compiled code, and is stopped there: the first call takes some twice its own time, whatever
NumPy would have taken.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from .binding import Bound
from .datasets import Call, Reference, TookTooLong, call_within
from .effects import generators_in
from .failed_traces import is_of_a_handler
from .light_dataclass import dataclass
from .machine import available_memory_bytes, lost_processors
from .operations import VIEWS
from .program import Program, evaluate
from .trials import CLEARLY

_SHORT_NS = 2_000_000  # calls up to this long run a few times
_LEAST_TRIALS, _MOST_TRIALS, _TRIALS_NS = 5, 100, 3_000_000  # of each side
_MOST_RUNS = 60  # of both sides together, in the time of compiled code's: few calls may be all there are
_DISTURBED_NS = (
    10_000_000,
    30_000_000,
)  # of both sides, once more, where a loss was measured while others took the processor
_LONG_TRIALS = 3  # of each side, where the first ones say that NumPy is faster, or that it is not much slower
_MOST_LONG_TRIALS = 6  # where others take the processor meanwhile, and compiled code seems to lose
_COLD_NS = 5_000_000  # a first run takes up to so much longer: it fills caches, takes pages, starts threads
_PATIENCE = 1.25  # NumPy may take that much longer than a long compiled call; both are cold
_WORTH, _WORTH_LONG = 1.02, 1.05
_WORTH_NS = 25  # what a call takes to be told from others and left to NumPy
_LOOPED_NS, _LOOP_NS, _LOOPS = 20_000, 40_000, 12  # calls up to the first run by the loop, which takes the second
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype, np.random.Generator)

_Run = Callable[..., int]  # of one side, with a limit or without


@dataclass(frozen=True)
class Times:
    """The shortest runs of both sides; `numpy_ns` is a lower bound where NumPy was stopped."""

    compiled_ns: int
    numpy_ns: int
    is_disturbed: bool = False  # another process had the processor meanwhile

    @property
    def loses(self) -> bool:
        """Whether compiled code is slower by more than a call's noise."""
        worth = _WORTH if self.compiled_ns <= _SHORT_NS else _WORTH_LONG
        return self.compiled_ns > self.numpy_ns * worth + _WORTH_NS

    @property
    def wins_clearly(self) -> bool:
        """Whether NumPy is slower by more than any noise: no later process need ask that again."""
        return self.numpy_ns > self.compiled_ns * CLEARLY

    @property
    def loses_clearly(self) -> bool:
        """The same of compiled code, while nothing else ran."""
        return (
            not self.is_disturbed
            and self.compiled_ns > self.numpy_ns * CLEARLY
            and self.compiled_ns - self.numpy_ns > _WORTH_NS
        )


def compare(
    run_compiled: Callable[[Call], Any], reference: Reference, call: Call, bound: Bound, compiled_itself: Any = None
) -> Times | None:
    """The times of a call under compiled code and in NumPy; None where it cannot run twice, or NumPy lacks the memory.

    Neither side writes into the caller's arrays or moves its random generators: both get copies. A call that NumPy
    refuses is not compared. `compiled_itself`: what later calls are made of, where the plan runs them without Python.
    """
    if (reference.needs_copies and not _can_be_copied(call, bound)) or temporary_bytes(
        reference.program, bound.sizes
    ) > available_memory_bytes() // 2:
        return None

    def runs_of(function: Callable[[Call], Any]) -> _Run:
        return lambda limit_ns=None: _time(function, reference.fresh(call), limit_ns)

    compiled, numpy = runs_of(run_compiled), runs_of(reference.run)
    before = lost_processors()
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the call itself gives them, once
            # Where the plan runs later calls without Python, the shortest ones are looped over.
            may_loop = not reference.needs_copies and compiled_itself is not None
            times = _compare_each(compiled, numpy, may_loop)
            longest = max(times.compiled_ns, times.numpy_ns)
            if may_loop and longest <= _LOOPED_NS:
                times = _best_of_loops(compiled_itself, reference.function, call, _LOOP_NS // max(longest, 1))
            return replace(times, is_disturbed=lost_processors() != before)
    except Exception as error:  # what the call raises, the call itself will raise
        if is_of_a_handler(error):
            raise
        return None


def _compare_each(compiled: _Run, numpy: _Run, may_loop: bool) -> Times:
    """Of runs that the clock stands around, each. Those of calls that are short enough to be looped over say just that."""
    first = compiled()
    if _SHORT_NS < first <= _SHORT_NS + _COLD_NS:
        first = min(first, compiled())
    if may_loop and first <= _SHORT_NS and (second := compiled()) <= _LOOPED_NS:
        theirs = numpy()
        # Another process may have had the processor for a turn: one run says that NumPy takes no longer, and not that it does.
        theirs = min(theirs, numpy(None if theirs <= _LOOPED_NS else _SHORT_NS))
        if theirs <= _LOOPED_NS or theirs >= _SHORT_NS:
            return Times(second, theirs)
    if first <= _SHORT_NS:
        return _best_undisturbed(compiled, numpy, first)
    times = _compare_long(compiled, numpy, first)
    if times.loses and times.numpy_ns <= _SHORT_NS:
        return _best_undisturbed(compiled, numpy, times.compiled_ns)
    return times


def _compare_long(compiled: _Run, numpy: _Run, first_ns: int) -> Times:
    limit_ns = max(int(_PATIENCE * first_ns), first_ns + _COLD_NS)
    before = lost_processors()
    times = Times(first_ns, numpy(limit_ns))
    for number in range(_MOST_LONG_TRIALS - 1):
        if number >= _LONG_TRIALS - 1 and (not times.loses or lost_processors() == before):
            break
        is_clear = times.numpy_ns - times.compiled_ns >= _COLD_NS
        if is_clear or (not times.loses and times.compiled_ns * (_WORTH - 1) >= _COLD_NS):
            break
        times = Times(min(times.compiled_ns, compiled()), min(times.numpy_ns, numpy(limit_ns)))
    return times


def _best_undisturbed(compiled: _Run, numpy: _Run, first_ns: int) -> Times:
    """Code of several threads waits for the one whose processor another process has, and NumPy's of one thread does not:
    what that says of a few milliseconds does not hold for later calls."""
    before, most_ns = lost_processors(), _MOST_RUNS * first_ns
    times = _best_in_turn(compiled, numpy, min(2 * _TRIALS_NS, most_ns), first_ns)
    for for_ns in _DISTURBED_NS:
        if not times.loses or lost_processors() == before:
            break
        more = _best_in_turn(compiled, numpy, min(for_ns, 5 * most_ns), times.compiled_ns)
        times = Times(more.compiled_ns, min(times.numpy_ns, more.numpy_ns))
    return times


def _best_in_turn(compiled: _Run, numpy: _Run, for_ns: int, known_ns: int) -> Times:
    """The shortest of some runs of both sides, in turn: what else goes on slows both down; few where NumPy takes long.
    `known_ns`: of an earlier run of compiled code."""
    ours: list[int] = []
    theirs: list[int] = []
    while len(ours) < _LEAST_TRIALS or (sum(ours) + sum(theirs) < for_ns and len(ours) < _MOST_TRIALS):
        ours.append(compiled())
        theirs.append(numpy())
        if len(ours) > 1 and min(theirs) > 20 * _SHORT_NS:
            break
    return Times(min(known_ns, *ours), min(theirs))


def _best_of_loops(compiled: Callable[..., Any], numpy: Callable[..., Any], call: Call, count: int) -> Times:
    """Likewise, of many runs at a time: looking at the clock takes some 50 ns, a twentieth of the shortest calls."""
    times: tuple[list[int], list[int]] = [], []
    args, kwargs = call.args, call.kwargs
    for _ in range(_LOOPS):
        for function, taken in zip((compiled, numpy), times, strict=True):
            start = time.perf_counter_ns()
            for _ in range(count):
                function(*args, **kwargs)
            taken.append((time.perf_counter_ns() - start) // count)
    return Times(min(times[0]), min(times[1]))


def _time(function: Callable[[Call], Any], call: Call, limit_ns: int | None) -> int:
    """How long a run takes; the limit, where it was stopped."""
    start = time.perf_counter_ns()
    if limit_ns is None:
        function(call)
    else:
        try:
            call_within(limit_ns / 1e9, lambda: function(call))
        except TookTooLong:
            return limit_ns
    return time.perf_counter_ns() - start


def temporary_bytes(program: Program, sizes: Mapping[str, int]) -> int:
    """About what NumPy holds at a time: the two largest arrays that an operation makes, and all results."""
    made: dict[str, int] = {}
    for value in program.values:
        if value.operation in VIEWS or value.operation == "const":
            continue
        with suppress(KeyError, ValueError, ZeroDivisionError):  # an extent that only the run knows
            extents = [evaluate(extent, sizes) for extent in value.shape]
            made[value.name] = math.prod(extents) * np.dtype(value.dtype).itemsize
    return sum(sorted(made.values())[-2:]) + sum(made.get(name, 0) for name in program.results)


def _can_be_copied(call: Call, bound: Bound) -> bool:
    """Whether a copy is cheap and without effects: arrays and plain values, and memory for them. Generators that are defaults of
    parameters are no part of the call."""
    if not set(map(id, bound.generators.values())) <= set(map(id, generators_in((call.args, call.kwargs)))):
        return False
    values = (*call.args, *call.kwargs.values())
    needed = sum(value.nbytes for value in values if isinstance(value, np.ndarray))
    plain = all(isinstance(value, _PLAIN) or type(value) is np.ndarray for value in values)
    return plain and needed <= available_memory_bytes() // 3
