"""Everywhere where one object is held, another one is put: what a call was handed were copies, which it kept as if they were the
arrays of the caller."""

from __future__ import annotations

import builtins
import functools
import gc
import operator
import sys
import types
from collections import deque
from contextlib import suppress
from typing import Any

import numpy as np

from .outside_values import is_of_a_statement
from .own_attributes import attributes_of, hold
from .strided_copies import same_view

_BY_PUT_INSTEAD = 2  # references to its argument: its own, and that of what counts them
_MOST_LOOKED_AT = 20_000  # objects near to a function


def put_instead(mine: Any, theirs: Any, by: Any, *, is_all_sought: bool = True) -> None:
    """Lists, dicts, tuples, closures and objects that hold the one array or container hold the other then, or the same view of
    the other one. `by`: the function that made them hold it, near to which they are looked
    for, and, if all `is_all_sought`, anywhere. The caller hands over its last reference to `mine` (`pop()`)."""
    for holder in gc.get_referrers(mine):
        if not isinstance(holder, tuple):
            _replace(holder, mine, theirs)
    # A view is not known to its array, nor tuples and dicts of arrays alone to Python's collector, but to what holds them.
    if sys.getrefcount(mine) > _BY_PUT_INSTEAD:
        _put_inside_each(_near(by), mine, theirs)
    if is_all_sought and sys.getrefcount(mine) > _BY_PUT_INSTEAD:
        _put_inside_each(gc.get_objects(), mine, theirs)  # which takes as long as a collection


def _near(function: Any) -> list[Any]:
    """What a function may reach: its module's variables and those around it, and what is in them."""
    found, known = [function], {id(function), id(vars(builtins))}
    for one in found:
        if len(found) > _MOST_LOOKED_AT:
            break
        parts = gc.get_referents(one)
        if isinstance(one, types.FunctionType) and one is not function:
            parts = [part for part in parts if part is not one.__globals__]
        for part in parts:
            if id(part) not in known and _may_lead_on(part):
                known.add(id(part))
                found.append(part)
    return found


def _may_lead_on(value: Any) -> bool:
    if isinstance(value, (types.ModuleType, types.CodeType, types.FrameType)):
        return False
    return is_of_a_statement(value) if isinstance(value, type) else gc.is_tracked(value) or type(value) in (dict, tuple)


def _put_inside_each(holders: list[Any], mine: Any, theirs: Any) -> None:
    for holder in holders:
        _put_inside(holder, mine, theirs)


def _put_inside(holder: Any, mine: Any, theirs: Any) -> None:
    # No function inside: `mine` would lie in a cell, which is found, too.
    if isinstance(holder, tuple):
        return  # what holds it gets another one
    for one in gc.get_referents(holder):
        if type(one) is dict and not gc.is_tracked(one):
            _put_inside(one, mine, theirs)
            continue
        other = _instead_of(one, mine, theirs)
        if other is not one:
            _replace(holder, one, other)


def _instead_of(value: Any, mine: Any, theirs: Any) -> Any:
    """Of what holds no container that may be changed; the value itself where it has nothing to do with `mine`."""
    if value is mine:
        return theirs
    if type(value) is np.ndarray and type(mine) is np.ndarray:
        is_view = value.base is not None and np.may_share_memory(value, mine)
        return same_view(value, mine, theirs) if is_view else value
    if isinstance(value, tuple):
        items = [_instead_of(one, mine, theirs) for one in value]
        if any(map(operator.is_not, items, value)):
            return tuple.__new__(type(value), items)
    return value


def _replace(holder: Any, mine: Any, theirs: Any) -> None:
    if isinstance(holder, (list, deque)):
        for k in range(len(holder)):
            if holder[k] is mine:
                holder[k] = theirs
    elif isinstance(holder, dict):
        for key, value in list(holder.items()):
            if value is mine:
                holder[key] = theirs
    elif isinstance(holder, types.CellType):
        holder.cell_contents = theirs
    elif isinstance(holder, functools.partial):
        state: Any = holder.__reduce__()[2]
        holder.__setstate__((state[0], theirs if state[1] is mine else state[1], *state[2:]))  # type: ignore[attr-defined]
    elif not isinstance(holder, (type, types.ModuleType, types.FrameType)):
        for name, value in attributes_of(holder).items():
            if value is mine:
                with suppress(AttributeError, TypeError):  # what classes of C let nobody set
                    hold(holder, name, theirs)
