"""What Python runs between kernels, and in it the functions of the user's that it calls: each is compiled by itself once its
calls were seen to take long. What Python has to run is then a few lines, not all that they call."""

from __future__ import annotations

import ast
import copy
import functools
import time
import types
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..described_results import is_part
from ..effects import LONG_CALL_S, Settling
from ..signatures import parts_of
from ..taken_ways import Site
from .inner_loops import InnerLoop, LoopsByCells, cell_of, loops_of
from .inner_names import PREFIX, Renamed, called_in, has_levels, looked_up, text_of
from .inner_objects import MadeBy, Method, MethodsByCells, methods_called
from .inner_tries import Account, Turns, here
from .outlined import has_private_names, in_closure
from .source import site_of
from .tried_functions import DEEPER_S, TriedFunction, TriedLoop, kept

_NEVER = 256  # calls of a function that do not come to a place: Python does not look at it there any more
_SHORT_CALLS = 16  # of a method that take less than a long call: none is looked at behind them


def inner_calls_of(function: types.FunctionType) -> InnerCalls:
    """One for all places that call the function: what is found out at one of them holds at all."""
    known: InnerCalls = kept(function, "__tilewright_inner_calls__", InnerCalls)
    return known


def calls_what_is_compiled(function: types.FunctionType) -> bool:
    """Whether it calls a function of the user's that was found worth a compilation elsewhere."""
    node = text_of(function)
    called = (
        [] if node is None else [one for _, one in called_in(function, node) if isinstance(one, types.FunctionType)]
    )
    return any(one.compiled is not None and not one.is_given_up for one in map(_inner_of, called))


def run_by_python(function: Any) -> Callable[..., Any]:
    """The function, for Python to run: what takes long in it is compiled by and by."""
    inner = inner_calls_of(function)
    return inner if inner.calls_others else function


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
            if self._took_s > max(LONG_CALL_S, DEEPER_S * self._seen):
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
        self._inner: dict[str, TriedFunction | MadeBy] = {}
        self._named: list[tuple[dict[str, Any], str, Any]] = []  # where those names are looked up, and what they are of
        self._methods: dict[str, Method] = {}
        self._loops: dict[Site, TriedLoop] = {}
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
        self._loops = {site: self._loops.get(site) or TriedLoop(one, run_by_python) for site, one in loops.items()}
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
            if isinstance(one, TriedFunction):
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


def _may_gain(called: TriedFunction | MadeBy | Method, seen: set[int]) -> bool:
    return any(run.may_gain(seen) if isinstance(run, InnerCalls) else True for run in called.runs)


def _inner_of(function: types.FunctionType) -> TriedFunction:
    """One for all that call the function by a name: it is measured and tried once."""
    known: TriedFunction = kept(
        function, "__tilewright_inner__", functools.partial(TriedFunction, run_inside=run_by_python)
    )
    return known
