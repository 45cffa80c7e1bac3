"""Whether somebody else holds an array behind a call that was handed it, or gave it: a list, a cache, an attribute. What is
written into it later is seen there, and what is written there is seen in it. CPython's counts of references tell."""

from __future__ import annotations

import array
import gc
import sys
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

_MEMORIES = (bytes, bytearray, array.array)  # nobody has such a one under another name without a reference to it
_MUTABLE = (list, dict, set, bytearray, deque)
_ALONE = [np.empty(0)]
_BY_A_CALL = sys.getrefcount(_ALONE[0]) - 1  # references by the call that counts


def references(values: Sequence[Any]) -> list[int]:
    """Of each array or container how many references there are to it, and to the memory that an array shows."""
    return [_references(values, k) for k in range(len(values))]


def _references(values: Sequence[Any], k: int) -> int:
    own = sys.getrefcount(values[k])
    if not isinstance(values[k], np.ndarray):
        return own if isinstance(values[k], (tuple, *_MUTABLE)) else 0  # of other classes each has its own way
    memory = values[k].base
    while isinstance(memory, np.ndarray) and memory.base is not None:
        memory = memory.base
    return own + sys.getrefcount(memory) if memory is not None else own


def handed_containers(value: Any) -> list[Any]:
    """Lists, dicts, sets and tuples among arguments, which are one themselves, but for tuples of plain values."""
    if not isinstance(value, (list, tuple, dict, set)) or _is_plain(value):
        return []
    items = value.values() if isinstance(value, dict) else () if isinstance(value, set) else value
    return [value, *(one for item in items for one in handed_containers(item))]


def kept_of(values: Sequence[Any], before: Sequence[int], given_back: Counter[int], generation: int) -> tuple[int, ...]:
    """Which of them have more references now than before. `given_back`: how often the result has each of them."""

    def found() -> tuple[int, ...]:
        return tuple(k for k, n in enumerate(references(values)) if n > before[k] + given_back[k])

    return found() and _without_garbage(found, generation)


def held_elsewhere(pieces: Sequence[Any], generation: int) -> tuple[int, ...]:
    """Which of the arrays that a call gave somebody else holds, beside its result, which has each once, and this list."""

    def found() -> tuple[int, ...]:
        views = Counter(id(one.base) for one in pieces if isinstance(one, np.ndarray) and one.base is not None)
        return tuple(
            k for k in range(len(pieces)) if isinstance(pieces[k], np.ndarray) and not _is_alone(pieces, k, views)
        )

    return found() and _without_garbage(found, generation)


def refuse_containers(holder: Any, known: int, inside: Sequence[Any], generation: int) -> None:
    """TypeError where somebody else holds a list or dict that a call gave, or what a view shows that is in one: stages hold
    copies of those. `holder`: has the result, to which there are `known` references. `inside`: arrays in containers."""

    def found() -> bool:
        views = [k for k in held_elsewhere(inside, generation) if inside[k].base is not None]
        return bool(views) or _has_one_of_others(holder, known, 0)

    if found() and _without_garbage(found, generation):
        raise TypeError("it gives a list, a dict or a view that somebody else holds")


_DEEPEST = 20
_PLAIN = (str, bytes, bool, int, float, complex, type(None), np.generic)


def _has_one_of_others(holder: Any, known: int, depth: int) -> bool:
    if depth > _DEEPEST:
        return True
    if all(
        issubclass(kind, _PLAIN) for kind in set(map(type, holder.values() if isinstance(holder, dict) else holder))
    ):
        return False
    for key in [*holder] if isinstance(holder, dict) else range(len(holder)):
        if not isinstance(holder[key], (tuple, *_MUTABLE)):
            continue
        if isinstance(holder[key], dict) and type(holder[key]) is not dict:
            continue  # one of a class stays the object that it is
        is_of_others = sys.getrefcount(holder[key]) - _BY_A_CALL > known
        if is_of_others and (isinstance(holder[key], _MUTABLE) or not _is_plain(holder[key])):
            return True
        if not isinstance(holder[key], (set, bytearray)) and _has_one_of_others(holder[key], 1, depth + 1):
            return True
    return False


def _is_plain(value: Any) -> bool:
    """Whether nobody can tell it from a copy."""
    return isinstance(value, _PLAIN) or (isinstance(value, tuple) and all(map(_is_plain, value)))


_FROZEN_BY_PYTHON = 5000  # objects at most: from 3.12 on it begins with some hundred


@contextmanager
def only_new_garbage() -> Iterator[None]:
    """What was made before is not gone through by collections until the end: what a call gives, only what it made can hold.
    A collection of all generations takes 0.1 s where large packages are imported, and looking at calls asks for many."""
    if gc.get_freeze_count() > _FROZEN_BY_PYTHON:  # others', who would find them unfrozen
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _without_garbage(found: Any, generation: int) -> Any:
    """Functions that call themselves hold each other, and what they read, until these are collected."""
    gc.collect(generation)
    return found()


def _is_alone(pieces: Sequence[Any], k: int, views: Counter[int]) -> bool:
    if sys.getrefcount(pieces[k]) - _BY_A_CALL > 2 + views[id(pieces[k])]:
        return False
    memory = pieces[k].base
    known = views[id(memory)] + 2 * any(memory is one for one in pieces)
    while memory is not None:
        if sys.getrefcount(memory) - _BY_A_CALL > known + 1:  # and this variable
            return False
        if isinstance(memory, _MEMORIES) or type(memory).__name__ == "PyCapsule":
            return True
        if not isinstance(memory, (np.ndarray, memoryview)):
            return False
        memory = memory.obj if isinstance(memory, memoryview) else memory.base
        known = 1
    return True
