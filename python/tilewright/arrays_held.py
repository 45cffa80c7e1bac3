"""Arrays inside of what Python keeps of a call's results."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from .described_results import held_of
from .kinds_of_values import CONTAINERS, is_object


def arrays_held(result: Any, described: Any, arguments: Sequence[Any]) -> list[Any]:
    """Arrays in what Python keeps of a result, but for those that an object has: what is in one stays as it is
    (native/face/held_results.cpp), and may share memory. TypeError where others share memory with each other or with
    arguments, where two containers are one, and where something else is in them."""
    # Each with the position of what Python keeps, where an object in it has the array; else with one of its own.
    found: list[tuple[Any, int]] = []
    seen: set[int] = set()
    for position, one in enumerate(held_of(result, described)):
        there: set[int] = set()
        _look_into(one, found, seen, there, 0, position)
        seen |= there
    given = [(one, -2 - 2 * k) for k, one in enumerate(arguments) if found and isinstance(one, np.ndarray)]
    bounds = sorted((*np.lib.array_utils.byte_bounds(one), owner) for one, owner in (*found, *given) if one.size)
    last, last_owner = 0, 0
    for begin, end, owner in bounds:
        if begin < last and owner != last_owner:
            raise TypeError("it gives a container in which arrays share memory")
        last, last_owner = max((last, last_owner), (end, owner))
    return [one for one, owner in found if owner < 0]


_DEEPEST_HELD, _MOST_HELD = 20, 10_000
_NEVER_HOLD_ARRAYS = (types.ModuleType, types.BuiltinFunctionType, type, np.dtype, np.ufunc, slice, range)
_LEAVES = {str, bytes, bool, int, float, complex, type(None), np.float64, np.float32, np.int64, np.bool_}


def _look_into(  # noqa: PLR0917
    value: Any, found: list[tuple[Any, int]], seen: set[int], in_objects: set[int], depth: int, owner: int,
    is_in_object: bool = False,
) -> None:  # fmt: skip
    kind = type(value)
    if is_in_object and id(value) in in_objects:
        return
    if len(seen) + len(in_objects) > _MOST_HELD:
        raise TypeError(f"it gives a container of more than {_MOST_HELD:,} others")
    is_new = depth < _DEEPEST_HELD and id(value) not in seen and id(value) not in in_objects
    if kind is np.ndarray and not value.dtype.hasobject:
        found.append((value, owner if is_in_object else -1 - 2 * len(found)))
    elif kind in _LEAVES or isinstance(value, (np.generic, *_NEVER_HOLD_ARRAYS)):
        return
    elif is_object(value) and is_new:
        is_in_object = is_in_object or not isinstance(value, (list, tuple))
        (in_objects if is_in_object else seen).add(id(value))
        parts = [*getattr(value, "__dict__", {}).values()]
        for slot in (one for cls in kind.__mro__ for one in vars(cls).values()):
            if isinstance(slot, types.MemberDescriptorType):
                with contextlib.suppress(AttributeError):  # nothing is in it yet
                    parts.append(slot.__get__(value))
        if isinstance(value, dict):
            parts += [*dict.keys(value), *dict.values(value)]
        elif isinstance(value, (list, tuple)):
            parts += (list if isinstance(value, list) else tuple).__iter__(value)  # type: ignore[arg-type]
        for part in parts:
            _look_into(part, found, seen, in_objects, depth + 1, owner, is_in_object)
    elif (kind in CONTAINERS or (isinstance(value, tuple) and hasattr(kind, "_fields"))) and is_new:
        if kind is not frozenset and not isinstance(value, tuple):
            (in_objects if is_in_object else seen).add(id(value))
        groups: list[Any] = [value.keys(), value.values()] if isinstance(value, dict) else [value]
        for items in groups:
            if not set(map(type, items)) <= _LEAVES:
                for item in items:
                    _look_into(item, found, seen, in_objects, depth + 1, owner, is_in_object)
    else:
        raise TypeError(f"it gives a container of a {kind.__name__}, or one twice")
