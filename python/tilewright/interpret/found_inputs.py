"""Where values from outside are found: the paths that lead to them, and what is guarded so that each is found there again."""

from __future__ import annotations

import collections
import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..guards import Path, PythonGuard, Same, path_text
from ..symbolic.arrays import SymArray
from ..symbolic.sizes import Size
from ..symbolic.stages import HandedAsList
from ..symbolic.tracer import Tracer

MAX_NESTING = 8  # of containers in which objects and other containers are looked for
# Types of what is no object and holds none.
_WITHOUT_OBJECTS = frozenset([int, float, bool, complex, str, bytes, type(None)])


class FoundInputs:
    """What was found outside of the function so far, and where: what is one object in this call is one in every call."""

    def __init__(self, tracer: Tracer, handed_array: Callable[[type, Path, Callable[[], Exception]], Any]) -> None:
        """`handed_array` makes what stands for an array that Python's statements alone are handed."""
        self.tracer = tracer
        self.handed_array = handed_array
        self.by_path: dict[Path, Any] = {}
        self.by_identity: dict[int, tuple[Any, Path]] = {}
        self.arrays: list[SymArray] = []
        self.originals: dict[int, tuple[SymArray, Any, Path]] = {}  # the caller's arrays, and where they are
        self.objects: set[int] = set()  # by identity: only their classes are guarded
        self.with_globals: dict[int, types.FunctionType] = {}
        self.calls: dict[Any, Any] = {}  # of functions behind lru_cache
        self.copies: dict[types.FunctionType, types.FunctionType] = {}  # of functions without source
        # Lists and dicts of the caller, what stands for each, and where it is.
        self.held: list[tuple[Any, Any, Path]] = []
        self.captured: list[tuple[np.ndarray[Any, Any], bytes]] = []  # arrays of plain values, and what was in them
        self.lent: list[tuple[str, Any, list[Any]]] = []  # containers that these have: name, itself, what was in it
        # What reads a list of numbers as arrays, if it can; the interpreter says so.
        self.list_of_the_call: Callable[[Any, list[Any], Path], Any] = lambda *_: None

    def let_go(self) -> None:
        """Of the caller's objects, which would wait with the trace for the collector of cycles."""
        for held in (self.held, self.by_path, self.by_identity, self.originals, self.lent, self.captured, self.calls):
            held.clear()

    def global_path(self, function: types.FunctionType, name: str) -> Path:
        if function.__globals__ is self.tracer.cache["function"].__globals__:
            return (("global", name),)
        return (("global_of", (self._with_globals_of(function), name)),)

    def _with_globals_of(self, function: types.FunctionType) -> types.FunctionType:
        """The first function with these globals: it stands for all of its file."""
        return self.with_globals.setdefault(id(function.__globals__), function)

    def path_of_function(self, function: Any) -> Path:
        """Where a function is found that is about to be followed; its code is guarded."""
        path = self.path_of(function)
        if path is None:
            path = (("object", Same(function)),)
            self.by_identity[id(function)] = (function, path)
        self._guard(path, "code", function.__code__)
        return path

    def is_outer(self, value: Any) -> bool:
        """Whether a container or object lives outside of the function."""
        return self.path_of(value) is not None

    def path_of(self, value: Any) -> Path | None:
        entry = self.by_identity.get(id(value))
        return entry[1] if entry is not None and entry[0] is value else None

    def path_of_number(self, size: Size) -> Path | None:
        """Of the integer argument that a size is."""
        return next((a.path for a in self.tracer.arguments if a.kind == "scalar" and size == Size.symbol(a.name)), None)

    def is_object(self, value: Any) -> bool:
        """Whether it is an object from outside, where only the class is guarded, or one that the function makes: Python's
        operators on it run code that is not followed."""
        is_made = self.tracer.is_made(value) and not isinstance(value, tuple)  # whose parts Python finds as a tuple's
        return is_made or (id(value) in self.objects and self.is_outer(value))

    def is_of_a_module(self, value: Any) -> bool:
        """Whether it is an object that a module has under a name: no other one at each call."""
        path = self.path_of(value) if id(value) in self.objects else None
        return path is not None and path[0][0] in ("global", "global_of", "module")

    def is_one(self, left: SymArray, right: SymArray) -> bool | None:
        """Whether two arrays are one object; None where that differs from call to call."""
        if left is right:
            return True
        values = [self.originals.get(id(array)) for array in (left, right)]
        if all(entry is not None and entry[0] is array for entry, array in zip(values, (left, right), strict=True)):
            (_, one, path), (_, other, other_path) = values  # type: ignore[misc]
            self._guard(path, "same" if one is other else "another", other_path, "whether they are one array decides")
            return one is other
        made_here = [array.storage for array in (left, right) if array.storage.argument is None]
        if left.storage is right.storage or any(storage.value.operation == "call" for storage in made_here):
            return None
        return False if made_here else None

    def tell_apart(self, left: Any, right: Any) -> None:
        """Two lists or dicts of the caller are two in every call, where that decides something."""
        one, other = (next((path for _, made, path in self.held if made is side), None) for side in (left, right))
        if one is not None and other is not None and one != other:
            self._guard_another(one, other)

    def objects_in(self, value: Any, depth: int = 0) -> Any:
        """The first such object in a value, looking into containers; None where there is none."""
        if self.is_object(value):
            return value
        if depth > MAX_NESTING:
            return None
        parts: Any = ()
        if isinstance(value, (list, tuple, set, frozenset, collections.deque)):
            parts = value
        elif isinstance(value, dict):
            parts = [*value, *value.values()]
        elif isinstance(value, slice):
            parts = (value.start, value.stop, value.step)
        elif isinstance(value, functools.partial):
            parts = (value.func, value.args, value.keywords)
        if _WITHOUT_OBJECTS.issuperset(map(type, parts)):  # of a long list, at Python's own speed
            return None
        return next((found for part in parts if (found := self.objects_in(part, depth + 1)) is not None), None)

    def pin(self, value: Any) -> None:
        """Its identity decides something: another object needs another program."""
        path = self.path_of(value)
        is_container = isinstance(value, (list, dict, set, collections.deque, functools.partial, HandedAsList))
        if path is not None and not is_container:
            self._guard(path, "is", value, "its identity decides")

    def _remember(self, value: Any, path: Path) -> None:
        known = self.path_of(value)
        if known is not None:
            # Found at two places in this call: it must be one object at both in every call.
            self._guard(path, "same", known, "the same object as at another place")
        else:
            self.by_identity[id(value)] = (value, path)

    def _guard_another(self, path: Path, than: Path) -> None:
        guard = PythonGuard(path, "another", than, "whether they are one object decides")
        self.tracer.python_guards[path, f"another {path_text(than)}"] = guard

    def _guard(self, path: Path, kind: str, value: Any, reason: str = "") -> None:
        self.tracer.python_guards[(path, kind)] = PythonGuard(path, kind, value, reason)
