"""Whether somebody else holds an array behind a call that was handed it, or gave it: a list, a cache, an attribute. What is
written into it later is seen there, and what is written there is seen in it. CPython's counts of references tell."""

from __future__ import annotations

import array
import gc
import sys
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

import numpy as np

_MEMORIES = (bytes, bytearray, array.array)  # nobody has such a one under another name without a reference to it
_ALONE = [np.empty(0)]
_BY_A_CALL = sys.getrefcount(_ALONE[0]) - 1  # references by the call that counts


def references(arrays: Sequence[Any]) -> list[int]:
    """Of each array how many references there are to it and to the memory that it shows."""
    return [_references(arrays, k) if isinstance(arrays[k], np.ndarray) else 0 for k in range(len(arrays))]


def _references(arrays: Sequence[Any], k: int) -> int:
    own = sys.getrefcount(arrays[k])
    memory = arrays[k].base
    while isinstance(memory, np.ndarray) and memory.base is not None:
        memory = memory.base
    return own + sys.getrefcount(memory) if memory is not None else own


def kept_of(arrays: Sequence[Any], before: Sequence[int], given_back: Counter[int], generation: int) -> tuple[int, ...]:
    """Which arrays have more references now than before. `given_back`: how often the result has each of them."""

    def found() -> tuple[int, ...]:
        return tuple(k for k, n in enumerate(references(arrays)) if n > before[k] + given_back[k])

    return found() and _without_garbage(found, generation)


def held_elsewhere(pieces: Sequence[Any], generation: int) -> tuple[int, ...]:
    """Which of the arrays that a call gave somebody else holds, beside its result, which has each once, and this list."""

    def found() -> tuple[int, ...]:
        views = Counter(id(one.base) for one in pieces if isinstance(one, np.ndarray) and one.base is not None)
        return tuple(
            k for k in range(len(pieces)) if isinstance(pieces[k], np.ndarray) and not _is_alone(pieces, k, views)
        )

    return found() and _without_garbage(found, generation)


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


def put_instead(mine: Any, theirs: Any) -> None:
    """Lists, dicts and objects that hold the one array hold the other then."""
    for one in gc.get_referrers(mine):
        places = one if isinstance(one, (list, dict, deque)) else getattr(one, "__dict__", {})
        for key in [*places] if isinstance(places, dict) else range(len(places)):
            if places[key] is mine:
                places[key] = theirs
