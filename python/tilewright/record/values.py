"""What a call's arguments hold: arrays, also those inside of containers and of the user's own objects."""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from .ownership import Users

_DEEPEST = 4
_MOST_ITEMS = 32  # of one container: what lies behind is as what came before
_MOST_SEEN = 200  # containers and objects of one argument
_MOST_TOLD = 6  # arrays of one argument, in a line for people
_ATOMS = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype, type, types.FunctionType)


def arrays_in(value: Any, users: Users) -> Iterator[tuple[str, Any]]:
    """Where arrays are in an argument (`.pos`, `['x']`, `[0]`; "" for itself), and the arrays.

    A random generator counts: it stands for as many arrays as the function draws.
    """
    # Breadth first and bounded: a graph of objects is looked at from its start.
    waiting: deque[tuple[str, Any, int]] = deque([("", value, 0)])
    seen: set[int] = set()
    while waiting and len(seen) < _MOST_SEEN:
        where, found, depth = waiting.popleft()
        if isinstance(found, (np.ndarray, np.random.Generator)):
            yield where, found
        elif not isinstance(found, _ATOMS) and depth < _DEEPEST and id(found) not in seen:
            seen.add(id(found))
            waiting += [(where + step, item, depth + 1) for step, item in _items(found, users)]


def _items(value: Any, users: Users) -> list[tuple[str, Any]]:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [(f".{name}", item) for name, item in zip(value._fields, value, strict=False)]
    if type(value) in (list, tuple):
        return [(f"[{k}]", item) for k, item in enumerate(value[:_MOST_ITEMS])]
    if type(value) is dict:
        return [(f"[{key!r}]", item) for key, item in list(value.items())[:_MOST_ITEMS]]
    if type(value) is types.SimpleNamespace or users.has_type(type(value)):
        held = dict(getattr(value, "__dict__", {}))
        for cls in type(value).__mro__:
            slots = vars(cls).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                    held[name] = getattr(value, name)
        return [(f".{name}", item) for name, item in held.items()]
    return []


def key_of(value: Any, users: Users) -> tuple[Any, ...]:
    """Equal for arguments that are of one signature and size."""
    if isinstance(value, np.ndarray):
        return _array_key(value)
    if isinstance(value, (bool, int, float, complex, np.generic)):
        return ("scalar", type(value).__name__)
    inside = tuple((where, _array_key(a)) for where, a in arrays_in(value, users) if isinstance(a, np.ndarray))
    return ("object", type(value).__name__, inside)


def _array_key(array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    layout = "c" if array.flags.c_contiguous else "f" if array.flags.f_contiguous else "any"
    return ("array", array.dtype.str, array.shape, layout)


def describe(key: tuple[Any, ...]) -> str:
    """float64[3, 2]; Model(.pos float64[100, 3], .mass float64[100])."""
    if key[0] == "array":
        _, dtype, shape, layout = key
        words = {"c": "", "f": " Fortran order", "any": " strided"}
        told = words[layout] if len(shape) > 1 or layout == "any" else ""
        return f"{np.dtype(dtype).name}[{', '.join(map(str, shape))}]{told}"
    if key[0] == "scalar" or not key[2]:
        return str(key[1])
    inside = [f"{where} {describe(array)}" for where, array in key[2][:_MOST_TOLD]]
    more = ["…"] if len(key[2]) > _MOST_TOLD else []
    return f"{key[1]}({', '.join(inside + more)})"
