"""Rows of several lengths (adjacency lists) as a loop is handed them that is compiled by itself: where each begins and ends in
arrays of all items, one for each variable that the loop gives an item's parts."""

from __future__ import annotations

import itertools
import marshal
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

ITEMS: dict[type, type[np.generic]] = {int: np.int64, float: np.float64, bool: np.bool_}


_LARGEST_KEPT = 1 << 20  # bytes
_MOST_KEPT = 8
_known: dict[tuple[int, bytes], tuple[RowsHanded, list[Any]] | None] = {}  # the oldest first


class RowsHanded(NamedTuple):
    """`columns`: the arrays of items. `are_lists`: whether the rows are Python's, and so are the numbers in them."""

    columns: int
    are_lists: bool


ROWS_OF_ARRAYS = RowsHanded(1, are_lists=False)


def rows_of(rows: list[Any], parts: int, seen: set[int]) -> tuple[RowsHanded, list[Any]] | None:
    """Of a list of lists, tuples or arrays, whose items are numbers of one type, or tuples of so many `parts`; 0 for numbers.
    The arrays: begins, ends, and the items. None of something else, and of lists that were `seen` under another name."""
    kinds = set(map(type, rows))
    if kinds == {np.ndarray} and not parts:
        dtypes = {(row.dtype, row.ndim) for row in rows}
        if len(dtypes) > 1 or not all(dtype.kind in "biuf" and ndim == 1 for dtype, ndim in dtypes):
            return None
        return ROWS_OF_ARRAYS, [*_limits(rows), np.concatenate(rows)]
    if not kinds or not kinds <= {list, tuple}:
        return None
    own = {id(rows), *map(id, rows)}
    if not own.isdisjoint(seen):
        return None
    made = _known_rows(rows, parts)
    if made is not None:
        seen |= own
    return made


def _known_rows(rows: list[Any], parts: int) -> tuple[RowsHanded, list[Any]] | None:
    """As a call before has made them of rows of the same numbers, which nobody writes: loops run again and again over one
    graph, and Python writes a list's numbers down in a third of the time that arrays take to be made of it."""
    try:
        key = parts, marshal.dumps(rows, 2)  # types of numbers and bits of floats, and no identities
    except ValueError:  # something else is in them
        return None
    if len(key[1]) > _LARGEST_KEPT:
        return _made_rows(rows, parts)
    if key in _known:
        return _known[key]
    _known[key] = made = _made_rows(rows, parts)
    for oldest in list(_known)[:-_MOST_KEPT]:
        _known.pop(oldest, None)
    return made


def _made_rows(rows: list[Any], parts: int) -> tuple[RowsHanded, list[Any]] | None:
    items = list(itertools.chain.from_iterable(rows))
    if parts and (set(map(type, items)) - {tuple} or set(map(len, items)) - {parts}):
        return None
    columns = list(zip(*items, strict=True)) if parts and items else [items] * max(parts, 1)
    made = list(map(_column, columns))
    if any(one is None for one in made):
        return None
    return RowsHanded(len(made), are_lists=True), [*_limits(rows), *made]


def _limits(rows: list[Any]) -> tuple[Any, Any]:
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    ends = np.cumsum(lengths)
    return ends - lengths, ends


def _column(numbers: Sequence[Any]) -> Any:
    kinds = set(map(type, numbers)) or {int}
    kind = ITEMS.get(kinds.pop())
    if kinds or kind is None:
        return None
    try:
        return np.array(numbers, kind)
    except OverflowError:
        return None


def are_apart(rows: list[Any], args: Sequence[Any], held: Sequence[Any]) -> bool:
    """Whether no array that a loop is handed beside rows of arrays can share memory with one of those."""
    if any(row.base is not None for row in rows):
        return False
    own = set(map(id, rows))
    others = [one for one in (*args, *held) if one is not rows]
    while others:
        one = others.pop()
        if isinstance(one, tuple):
            others.extend(one)
        elif isinstance(one, list):
            others.extend(part for part in one if type(part) is not int)
        elif isinstance(one, np.ndarray) and not own.isdisjoint((id(one), id(one.base))):
            return False
    return True
