"""Arrays that functions of the user's find outside of themselves by name, and may write: no argument of a compiled call that
makes such calls may share memory with one of them, for kernels know nothing of those writes."""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from .outside_values import arrays_within, is_users, names_in

_DEEPEST = 4  # functions that call one another
_MOST_BYTES = 1 << 26  # of which copies are made, in calls that are watched


def reached_by(function: Any) -> list[np.ndarray]:
    """As they are now."""
    found: dict[int, Any] = {}
    for one in _functions_from(function):
        for value in _values_of(one):
            arrays_within(value, found)
    return list(found.values())


def copies_of(arrays: list[np.ndarray]) -> list[np.ndarray | None]:
    """None for those of which all together are too large."""
    is_much = sum(one.nbytes for one in arrays) > _MOST_BYTES
    return [None if is_much else one.copy() for one in arrays]


def may_write(function: Any) -> bool:
    """Whether there is an assignment to an item in it, or one in place, or in what it calls."""
    return any(_stores(one.__code__) for one in _functions_from(function))


@functools.lru_cache(maxsize=4096)
def _stores(code: types.CodeType) -> bool:
    inner = any(_stores(one) for one in code.co_consts if isinstance(one, types.CodeType))
    return inner or any(
        one.opname in ("STORE_SUBSCR", "STORE_SLICE") or (one.opname == "BINARY_OP" and one.argrepr.endswith("="))
        for one in dis.get_instructions(code)
    )


def _functions_from(function: Any) -> Iterator[types.FunctionType]:
    """The function, and those that it finds by name."""
    todo, known = [(_plain(function), 0)], set()
    while todo:
        one, depth = todo.pop()
        if not isinstance(one, types.FunctionType) or id(one) in known:
            continue
        known.add(id(one))
        yield one
        if depth < _DEEPEST:
            todo += [(value, depth + 1) for value in map(_plain, _values_of(one)) if _is_users_function(value)]


def _plain(value: Any) -> Any:
    """Of a compiled function, or one that a decorator has wrapped, the user's own."""
    return getattr(value, "__wrapped__", value) if callable(value) else value


def _is_users_function(value: Any) -> bool:
    return isinstance(value, types.FunctionType) and is_users(value)


def _values_of(function: types.FunctionType) -> Iterator[Any]:
    """What stands under its names outside."""
    for name in dict.fromkeys(names_in(function.__code__)):
        if name in function.__globals__:
            yield function.__globals__[name]
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            continue  # it has no value yet
