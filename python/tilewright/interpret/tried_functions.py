"""A function of the user's, or a loop of one, that Python runs between kernels: its calls are measured, compiled once they were
seen to take long, and left to what is faster."""

from __future__ import annotations

import sys
import time
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..effects import Settling
from .handed_values import NUMBERS, is_plain
from .inner_loops import InnerLoop
from .inner_names import has_levels
from .inner_tries import here

# Calls that took so long altogether, and each of them so long, are worth a compilation.
_WORTH_S, _CALL_S, _LOOP_S = 0.02, 2e-6, 2e-5
_EARLY_WORTH_S = 0.004  # in the first runs, in which tries are free
_LOOKED = 4  # of a function in one that may be compiled with it: calls that are looked at, each of which may be long
_SEEN = 64  # calls after which a function whose calls are short is called as it is
_MEASURED = 8  # one of so many calls behind those
_COMPARED, _FASTER = 3, 0.8  # calls of compiled code at least, and what they may take of Python's time
_MOST_MISSES, _MOST_MISSES_S = 40, 5.0  # calls that compile, trace or go to NumPy
DEEPER_S = 1e-4  # of each call: looking at what it calls takes a microsecond or two

# Makes what runs a function for Python and looks at what it calls in its turn; the function itself, where there is nothing.
RunInside = Callable[[types.FunctionType], Any]


def kept(function: types.FunctionType, name: str, made: Callable[[types.FunctionType], Any]) -> Any:
    """What the function itself keeps alive; functools.wraps() gives it to other functions too."""
    owner, held = getattr(function, name, (None, None))
    if owner is not function:
        held = made(function)
        setattr(function, name, (function, held))
    return held


def measured_inside(function: types.FunctionType, run_inside: RunInside) -> Callable[..., Any]:
    """The function, for Python to run: what takes long in it is measured, and nothing is tried as yet."""

    def run(*args: Any, **kwargs: Any) -> Any:
        here.undecided += 1
        try:
            return run_inside(function)(*args, **kwargs)
        finally:
            here.undecided -= 1

    return run


class TriedFunction:
    """A function that others call. Its cell holds what is called: first what measures it, then what measures the compiled
    function, then the faster one."""

    def __init__(self, function: types.FunctionType, run_inside: RunInside) -> None:
        self.function, self._run_inside = function, run_inside
        self.plain, self.as_it_is, self.compiled_calls, self.misses = _Calls(), _Calls(), _Calls(), _Calls()
        self._has_levels = has_levels(function)
        self.least_s = _CALL_S
        self.compiled: Any = None
        self.is_given_up = self.is_left = self._is_running = False
        self.is_waiting = False  # for what a call shows that goes on
        self._unmeasured = 0  # calls before the next one that is measured
        self._looks = 0  # calls of which it was looked at what they are handed, and give
        self.cell = types.CellType(self._looked_at(self._measured(self._undecided(), self._note_plain)))

    def _undecided(self) -> Callable[..., Any]:
        """What runs it before it is known whether it is compiled: loops and functions in it, which are compiled where it is
        not, are measured in the same calls."""
        return measured_inside(self.function, self._run_inside) if self._has_levels else self.function

    @property
    def was_called(self) -> bool:
        return self.plain.count > 0

    @property
    def runs(self) -> list[Any]:
        """What runs its calls, where that is not Python alone."""
        run = self.cell.cell_contents
        return [] if self.is_given_up and run is self.function else [run]

    def try_again(self) -> None:
        """A function that waited until runs had paid for another try."""
        if self.compiled is None and not self.is_given_up:
            self.cell.cell_contents = self._looked_at(self._measured(self._undecided(), self._note_plain))

    def _looked_at(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, which stays as it is where a call shows that others may see what it is handed, or gives: compiled
        code works on memory of its own."""

        def call(*args: Any, **kwargs: Any) -> Any:
            if self._looks >= _SEEN and self.cell.cell_contents is call:
                self.cell.cell_contents = function
            if self._is_running or self._looks >= (_LOOKED if here.undecided else _SEEN):
                return function(*args, **kwargs)
            with here.looking():
                self._looks += 1
                # Numbers and texts have no memory of theirs, and small ones are shared by all of Python.
                given = [one for one in self._handed(args, kwargs) if not isinstance(one, NUMBERS)]
                before = list(map(sys.getrefcount, given))
            result = function(*args, **kwargs)
            with here.looking():
                parts = range(len(result)) if type(result) is tuple else ()
                counts = [sys.getrefcount(result[k]) for k in parts if type(result[k]) is np.ndarray]
                counts += [sys.getrefcount(result)] if type(result) is np.ndarray else []
                is_apart = all(map(is_plain, given)) and list(map(sys.getrefcount, given)) == before
                is_apart = is_apart and self._is_handed_alike(args, kwargs, given)
                if not is_apart or max(counts, default=0) > _ONE_OWNER or not _is_new(result, given):
                    self._leave_as_it_is()
            return result

        return call

    def _leave_as_it_is(self) -> None:
        """It is not compiled as a whole; whether to look at what it calls, later calls tell: the first one may be short."""
        if self.compiled is not None or self.plain.took_s > DEEPER_S:
            self._give_up()
        else:
            self.is_left = True
            self.cell.cell_contents = self._measured(self.function, self._note_plain)

    def _handed(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        """What compiled code is handed in such a call."""
        return [*args, *kwargs.values()]

    def _is_handed_alike(self, args: Sequence[Any], kwargs: Mapping[str, Any], given: Sequence[Any]) -> bool:
        """Whether what was handed is of the types that it was, behind the call."""
        return True

    def _compiled(self) -> Any:
        return _compiled(self.function)

    def _measured(self, function: Callable[..., Any], note: Callable[[float, bool], None]) -> Callable[..., Any]:
        """`note` gets the seconds of each call, and whether something was found out meanwhile that takes its own time."""
        clock = time.perf_counter

        def call(*args: Any, **kwargs: Any) -> Any:
            if self._unmeasured or self._is_running:
                self._unmeasured -= not self._is_running
                return function(*args, **kwargs)
            self._is_running = True
            account, events, looked_s, begun = here.account, Settling.events, here.looked_s, clock()
            tried_s = account.tried_s if account is not None else 0.0
            try:
                return function(*args, **kwargs)
            finally:
                self._is_running = False
                took_s, is_settling = clock() - begun - (here.looked_s - looked_s), Settling.events != events
                if account is None or account.is_early:  # later tries are rare
                    Settling.measured_s += took_s
                if account is not None and is_settling and self.compiled is not None:
                    account.tried_s = max(account.tried_s, tried_s + took_s)  # what it calls has counted its own
                was = self.cell.cell_contents
                note(took_s, is_settling)
                Settling.events += self.cell.cell_contents is not was

        return call

    def _note_plain(self, took_s: float, _: bool) -> None:
        is_often = self.plain.count >= _SEEN
        self.plain.add(took_s, _MEASURED if is_often else 1)
        self._unmeasured = _MEASURED - 1 if is_often else 0
        self.decide()

    def decide(self) -> None:
        """Whether its calls, as far as they were seen, are worth a compilation. What calls it may be compiled with it, as long
        as that is undecided."""
        if here.undecided or self.compiled is not None or self.is_given_up or not self.plain.count:
            return
        if self.cell.cell_contents is self.function:
            return  # it waits for time to be tried
        worth_s = _WORTH_S if here.account is None or not here.account.is_early else _EARLY_WORTH_S
        if self.plain.count < _SEEN and (self.plain.took_s <= worth_s or self.is_waiting):
            return
        if self.plain.mean_s < (DEEPER_S if self.is_left else self.least_s):
            self.cell.cell_contents, self.is_given_up = self.function, True
        elif self.plain.took_s > worth_s and here.account is not None and not here.account.may_try:
            here.account.waiting.append(self)
            self.cell.cell_contents = self.function
        elif self.plain.took_s > worth_s:
            self._unmeasured = 0
            self.compiled = None if self.is_left else self._compiled()
            if self.compiled is None:
                self._give_up()
            else:
                self.cell.cell_contents = self._first_compiled

    def _first_compiled(self, *args: Any, **kwargs: Any) -> Any:
        """Where a trace refuses the call, what is in it is tried in this very call."""
        if here.undecided:
            return self.function(*args, **kwargs)
        account, begun = here.account, time.perf_counter()
        is_followed = self.compiled.is_followed(args, kwargs)
        if account is not None:
            account.tried_s += time.perf_counter() - begun
        if is_followed:
            self.cell.cell_contents = self._measured(self.compiled, self._note_compiled)
        else:
            self._give_up()
        Settling.events += 1
        return self.cell.cell_contents(*args, **kwargs)

    def _note_waiting(self, *_: Any) -> None:
        if not self.compiled.waits:
            self.cell.cell_contents = self._measured(self.compiled, self._note_compiled)

    def _note_compiled(self, took_s: float, is_settling: bool) -> None:
        if self.compiled.waits:  # another thread builds what the call needs
            self.cell.cell_contents = self._measured(self.function, self._note_waiting)
            return
        (self.misses if is_settling else self.compiled_calls).add(took_s)
        calls = self.compiled_calls
        is_numpys = self.compiled.numpy_calls >= max(_COMPARED, calls.count)
        is_missed = self.misses.count > _MOST_MISSES or self.misses.took_s > _MOST_MISSES_S
        if self.compiled.refusals or is_numpys or is_missed:
            self._give_up()
        elif calls.count >= _SEEN or (calls.count >= _COMPARED and calls.took_s > _WORTH_S):
            if self._has_levels:  # which were measured, too: how long is it as it is?
                self.cell.cell_contents = self._measured(self.function, self._note_as_it_is)
            else:
                self._choose()

    def _note_as_it_is(self, took_s: float, _: bool) -> None:
        self.as_it_is.add(took_s)
        if self.as_it_is.took_s > _WORTH_S / 4 or self.as_it_is.count >= _SEEN / 4:
            self.plain = self.as_it_is
            self._choose()

    def _choose(self) -> None:
        if self.compiled_calls.mean_s < _FASTER * self.plain.mean_s:
            self.cell.cell_contents = self.compiled
        else:
            self._give_up()

    def _give_up(self) -> None:
        """It is Python's; what it calls may be compiled in its turn."""
        self.is_given_up = True
        run: Any = self._run_inside(self.function) if self.plain.mean_s > DEEPER_S else self.function
        if run is not self.function:
            run.decide()
        self.cell.cell_contents = run


class TriedLoop(TriedFunction):
    """A loop, as a function of its own that nobody else calls."""

    def __init__(self, loop: InnerLoop, run_inside: RunInside) -> None:
        self.loop = loop
        self.kinds: tuple[Any, ...] | None = None  # as its last call has them
        super().__init__(loop.function, run_inside)
        self.least_s = _LOOP_S

    def _handed(self, args: Sequence[Any], _: Mapping[str, Any]) -> Sequence[Any]:
        handed = self.loop.uses.handed(args)
        self.kinds = None if handed is None else handed.kinds
        self.is_waiting = handed is None and self.loop.uses.waits_for_items(args)
        self._lengths = self.loop.uses.lengths(args)
        if self.is_waiting:
            return list(filter(is_plain, args))
        return args if handed is None else handed.values

    def _leave_as_it_is(self) -> None:
        self._give_up()

    def _is_handed_alike(self, args: Sequence[Any], kwargs: Mapping[str, Any], given: Sequence[Any]) -> bool:
        """A list whose items get another type is no array's."""
        self.loop.uses.note_filled(args, self._lengths)
        # Queues are empty behind the loop; of what kind lists are the results of compiled code say then.
        if not any(self.kinds or ()) or self.loop.uses.queues:
            return True
        kinds = self.kinds
        behind = [one for one in self._handed(args, kwargs) if not isinstance(one, NUMBERS)]
        types_then, types_now = ([getattr(one, "dtype", None) for one in held] for held in (given, behind))
        if self.kinds == kinds and types_then == types_now:
            return True
        self.kinds = None
        return False

    def _compiled(self) -> Any:
        return None if self.kinds is None else self.loop.compiled(self.kinds, Settling.compiled)


class _Calls:
    """How many, and how long they took."""

    def __init__(self) -> None:
        self.count, self.took_s = 0, 0.0

    def add(self, took_s: float, times: int = 1) -> None:
        self.count += times
        self.took_s += took_s * times

    @property
    def mean_s(self) -> float:
        return self.took_s / self.count


def _compiled(function: types.FunctionType) -> Any:
    return kept(function, "__tilewright_compiled__", Settling.compiled)


_ONE_OWNER = 2  # references: that of the variable or the tuple, and that of the call which counts them


def _is_new(result: Any, given: Sequence[Any]) -> bool:
    """Whether a result is of numbers and of arrays that share no memory with what was given."""
    if type(result) is tuple:
        return all(type(one) is not tuple and _is_new(one, given) for one in result)
    if type(result) is list:
        return all(isinstance(one, NUMBERS) for one in result)
    if type(result) is not np.ndarray:
        return isinstance(result, NUMBERS)
    is_own = result.base is None and not result.dtype.hasobject
    return is_own and not any(np.may_share_memory(result, one) for one in given if type(one) is np.ndarray)
