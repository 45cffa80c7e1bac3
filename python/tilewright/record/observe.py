"""The user's functions as they come into being: at the script's top level, in its modules, in classes.

A script's own code reports what its top level binds (hooks.py); `importing()` reports what the user's modules define, wherever they
lie. Each plain function, method, static and class method goes through `replace`, and so
does what a decorator has wrapped: the functions in closures, and in objects that are called. What `replace` gives stands
in its place until `restore()`.
"""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from .ownership import Users

Replace = Callable[[types.FunctionType, str], Any]


class Observer:
    """Replaces the user's functions where their names are bound."""

    def __init__(self, users: Users, replace: Replace) -> None:
        self._users = users
        self._replace = replace
        self._places: list[tuple[Any, Any, Any]] = []  # holder, original, replacement
        self._cells: list[tuple[types.CellType, Any, Any]] = []  # of closures; original, replacement
        self._looked_through: dict[int, types.FunctionType] = {}

    @contextmanager
    def importing(self) -> Iterator[None]:
        """Modules of the user's that are imported inside are looked through when they have run."""
        finder = _Finder(self)
        sys.meta_path.insert(0, finder)
        try:
            yield
        finally:
            with suppress(ValueError):
                sys.meta_path.remove(finder)

    def restore(self) -> None:
        """Put the user's own functions back, so that what is traced is what was written."""
        originals = {id(replacement): original for _, original, replacement in self._places}
        holders = {id(holder): holder for holder, _, _ in self._places}
        # `from mine import f` has made further names of a replacement.
        for module in list(sys.modules.values()):
            if isinstance(module, types.ModuleType) and self._users.has_module(module):
                holders.setdefault(id(vars(module)), vars(module))
        for holder in holders.values():
            items = holder if isinstance(holder, dict) else vars(holder)
            for name, value in list(items.items()):
                if id(value) in originals:
                    _put(holder, name, originals[id(value)])
        for cell, original, replacement in self._cells:
            if _contents(cell) is replacement:
                cell.cell_contents = original
        self._places.clear()
        self._cells.clear()

    def leave(self, replacement: Any, known: Sequence[Any] = (), bound: tuple[type, ...] = ()) -> bool:
        """Put one function of the user's back, where its replacement still stands. Not where anything else than the `known` ones
        holds that too: who compares functions, or has them as keys, knows a function by its identity. `bound`: types of what
        methods are called with."""
        places, cells = _of(self._places, replacement), _of(self._cells, replacement)
        if _is_held(replacement, [*known, *places, *cells], (types.FrameType, *bound)):
            return False
        for holder, original, placed in places:
            items = holder if isinstance(holder, dict) else vars(holder)
            for name, value in list(items.items()):
                if value is placed:
                    _put(holder, name, original)
        for cell, original, placed in cells:
            if _contents(cell) is placed:
                cell.cell_contents = original
        return True

    def observed(self, name: str, value: Any, into: Any) -> Any:
        """What stands under `name` in a dictionary or class from now on."""
        if isinstance(value, types.FunctionType):
            self._look_through_closure(value)
            if not self._users.has_file(value.__code__.co_filename):
                return value
            replacement = self._replace(value, name)
            if replacement is not value:
                self._places.append((into, value, replacement))
            return replacement
        if isinstance(value, type) and not name.startswith("__"):
            self._look_through_class(value)
        elif isinstance(value, types.ModuleType):
            self.look_through_module(value)
        elif self._users.has_type(type(value)) and callable(value):
            self._look_through_object(value)
        return value

    def _look_through_closure(self, function: types.FunctionType) -> None:
        """Replace the functions that `function` has wrapped: a decorator's, whosever that is."""
        if id(function) in self._looked_through or hasattr(function, "__tilewright_recorded__"):
            return
        self._looked_through[id(function)] = function
        for cell in function.__closure__ or ():
            inner = _contents(cell)
            if self._is_named(inner):
                self._look_through_closure(inner)  # decorators above decorators
                replacement = self._replace(inner, inner.__name__)
                if replacement is not inner:
                    cell.cell_contents = replacement
                    self._cells.append((cell, inner, replacement))

    def _look_through_object(self, value: Any) -> None:
        """Replace the functions in the attributes of an object that is called: a decorator's too."""
        attributes = getattr(value, "__dict__", {})
        for name, inner in list(attributes.items()):
            if self._is_named(inner):
                attributes[name] = self.observed(inner.__name__, inner, attributes)

    def _is_named(self, value: Any) -> bool:
        """Whether it is a function of the user's that a module can be of: it has a name."""
        return (
            isinstance(value, types.FunctionType)
            and value.__name__.isidentifier()
            and self._users.has_file(value.__code__.co_filename)
        )

    def look_through_module(self, module: types.ModuleType, *, has_just_run: bool = True) -> None:
        """Replace the functions that a module of the user's defines, and those of its classes. `has_just_run`: no other module
        has imported any of them."""
        if not self._users.has_module(module):
            return
        names = vars(module)
        for name in list(names):
            member = names[name]
            if getattr(member, "__module__", None) != module.__name__:
                continue
            if isinstance(member, types.FunctionType):
                if not has_just_run or sys.getrefcount(member) <= _OF_A_NAME:
                    names[name] = self.observed(name, member, names)
            elif isinstance(member, type):
                self._look_through_class(member)

    def look_through_package(self, package: str) -> None:
        """The same of a package that was imported before, with the names that its modules have of each other's functions."""
        top = package.partition(".")[0]
        modules = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == top]
        for module in modules:
            self.look_through_module(module, has_just_run=False)
        replaced = {id(original): replacement for _, original, replacement in self._places}
        for module in modules:
            for name, value in list(vars(module).items()):
                if id(value) in replaced:
                    vars(module)[name] = replaced[id(value)]  # restore() finds these too

    def _look_through_class(self, cls: type) -> None:
        if not self._users.has_type(cls):
            return
        for name, member in list(vars(cls).items()):
            if name.startswith("__") and name.endswith("__") and name != "__call__":
                continue
            inner = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
            if not isinstance(inner, types.FunctionType):
                continue
            self._look_through_closure(inner)
            if not self._users.has_file(inner.__code__.co_filename):
                continue
            replacement = self._replace(inner, f"{cls.__qualname__}.{name}")
            if replacement is inner:
                continue
            placed = type(member)(replacement) if inner is not member else replacement
            if _put(cls, name, placed):
                self._places.append((cls, member, vars(cls)[name]))


# References to a function that its module holds by one name alone: the module's, a variable's and an argument's. What a list, a
# default or a registry of the module's holds besides is known by its identity there: to pickle, for one.
_OF_A_NAME = 3


def _is_held(replacement: Any, known: list[Any], of_calls: tuple[type, ...]) -> bool:
    """Whether a container, an object or a function leads to it, but the known ones, what is in those that are tuples, and what is
    there while a call runs."""
    ours = set()
    for one in known:
        ours.add(id(one))
        for part in one if isinstance(one, tuple) else ():
            ours.add(id(part))
            if isinstance(part, type):
                ours.add(id(gc.get_referents(vars(part))[0]))
    return any(id(one) not in ours and not isinstance(one, of_calls) for one in gc.get_referrers(replacement))


def _of(placed: list[tuple[Any, Any, Any]], replacement: Any) -> list[tuple[Any, Any, Any]]:
    found = []
    for one in placed:  # a comprehension would hold it
        if function_in(one[2]) is replacement:
            found.append(one)  # noqa: PERF401
    return found


def function_in(placed: Any) -> Any:
    return placed.__func__ if isinstance(placed, (staticmethod, classmethod)) else placed


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing is in it yet
        return None


def _put(holder: Any, name: str, value: Any) -> bool:
    if isinstance(holder, dict):
        holder[name] = value
        return True
    with suppress(AttributeError, TypeError):  # a metaclass that allows no changes
        setattr(holder, name, value)
        return True
    return False


class _Finder:
    """Asks the finders behind it, and has the user's modules looked through when they have run."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        finders = sys.meta_path
        for finder in (
            finders[finders.index(self) + 1 :] if self in finders else ()
        ):  # others of ours ask those behind them
            find = getattr(finder, "find_spec", None)
            spec = None if find is None else find(name, path, target)
            if spec is not None:
                self._watch(spec)
                return spec
        return None

    def _watch(self, spec: Any) -> None:
        run = getattr(spec.loader, "exec_module", None)
        if run is None or not spec.origin or not self._observer._users.has_file(spec.origin):
            return

        def run_and_look(module: types.ModuleType) -> None:
            vars(spec.loader).pop("exec_module", None)  # another observer may have been here
            run(module)
            self._observer.look_through_module(module)

        with suppress(AttributeError):  # a loader whose attributes cannot be set: its module is not watched
            spec.loader.exec_module = run_and_look
