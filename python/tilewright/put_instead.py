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

from .outside_values import is_librarys, is_users, names_in
from .own_attributes import attributes_of, hold
from .strided_copies import same_view

_BY_PUT_INSTEAD = 2  # references to its argument: its own, and that of what counts them
_MOST_LOOKED_AT = 20_000  # objects near to a function


def put_instead(mine: Any, theirs: Any, by: Any, handed: Any = (), *, is_all_sought: bool = True) -> None:
    """Lists, dicts, tuples, closures and objects that hold the one array or container hold the other then, or the same view of
    the other one. `by`, `handed`: the function that made them hold it, and what it was handed, from which they are looked
    for, and, if all `is_all_sought`, anywhere. The caller hands over its last reference to `mine` (`pop()`)."""
    _replace_in_known(mine, theirs)
    # A view is not known to its array, nor tuples and dicts of arrays alone to Python's collector, but to what holds them.
    if sys.getrefcount(mine) > _BY_PUT_INSTEAD:
        _put_inside_each(_reached_from(by, handed), mine, theirs)
    if is_all_sought and _has_unknown_holders(mine, sys.getrefcount(mine) - _BY_PUT_INSTEAD):
        _put_inside_each(gc.get_objects(), mine, theirs)  # which takes some times as long as a collection


def _replace_in_known(mine: Any, theirs: Any) -> None:
    for holder in gc.get_referrers(mine):
        if not isinstance(holder, tuple):
            _replace(holder, mine, theirs)


def _has_unknown_holders(mine: Any, references: int) -> bool:
    """Whether views, or what Python's collector does not know of, hold some of so many references. Others that are left let
    nobody set what they hold."""
    known = 0
    for holder in gc.get_referrers(mine):
        if isinstance(holder, types.FrameType) and holder.f_code in _OWN:
            continue  # does not count among the references
        if not isinstance(holder, tuple):  # what holds that gets another one
            known += sum(one is mine for one in gc.get_referents(holder))
    return references > known


_OWN = (put_instead.__code__, _has_unknown_holders.__code__)


def _reached_from(function: Any, handed: Any) -> list[Any]:
    """What a function may reach: what it is handed, what its code names, what it closes over, and what is in that."""
    found, known = [handed, function], {id(function), id(handed), id(vars(builtins))}
    for one in found:
        if len(found) > _MOST_LOOKED_AT:
            break
        for part in _parts_of(one):
            if id(part) not in known and _may_lead_on(part):
                known.add(id(part))
                found.append(part)
    return found


def _parts_of(value: Any) -> list[Any]:
    if not isinstance(value, types.FunctionType):
        return gc.get_referents(value)
    return [
        value.__defaults__, value.__kwdefaults__, value.__dict__, *(value.__closure__ or ()), *_named_by(value)
    ]  # fmt: skip


def _named_by(function: types.FunctionType) -> list[Any]:
    """Variables of its module that its code names, and those of modules that it names, or imports itself."""
    names = {*names_in(function.__code__)}
    found: dict[int, Any] = {}
    spaces: list[dict[str, Any]] = [function.__globals__, sys.modules]
    for space in spaces:
        for value in [space[name] for name in names if name in space]:
            if id(value) not in found and isinstance(value, types.ModuleType) and not is_librarys(_name_of(value)):
                spaces.append(vars(value))
            found[id(value)] = value
    return list(found.values())


def _name_of(module: types.ModuleType) -> str:
    return str(vars(module).get("__name__"))


def _may_lead_on(value: Any) -> bool:
    if isinstance(value, (types.ModuleType, types.CodeType, types.FrameType)):
        return False
    if isinstance(value, (type, types.FunctionType)):
        return is_users(value)
    return gc.is_tracked(value) or type(value) in (dict, tuple)


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
