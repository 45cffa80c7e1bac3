"""What Python functions find outside of themselves by name, and whether it changes while something is called."""

from __future__ import annotations

import collections
import functools
import operator
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .light_dataclass import dataclass

_DEEPEST = 4
_MOST_ITEMS = 1000  # of a container
_SMALL_BYTES = 1 << 16  # of an array: copies of two of them cost less than NumPy's way to compare them
_MOST_BYTES = 1 << 20  # of an array: larger ones are taken for unchanged where they are the same object
_PLAIN = frozenset([bool, int, float, complex, str, bytes])
# Next to all that functions find by name. What these keep is no variable's.
_THEMSELVES = frozenset(
    [types.FunctionType, types.BuiltinFunctionType, types.ModuleType, np.ufunc, type(np.sum), property]
)


# A variable of a module or of a function around: which namespace or cell, and its name.
Variable = tuple[int, str]


def outside_of(functions: Sequence[Any]) -> dict[Variable, Any]:
    """Variables of modules and of functions around, as they are now: each with all that is in it."""
    found: dict[Variable, Any] = {}
    for function in functions:
        code = getattr(function, "__code__", None)
        if not isinstance(code, types.CodeType):
            continue
        variables = function.__globals__
        for name in _names_of(code):
            if name in variables:
                value = variables[name]
                found[id(variables), name] = id(value) if type(value) in _THEMSELVES else _state_of(value)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                found[id(cell), name] = _state_of(cell.cell_contents)
            except ValueError:
                continue  # it has no value yet
    return found


@functools.lru_cache(maxsize=4096)
def _names_of(code: types.CodeType) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names_in(code)))


def names_in(code: types.CodeType) -> Iterator[str]:
    """Names of variables outside, of attributes and of modules, also of functions and comprehensions in it."""
    yield from code.co_names
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from names_in(one)


def _state_of(value: Any, depth: int = 0) -> Any:
    if type(value) in _THEMSELVES:
        return id(value)
    if value is None or type(value) in _PLAIN:
        return value if value == value else "nan"  # noqa: PLR0124 - NaN is no other value than it was
    if isinstance(value, np.ndarray):
        return (
            id(value),
            value.shape,
            bytes_of(value) if value.nbytes <= _MOST_BYTES and not value.dtype.hasobject else b"",
        )
    if isinstance(value, type) and _can_change(value) and depth < _DEEPEST:
        return id(value), [(name, _state_of(one, depth + 1)) for name, one in vars(value).items()]
    if callable(value) and not isinstance(getattr(type(value), "__call__", None), types.FunctionType):  # noqa: B004
        return id(value)  # of C: what it keeps is no variable's
    if depth >= _DEEPEST or isinstance(value, (types.ModuleType, type)):
        return id(value)
    if isinstance(value, (list, tuple, collections.deque)):
        return (
            id(value),
            len(value),
            [_state_of(one, depth + 1) for one, _ in zip(value, range(_MOST_ITEMS), strict=False)],
        )
    if isinstance(value, dict):
        pairs = zip(list(value.items()), range(_MOST_ITEMS), strict=False)
        return id(value), len(value), [(id(key), _state_of(one, depth + 1)) for (key, one), _ in pairs]
    if isinstance(value, (set, frozenset)):
        return id(value), len(value)
    held = getattr(value, "__dict__", None)
    return (id(value), _state_of(held, depth + 1)) if type(held) is dict else id(value)


def is_users(value: Any) -> bool:
    """Whether it is a class or a function of the user's, or an object of such a class."""
    kind = value if isinstance(value, (type, types.FunctionType)) else type(value)
    return not is_librarys(str(kind.__module__))


def is_librarys(module: str) -> bool:
    """Whether a module of that name is Python's, NumPy's or ours."""
    top = module.partition(".")[0]
    return top in ("numpy", "tilewright") or top in sys.stdlib_module_names


def is_of_a_statement(kind: type) -> bool:
    """Whether a class statement made a class, or Python code that does the same: none of C's."""
    return bool(kind.__flags__ & _HEAP_TYPE)


def _can_change(value: type) -> bool:
    """Whether attributes of a class can be set: not of one of C's."""
    return is_of_a_statement(value) and not value.__flags__ & _IMMUTABLE_TYPE


_IMMUTABLE_TYPE, _HEAP_TYPE = 1 << 8, 1 << 9  # Py_TPFLAGS_…


@dataclass(frozen=True)
class Change:
    """One thing that a call changed: where, and what is there before and behind the call."""

    where: Any  # an array, a container, a class, a cell, or (namespace, name)
    before: Any
    after: Any

    def undo(self) -> None:
        _put(self.where, self.before)

    def redo(self) -> None:
        _put(self.where, self.after)


class Places:
    """Variables of modules and of functions around that a trace has read: of each a cell, or (namespace, name)."""

    def __init__(self) -> None:
        self.found: dict[Variable, Any] = {}

    def as_they_are(self) -> list[tuple[Any, Any]]:
        """What is there now, with a copy of what is in it: for changes_since()."""
        found: dict[int, tuple[Any, Any]] = {}
        pairs = [(place, _get(place)) for place in self.found.values()]
        for _, value in pairs:
            _keep(value, found)
        return [*pairs, *found.values()]


def changes_since(kept: Sequence[tuple[Any, Any]]) -> list[Change]:
    found = []
    for where, before in kept:
        now = _get(where)
        if not _is_same(now, before):
            found.append(Change(where, before, now.copy() if isinstance(where, np.ndarray) else now))
    return found


def arrays_within(value: Any, found: dict[int, np.ndarray]) -> None:
    """Adds the arrays that a value leads to."""
    kept: dict[int, tuple[Any, Any]] = {}
    _keep(value, kept, copied=lambda array: array)
    found.update((key, one) for key, (one, _) in kept.items() if isinstance(one, np.ndarray))


def _copied(array: Any) -> Any:
    return array.copy(order="K")


def _keep(value: Any, found: dict[int, tuple[Any, Any]], depth: int = 0, copied: Any = _copied) -> None:
    """Adds what in a value may change, and a copy of it."""
    if type(value) in _NEVER_KEPT or id(value) in found or isinstance(value, types.ModuleType):
        return
    inside: Any = ()
    if isinstance(value, np.ndarray):
        if not value.dtype.hasobject:
            found[id(value)] = value, copied(value)
    elif type(value) in (list, set, collections.deque) or isinstance(value, dict):
        found[id(value)] = value, _get(value)
        inside = value.values() if isinstance(value, dict) else value
    elif isinstance(value, (tuple, frozenset)):
        inside = value
    elif isinstance(value, type):
        if _can_change(value):
            found[id(value)] = value, _get(value)
            inside = vars(value).values()
    elif type(held := getattr(value, "__dict__", None)) is dict and not _is_ours(type(value)):
        inside = [held] if isinstance(value, types.FunctionType) else [held, type(value)]
    if not set(map(type, inside)) <= _NEVER_CHANGE:
        for one in list(inside):
            if depth < _DEEPEST or isinstance(one, np.ndarray):
                _keep(one, found, depth + 1, copied)


def _is_ours(kind: type) -> bool:
    """Of what we keep at a user's function."""
    return str(kind.__module__).partition(".")[0] == "tilewright"


_NEVER_CHANGE = frozenset([type(None), bool, int, float, complex, str, bytes, np.float64, np.int64, np.bool_])
_NEVER_KEPT = _NEVER_CHANGE | {types.BuiltinFunctionType, np.ufunc}  # of C: what those keep is no variable's


def _get(where: Any) -> Any:
    """What is there now: an array itself, of a container and of a class's attributes a copy."""
    if isinstance(where, np.ndarray):
        return where
    if isinstance(where, types.CellType):
        return where.cell_contents
    if isinstance(where, type):
        return dict(vars(where))
    return where[0].get(where[1]) if type(where) is tuple else where.copy()


def _put(where: Any, value: Any) -> None:
    if isinstance(where, np.ndarray):
        np.copyto(where, value)
    elif isinstance(where, types.CellType):
        where.cell_contents = value
    elif type(where) is tuple:
        where[0][where[1]] = value
    elif isinstance(where, type):
        for name in vars(where).keys() - value.keys():
            delattr(where, name)
        for name, one in value.items():
            if vars(where).get(name) is not one:
                setattr(where, name, one)
    elif isinstance(where, list):
        where[:] = value
    else:
        where.clear()
        (where.extend if isinstance(where, collections.deque) else where.update)(value)


def _is_same(now: Any, before: Any) -> bool:
    if now is before:
        return True
    if type(now) is not type(before):
        return False
    if isinstance(now, np.ndarray):
        return same_bytes(now, before)
    if isinstance(now, dict):
        return _are_same(now, before) and _are_same(now.values(), before.values())
    if isinstance(now, (list, collections.deque)):
        return _are_same(now, before)
    return bool(now == before) if isinstance(now, set) or type(now) in _NEVER_CHANGE else False


def _are_same(now: Any, before: Any) -> bool:
    """Of two collections, whether their items are the same objects."""
    return len(now) == len(before) and all(map(operator.is_, now, before))


def bytes_of(array: Any) -> bytes:
    """Of an array of any class: some refuse it of themselves, as those with units do."""
    return np.ndarray.tobytes(array)


def same_bytes(one: Any, other: Any) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.dtype.hasobject:
        return list(map(id, np.asarray(one).ravel().tolist())) == list(map(id, np.asarray(other).ravel().tolist()))
    if one.nbytes <= _SMALL_BYTES and isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return bytes_of(one) == bytes_of(other)
    mine, theirs = (np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (one, other))
    return bool(np.array_equal(mine, theirs))
