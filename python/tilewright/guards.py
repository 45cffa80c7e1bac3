"""What a program takes for granted of Python's values: where each is found at a call, and what must be true of it there.

A path says where. It begins at ("parameter", name), ("global", name), ("closure", name) or ("function", "") of the traced
function, ("global_of", (helper, name)), ("module", (module, name)), ("object", an object by its identity),
("cached", (a function behind lru_cache, args, keywords)), ("default_rng", seed or the path of one), and goes on in steps:
("attribute", name), ("item", key), ("cell", name of a function's closure), ("pcg64", ""), ("length", "") or ("column", (width, which, type)).
"""

from __future__ import annotations

import itertools
import operator
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ._face import pcg64_words
from .devices import stand_in
from .light_dataclass import dataclass
from .originals import original_of
from .own_attributes import are_set_plainly

Path = tuple[Any, ...]


@dataclass(frozen=True)
class PythonGuard:
    """What must still be true of Python values: `path` names where the value is found at a call."""

    path: tuple[Any, ...]
    kind: str  # "equal", "is", "same" (as at another path), "another" (than there), "length", …
    value: Any
    reason: str = ""


def is_of_ours(guard: PythonGuard) -> bool:
    """Whether it is of functions that tilewright itself has in place of NumPy's: nobody changes those."""
    begin, what = guard.path[0]
    function = what[0] if begin == "global_of" else what.value if begin == "object" else None
    # Of what is made from a text alone the module is None.
    return isinstance(function, types.FunctionType) and (function.__module__ or "").partition(".")[0] == "tilewright"


class Missing(Exception):
    """A path that leads nowhere in this call."""


class Same:
    """Equal to itself alone: stands for an object in a key."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)

    def __repr__(self) -> str:
        return str(getattr(self.value, "__qualname__", None) or repr(self.value))


GETTERS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)


def exact(value: Any) -> Any:
    """Equal for values that no function tells apart: 1 is not True, -0.0 not 0.0, and nan is nan. Objects are themselves."""
    kind = type(value)
    if value is None or kind in (bool, int, str, bytes):
        return (kind, value)
    if kind in (float, complex):
        return (kind, repr(value))
    if isinstance(value, np.generic):
        return (kind, str(value.dtype), repr(value))
    if isinstance(value, np.dtype):
        return (np.dtype, value)
    if kind is slice:
        return (kind, exact(value.start), exact(value.stop), exact(value.step))
    if kind is range:
        return (kind, value.start, value.stop, value.step)
    if kind is dict:
        return (kind, tuple((exact(key), exact(held)) for key, held in value.items()))
    if kind in (tuple, list, set, frozenset):  # sets as a loop goes through them
        return (kind, tuple(map(exact, value)))
    if kind in GETTERS:
        return (kind, exact(value.__reduce__()[1]))
    return Same(value)


def keeps_data(value: Any) -> bool:
    """Whether exact() tells some part of a value by its identity alone that may hold other data one day: an array, say."""

    def of(key: Any) -> bool:
        if isinstance(key, Same):
            return not callable(key.value)
        return isinstance(key, tuple) and any(map(of, key))

    return of(exact(value))


def path_text(path: Path) -> str:
    """As a person writes it: self.weights[0]."""
    text = root_text(path)
    for kind, key in path[1:]:
        if kind == "attribute":
            text += f".{key}"
        elif kind == "cell":
            text += f"'s {key}"
        elif kind == "length":
            text = f"len({text})"
        elif kind not in ("pcg64", "column", "original"):
            text += f"[{key!r}]"
    return text


def root_text(path: Path) -> str:
    kind, key = path[0]
    if kind == "default_rng":
        return f"default_rng({path_text(key) if isinstance(key, tuple) else '' if key is None else key})"
    if kind == "function":
        return "the function"
    if kind == "module":
        return f"{key[0].__name__}.{key[1]}"
    if kind == "cached":
        return f"{getattr(key[0].value, '__name__', 'function')}()"
    return str(key[1]) if isinstance(key, tuple) else str(key)


def follow(path: Path, parameters: Mapping[str, Any], function: Any) -> Any:
    """The value at `path` in a call. Raises Missing."""
    kind, name = path[0]
    try:
        value = _begin(kind, name, parameters, function)
        for step, key in path[1:]:
            if step == "pcg64":
                value = pcg64_words(value)
            elif step == "column":
                value = column_of(key, value)
            elif step == "length":
                value = len(value)
            elif step == "original":
                value = original_of(value)
            elif step == "attribute":
                value = getattr(value, key)
            elif step == "cell":
                value = _cell(value, key)
            else:
                value = value[key]
    except (KeyError, IndexError, AttributeError, TypeError, ValueError) as error:
        raise Missing(path_text(path)) from error
    return value


def _begin(kind: str, name: Any, parameters: Mapping[str, Any], function: Any) -> Any:
    if kind == "parameter":
        return parameters[name]
    if kind == "global":
        return function.__globals__[name]
    if kind == "global_of":
        return name[0].__globals__[name[1]]
    if kind == "closure":
        return _cell(function, name)
    if kind == "function":
        return function
    if kind == "object":
        return name.value
    if kind == "module":
        return getattr(*name)
    if kind == "cached":
        called, args, keywords = name
        return called.value(*(held.value for held in args), **{key: held.value for key, held in keywords})
    if kind == "default_rng":
        return np.random.default_rng(follow(name, parameters, function) if isinstance(name, tuple) else name)
    raise Missing(str(kind))


def _cell(function: Any, name: str) -> Any:
    return function.__closure__[function.__code__.co_freevars.index(name)].cell_contents


def column_of(key: tuple[int, int, type], items: Any) -> np.ndarray[Any, Any]:
    """Of a list of numbers of one type the numbers, or, where they are tuples of that width, those at one place; where
    it is negative, of lists in lists, that deep, an array of so many dimensions more. ValueError where they are not."""
    width, which, kind = key
    if width < 0:
        if not (set(map(type, items)) == {list} and len(set(map(len, items))) == 1 and items[0]):
            raise ValueError("no lists of one length")
        every = column_of((width + 1, 0, kind), list(itertools.chain.from_iterable(items)))
        return every.reshape(len(items), len(items[0]), *every.shape[1:])
    # The other columns are not asked for where the first one is none.
    if width and not which and not (set(map(type, items)) <= {tuple} and set(map(len, items)) <= {width}):
        raise ValueError("no tuples of one length")
    numbers = list(map(operator.itemgetter(which), items)) if width else items
    if not set(map(type, numbers)) <= {kind}:
        raise ValueError("numbers of several types")
    try:
        return np.fromiter(numbers, {int: np.int64, float: np.float64, bool: np.bool_}[kind], len(numbers))
    except OverflowError:
        raise ValueError("an integer beyond 64 bits") from None


def _flag(value: Any, name: str, missing: bool) -> bool:
    """Of an array; of what has no such flag, or is no array, which another guard says, it is `missing`."""
    return bool(getattr(getattr(stand_in(value), "flags", None), name, missing))


# Kind of a guard -> whether it holds of the value at its path.
_HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "is": lambda value, wanted: value is wanted,
    "equal": lambda value, wanted: exact(value) == exact(wanted),
    "contents": lambda value, wanted: exact(value) == wanted,  # of what may change: as it was
    "type": lambda value, wanted: type(value) is wanted,
    "length": lambda value, wanted: type(value) is wanted[0] and len(value) == wanted[1],
    "keys": lambda value, wanted: type(value) is wanted[0] and exact(tuple(value)) == exact(wanted[1]),
    "contiguous": lambda value, wanted: _flag(value, "c_contiguous", not wanted) is wanted,
    "writeable": lambda value, wanted: _flag(value, "writeable", wanted) is wanted,
    "code": lambda value, wanted: type(value) is types.FunctionType and value.__code__ is wanted,
    "has": lambda value, wanted: hasattr(value, wanted[0]) is wanted[1],
    "lacks": lambda value, names: names.isdisjoint(getattr(value, "__dict__", ())),
    "plain": are_set_plainly,
    "holds": lambda value, name: name in getattr(value, "__dict__", ()),
    "key": lambda value, wanted: (wanted[0] in value) is wanted[1],
}
# Those that another value breaks, of the same class.
VALUE_KINDS = frozenset(["is", "equal", "contents", "keys", "code"])


def guard_holds(guard: PythonGuard, parameters: Mapping[str, Any], function: Any) -> bool:
    """Whether a guard holds in a call."""
    try:
        value = follow(guard.path, parameters, function)
    except Missing:
        return guard.kind == "absent"
    if guard.kind == "absent":
        return False
    if guard.kind == "same":
        return value is follow(guard.value, parameters, function)
    if guard.kind == "another":
        return value is not follow(guard.value, parameters, function)
    return _HOLDS[guard.kind](value, guard.value)


def value_holds(kind: str, wanted: Any, value: Any) -> bool:
    """Whether a guard of that kind holds of a value."""
    return _HOLDS[kind](value, wanted)
