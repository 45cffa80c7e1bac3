"""The functions of a session: a notebook's, those typed at a prompt, a script's. Each that stands in a namespace is compiled once its
calls take long, where that is wanted, or is the one that was tuned for it."""

from __future__ import annotations

import builtins
import re
import sys
import time
import types
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .hot_observer import HotObserver, is_tuned, times_of
from .interpret.outlined import stores
from .record.observe import Observer, Replace, function_in
from .record.ownership import Users
from .record.regions import Region
from .run_report import Ran, session_lines

# Names of Python's and IPython's own, and of what earlier inputs gave.
_OWN_NAMES = re.compile(r"__\w+__|_+|_+\d+|_(i+|i\d+|oh|ih|dh|sh)|In|Out|get_ipython|exit|quit|open")


class Session(HotObserver):
    """What stands for the user's functions: hot ones between `begin()` and `end()`, tuned ones always."""

    def __init__(self, folder: str | Path) -> None:
        self.users = Users(folder)
        super().__init__(self.users, self._in_place_of)
        self.compiles = self.was_begun = self._is_paused = False
        self._importing: Any = None
        self._namespaces: list[dict[str, Any]] = []
        self._modules: dict[str, types.ModuleType] = {}  # of the user's, that were looked through
        self._tuned: list[tuple[Callable[..., Any], Any]] = []
        self._python: weakref.WeakSet[types.FunctionType] = weakref.WeakSet()  # looked at, and left as they are
        self._put_away: dict[int, tuple[Any, Any]] = {}  # by the original's id: original, replacement
        self._used: set[str] = set()  # names of functions that cells use as more than something to call
        self._began_ns = 0
        self._past: list[tuple[str, dict[str, Any]]] = []  # times of functions that are gone
        self._regions: dict[tuple[str, str], Any] = {}  # by file and text
        self._sets: dict[types.CodeType, set[str]] = {}  # variables that regions set, by their code

    # ---- how long --------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Compile from now on."""
        self.compiles = self.was_begun = True
        self._began_ns = self._began_ns or time.perf_counter_ns()
        self._importing = self.importing()
        self._importing.__enter__()

    def end(self) -> None:
        """Put back all but what was tuned."""
        self.compiles = False
        self._importing.__exit__(None, None, None)
        self.restore()
        for one in [one for one in self.jitted if self._is_hot(one)]:
            self._past += self._timed(one)
            one.retire()
            self.jitted.remove(one)
        self._regions.clear()
        self._put_away.clear()
        self._look_again()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The user's own functions stand everywhere inside, and what stood for them does behind it, where they are as they were."""
        tuned = [id(its) for _, its in self._tuned]
        for _, original, placed in self._places:
            if id(function_in(placed)) not in tuned:
                self._put_away[id(function_in(original))] = function_in(original), function_in(placed)
        self.restore()
        self._is_paused = True
        try:
            yield
        finally:
            self._is_paused = False
            self._look_again()
            self._put_away.clear()

    def _look_again(self) -> None:
        for names in self._namespaces:
            self.look(names)
        for name, module in list(self._modules.items()):
            if sys.modules.get(name) is module:
                self.look_through_module(module, has_just_run=False)

    def look_through_module(self, module: types.ModuleType, *, has_just_run: bool = True) -> None:
        if self.users.has_module(module) and module.__name__ != "__main__":
            self._modules[module.__name__] = module
        super().look_through_module(module, has_just_run=has_just_run)

    @contextmanager
    def recording(self, replace: Replace, names: dict[str, Any]) -> Iterator[_Recording]:
        """What `replace` gives stands for the user's functions inside, those of their modules too, and of what comes to be in `names`,
        the cell's."""
        with self.paused():
            observer = _Recording(self.users, replace, names)
            try:
                with observer.importing():
                    for each in self._namespaces:
                        look_through(observer, each)
                    yield observer
            finally:
                observer.restore()

    def restore(self) -> None:
        super().restore()
        self._looked_through.clear()

    # ---- what stands for what --------------------------------------------------------------------------------------------

    def add(self, names: dict[str, Any]) -> None:
        """A namespace that is looked at again behind what puts functions back."""
        if not any(names is known for known in self._namespaces):
            self._namespaces.append(names)

    def look(self, names: dict[str, Any]) -> None:
        """Look at all that a namespace holds."""
        self.add(names)
        look_through(self, names)

    def stands(self, value: Any) -> bool:
        """Whether it stands for one of the user's."""
        return any(function_in(placed) is value for _, _, placed in self._places)

    def bound(self, name: str, names: dict[str, Any]) -> None:
        """A name that was bound just now."""
        if name in names and self.compiles and not self._is_paused:
            names[name] = self.observed(name, names[name], names)

    def use_tuned(self, original: Callable[..., Any], tuned: Any) -> None:
        """Have a tuned function stand for one of the user's, wherever that stands or stood."""
        self._tuned = [(one, its) for one, its in self._tuned if one is not original]
        self._tuned.append((original, tuned))
        self._time_jitted(tuned)
        self.was_begun = True
        self._began_ns = self._began_ns or time.perf_counter_ns()

    def forget_tuned(self) -> None:
        """The user's own stand where tuned ones stood."""
        with self.paused():
            self._tuned.clear()

    def used_as_objects(self, names: set[str]) -> None:
        """Functions of which a cell uses more than their calls are the user's own, where nothing else holds those that stand for
        them."""
        for k in range(len(self.jitted)):  # a list of them would hold them
            if self._is_hot(self.jitted[k]) and self.jitted[k].__name__ in names:
                self._used.add(self.jitted[k].__name__)
                self.leave(self.jitted[k], [self.jitted])

    def leave(self, replacement: Any, known: Any = (), bound: tuple[type, ...] = ()) -> bool:
        is_left = super().leave(replacement, known, bound)
        if is_left:
            self._python.add(replacement.__wrapped__)
        return is_left

    def _in_place_of(self, function: types.FunctionType, name: str) -> Any:
        for original, tuned in self._tuned:
            if function is original and not self._is_paused:
                return tuned
        original, placed = self._put_away.get(id(function), (None, None))
        if original is function and not self._is_paused and placed.is_of(function):
            return placed
        for _, original, placed in self._places:  # it stands under several names
            if function_in(original) is function and not self._is_paused:
                return function_in(placed)
        if not self.compiles or self._is_paused or function in self._python or not self.takes(function):
            return function
        for one in list(self._python):  # what calls it may be worth another look
            if name in one.__code__.co_names:
                self._python.discard(one)
        hot = function if self.is_left_alone(function, name) else self.hot_of(function)
        if hot is function:
            self._python.add(function)
        return hot

    def is_left_alone(self, function: types.FunctionType, name: str) -> bool:
        return name in self._used or super().is_left_alone(function, name)

    def _before_the_first(self) -> None:
        """Warnings are the user's: hot functions give none."""

    def _is_hot(self, one: Any) -> bool:
        return hasattr(one, "retire")

    # ---- regions ---------------------------------------------------------------------------------------------------------

    def region(self, region: Region, names: dict[str, Any], file: str, text: str) -> None:
        """Have a function stand for statements of a cell, the same one when the cell runs again."""
        made = self._regions.get((file, text))
        if made is None:
            function = region.function(names, file)
            made = (
                function
                if "numpy" not in sys.modules
                else self._hot(function, lambda _: self._leave_region(region, function))
            )
            self._regions[file, text] = made
            self._sets[function.__code__] = stores(region.node.body)
        setattr(builtins, region.name, made)

    def _leave_region(self, region: Region, function: types.FunctionType) -> bool:
        setattr(builtins, region.name, function)
        return True

    def give_names(self, error: BaseException, names: dict[str, Any]) -> None:
        """Regions give what they set at their ends: of one that an error has ended, what it had set by then."""
        trace = error.__traceback__
        while trace is not None:
            of_region = self._sets.get(trace.tb_frame.f_code, ())
            names.update((name, value) for name, value in trace.tb_frame.f_locals.items() if name in of_region)
            trace = trace.tb_next

    # ---- what was gained -------------------------------------------------------------------------------------------------

    def prune(self) -> None:
        """Hold no function that the user has let go: it may hold arrays."""
        self._looked_through.clear()
        held: dict[int, set[int]] = {}
        gone: set[int] = set()
        kept: list[tuple[Any, Any, Any]] = []
        for place in self._places:
            holder, _, placed = place
            if isinstance(holder, dict):
                ids = held.get(id(holder)) or held.setdefault(id(holder), set(map(id, holder.values())))
                if id(placed) not in ids:
                    gone.add(id(placed))
                    continue
            kept.append(place)
        if gone:
            self._places[:] = kept
            gone -= {id(function_in(placed)) for _, _, placed in kept}
            for one in [one for one in self.jitted if id(one) in gone]:
                self._past += self._timed(one)
                self.jitted.remove(one)
            self._tuned = [(original, its) for original, its in self._tuned if id(its) not in gone]

    def _timed(self, one: Any) -> list[tuple[str, dict[str, Any]]]:
        times = times_of(one)
        return [] if times is None else [(one.__qualname__, {**times, "is_tuned": is_tuned(one)})]

    def report_lines(self) -> list[str]:
        """A table, and a line for the whole."""
        functions: dict[str, dict[str, Any]] = {}
        patched: list[str] = []
        for name, times in [*self._past, *(pair for one in self.jitted for pair in self._timed(one))]:
            count = sum(known.partition(" (")[0] == name for known in functions)
            shown = f"{name} ({count + 1})" if count else name  # was defined anew
            patched += [shown] if times.pop("is_tuned") else []
            functions[shown] = times
        left_alone = {why: list(names) for why, names in self.left_alone.items()}
        return session_lines(Ran(self._began_ns, time.perf_counter_ns(), self.own_ns, functions, patched, left_alone))


class _Recording(Observer):
    """What stands for the functions of a cell that is recorded."""

    def __init__(self, users: Users, replace: Replace, names: dict[str, Any]) -> None:
        super().__init__(users, replace)
        self._names = names

    def bound(self, name: str) -> None:
        """A name that the cell has bound just now."""
        if name in self._names:
            self._names[name] = self.observed(name, self._names[name], self._names)


def look_through(observer: Observer, names: dict[str, Any]) -> None:
    """Have what stands for functions stand in a namespace; what an input showed (`_`, `Out`) is what it was."""
    for name, value in list(names.items()):
        if _OWN_NAMES.fullmatch(name):
            continue
        new = observer.observed(name, value, names)
        if new is not value and names.get(name) is value:
            names[name] = new
