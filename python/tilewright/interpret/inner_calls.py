"""Functions of the user's that are called by what Python runs between kernels: each is compiled by itself once its calls
were seen to take long. What Python has to run is then a few lines, not all that they call."""

from __future__ import annotations

import ast
import copy
import sys
import time
import types
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ..described_results import is_part
from ..effects import LONG_CALL_S, Settling
from ..signatures import parts_of
from ..taken_ways import Site
from .handed_values import NUMBERS, is_plain
from .inner_loops import InnerLoop, LoopsByCells, cell_of, loops_of
from .inner_names import PREFIX, Renamed, called_in, has_levels, looked_up, text_of
from .inner_objects import MadeBy, Method, MethodsByCells, methods_called
from .inner_tries import Account, Turns, here
from .outlined import has_private_names, in_closure
from .source import site_of

# Calls that took so long altogether, and each of them so long, are worth a compilation.
_WORTH_S, _CALL_S, _LOOP_S = 0.02, 2e-6, 2e-5
_EARLY_WORTH_S = 0.004  # in the first runs, in which tries are free
_LOOKED = 4  # of a function in one that may be compiled with it: calls that are looked at, each of which may be long
_SEEN = 64  # calls after which a function whose calls are short is called as it is
_MEASURED = 8  # one of so many calls behind those
_NEVER = 256  # calls of a function that do not come to a place: Python does not look at it there any more
_COMPARED, _FASTER = 3, 0.8  # calls of compiled code at least, and what they may take of Python's time
_MOST_MISSES, _MOST_MISSES_S = 40, 5.0  # calls that compile, trace or go to NumPy
_DEEPER_S = 1e-4  # of each call: looking at what it calls takes a microsecond or two
_SHORT_CALLS = 16  # of a method that take less than a long call: none is looked at behind them


def inner_calls_of(function: types.FunctionType) -> InnerCalls:
    """One for all places that call the function: what is found out at one of them holds at all."""
    known: InnerCalls = _kept(function, "__tilewright_inner_calls__", InnerCalls)
    return known


def calls_what_is_compiled(function: types.FunctionType) -> bool:
    """Whether it calls a function of the user's that was found worth a compilation elsewhere."""
    node = text_of(function)
    called = (
        [] if node is None else [one for _, one in called_in(function, node) if isinstance(one, types.FunctionType)]
    )
    return any(one.compiled is not None and not one.is_given_up for one in map(_inner_of, called))


def _kept(function: types.FunctionType, name: str, made: Callable[[types.FunctionType], Any]) -> Any:
    """What the function itself keeps alive; functools.wraps() gives it to other functions too."""
    owner, held = getattr(function, name, (None, None))
    if owner is not function:
        held = made(function)
        setattr(function, name, (function, held))
    return held


def run_by_python(function: Any) -> Callable[..., Any]:
    """The function, for Python to run: what takes long in it is compiled by and by."""
    inner = inner_calls_of(function)
    return inner if inner.calls_others else function


def measured_inside(function: types.FunctionType) -> Callable[..., Any]:
    """The function, for Python to run: what takes long in it is measured, and nothing is tried as yet."""

    def run(*args: Any, **kwargs: Any) -> Any:
        here.undecided += 1
        try:
            return run_by_python(function)(*args, **kwargs)
        finally:
            here.undecided -= 1

    return run


class RunByPython:
    """A method, that Python runs: where its calls are not all short, what takes long in them is compiled by and by."""

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function
        self._with_levels = run_by_python(function) if has_levels(function) else function
        self._seen, self._took_s = 0, 0.0
        self._run: Callable[..., Any] = self._measured

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._run(*args, **kwargs)

    def _measured(self, *args: Any, **kwargs: Any) -> Any:
        begun, looked_s = time.perf_counter(), here.looked_s
        try:
            return self._with_levels(*args, **kwargs)
        finally:
            self._seen += 1
            self._took_s += time.perf_counter() - begun - (here.looked_s - looked_s)
            if self._took_s > max(LONG_CALL_S, _DEEPER_S * self._seen):
                self._settle(self._with_levels)
            elif self._seen >= _SHORT_CALLS:
                self._settle(self.function)

    def _settle(self, run: Callable[..., Any]) -> None:
        self._run = run
        Settling.events += 1

    @property
    def was_called(self) -> bool:
        return self._seen > 0

    @property
    def runs(self) -> list[Any]:
        """What runs its calls, where that is not Python alone."""
        return [] if self._run is self.function else [self._run]


class InnerCalls:
    """A function in which Python calls other functions of the user's, which may be compiled by and by."""

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function
        self._inner: dict[str, _Inner | MadeBy] = {}
        self._named: list[tuple[dict[str, Any], str, Any]] = []  # where those names are looked up, and what they are of
        self._methods: dict[str, Method] = {}
        self._loops: dict[Site, _InnerLoop] = {}
        self._left: set[Any] = set()  # loops, and names of methods, that are Python's alone
        self._call: Callable[..., Any] | None = None
        self._made_of = parts_of(function)
        self._is_running = False
        self._runs, self._known_events = 0, -1
        self._account, self._turns = Account(), Turns()
        self._alone: dict[Site, InnerLoop | None] = {}
        self._is_made = self._called_others = self._had_levels = False

    def _make_once(self) -> None:
        """It takes some milliseconds, and many that a trace thinks of are never called."""
        if self._is_made:
            return
        node = text_of(self.function)
        if isinstance(node, ast.FunctionDef) and not has_private_names(self.function, node):
            self._node = node
            with suppress(RecursionError):  # expressions that are nested too deep to be looked into
                self._make()
        self._is_made = True

    @here.looking()
    def _make(self) -> None:
        function, left = self.function, self._left
        loops = {site_of(one.node): one for one in loops_of(function, self._node, left, self._alone)}
        self._loops = {site: self._loops.get(site) or _InnerLoop(one) for site, one in loops.items()}
        node: Any = LoopsByCells(loops).visit(copy.deepcopy(self._node))
        called = {name: one for name, one in called_in(function, node) if name not in left}
        methods = set(methods_called(function, node)) - left
        if not self._is_made:
            self._had_levels = bool(loops or called)
            self._called_others = self._had_levels or bool(methods)
        inner = {
            name: self._inner.get(name) or (MadeBy(one, RunByPython) if isinstance(one, type) else _inner_of(one))
            for name, one in called.items()
        }
        self._inner = {
            name: one for name, one in inner.items() if one.runs
        }  # others may have found out that it is Python's
        own = function.__code__.co_freevars
        self._named = [({} if name in own else function.__globals__, name, called[name]) for name in self._inner]
        self._methods = {name: self._methods.get(name) or Method(name, RunByPython) for name in methods}
        node = Renamed(set(self._inner)).visit(MethodsByCells(methods, PREFIX).visit(node))
        cells = {PREFIX + name: one.cell for name, one in self._inner.items()}
        cells |= {PREFIX + one.name: one.cell for one in self._methods.values()}
        cells |= {cell_of(site): one.cell for site, one in self._loops.items()}
        self._call = in_closure(node, function, cells, function.__qualname__) if cells else None

    def leave_long_loops(self) -> None:
        """A trace of the function found too many operations: loops that call functions have them too, so the functions are
        tried by themselves."""
        self._make_once()
        if self._call is None:
            return
        long = {site for site, one in self._loops.items() if any(called_in(self.function, one.loop.node))}
        if long - self._left:
            self._left |= long
            self._make()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._make_once()
        if self._call is None:
            return self.function(*args, **kwargs)
        if self._is_running:  # what recursion calls was looked at by the outermost call
            return self._call(*args, **kwargs)
        self._runs += 1
        if self._known_events != Settling.events or self._runs == _NEVER:
            self._known_events = Settling.events
            self._leave_what_is_pythons()
        is_as_it_was = self._made_of == parts_of(self.function)
        for scope, name, one in self._named:
            is_as_it_was = is_as_it_was and (scope.get(name) is one or looked_up(self.function, name) is one)
        # Statements as a function are handed the variables that are set; where loops are called, all have to be.
        may_lack = self._loops and is_part(self.function) and len(kwargs) < len(self.function.__kwdefaults__ or ())
        if self._call is None or not is_as_it_was or may_lack:
            return self.function(*args, **kwargs)
        self._is_running = True
        try:
            return self._call(*args, **kwargs) if here.account is not None else self._outermost(*args, **kwargs)
        finally:
            self._is_running = False

    def _outermost(self, *args: Any, **kwargs: Any) -> Any:
        assert self._call is not None
        account = here.account = self._account
        account.begin()
        if account.is_early:
            self.decide()
        is_plain = self._turns.is_plain(Settling.events)
        begun, tried_s = time.perf_counter(), account.tried_s
        try:
            return (self.function if is_plain else self._call)(*args, **kwargs)
        finally:
            here.account = None
            took_s = time.perf_counter() - begun
            account.ran_s += took_s - (account.tried_s - tried_s)
            if self._turns.loses(is_plain, took_s):
                self._call = None  # it is Python's
                Settling.events += 1

    def decide(self) -> None:
        """What calls that were only measured have shown to take long is tried from now on."""
        self._make_once()
        for one in (*self._loops.values(), *self._inner.values()):
            if isinstance(one, _Inner):
                one.decide()

    def _leave_what_is_pythons(self) -> None:
        """Nothing stands between Python and what it runs itself."""
        known: dict[Any, Any] = {**self._loops, **self._methods, **self._inner}
        given_up = {key for key, one in known.items() if not _may_gain(one, set())}
        if self._runs >= _NEVER:
            given_up |= {key for key, one in known.items() if not one.was_called}
        if given_up - self._left:
            self._left |= given_up
            self._make()
            Settling.events += 1  # those that call it may have nothing left to look at

    def may_gain(self, seen: set[int]) -> bool:
        """Whether something in it, or in what it calls, is compiled or may be. `seen`: by identity, those that are asked
        already: recursion leads back to them."""
        self._make_once()
        if self._call is None or id(self) in seen:
            return False
        seen.add(id(self))
        return any(
            _may_gain(one, seen) for one in (*self._loops.values(), *self._methods.values(), *self._inner.values())
        )

    def end_free_tries(self) -> None:
        """What is in it was tried before, as parts of a plan."""
        self._account.end_free_runs()

    @property
    def calls_others(self) -> bool:
        self._make_once()
        return self._call is not None

    @property
    def called_others(self) -> bool:
        """Whether it did before what calls have shown: so a call is refused, or none is."""
        self._make_once()
        return self._called_others

    @property
    def has_what_is_compiled(self) -> bool:
        """Whether there are loops or functions of the user's in it, as its text says; what methods are called a call shows."""
        self._make_once()
        return self._had_levels


def _may_gain(called: _Inner | MadeBy | Method, seen: set[int]) -> bool:
    return any(run.may_gain(seen) if isinstance(run, InnerCalls) else True for run in called.runs)


def _inner_of(function: types.FunctionType) -> _Inner:
    """One for all that call the function by a name: it is measured and tried once."""
    known: _Inner = _kept(function, "__tilewright_inner__", _Inner)
    return known


class _Inner:
    """A function that others call. Its cell holds what is called: first what measures it, then what measures the compiled
    function, then the faster one."""

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function
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
        return measured_inside(self.function) if self._has_levels else self.function

    @property
    def was_called(self) -> bool:
        return self.plain.count > 0

    @property
    def runs(self) -> list[Any]:
        """What runs its calls, where that is not Python alone."""
        run = self.cell.cell_contents
        return [run] if isinstance(run, InnerCalls) or not self.is_given_up else []

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
        if self.compiled is not None or self.plain.took_s > _DEEPER_S:
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
        if self.plain.mean_s < (_DEEPER_S if self.is_left else self.least_s):
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
        run = run_by_python(self.function) if self.plain.mean_s > _DEEPER_S else self.function
        if isinstance(run, InnerCalls):
            run.decide()
        self.cell.cell_contents = run


class _InnerLoop(_Inner):
    """A loop, as a function of its own that nobody else calls."""

    def __init__(self, loop: InnerLoop) -> None:
        self.loop = loop
        self.kinds: tuple[Any, ...] | None = None  # as its last call has them
        super().__init__(loop.function)
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
    return _kept(function, "__tilewright_compiled__", Settling.compiled)


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
