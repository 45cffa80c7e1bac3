"""What a loop that is compiled by itself is handed in place of lists, texts and attributes of objects: arrays and numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ..light_dataclass import dataclass
from .inner_objects import is_users_class
from .queues_handed import Filled, Queue, QueueHanded, handed_queue, room_for, types_of, waits_for_items
from .rows_handed import ITEMS, ROWS_OF_ARRAYS, RowsHanded, are_apart, rows_of

NUMBERS = (bool, int, float, complex, str, bytes, type(None), np.generic)


@dataclass(frozen=True)
class Handed:
    """`kinds`: of each variable of the loop: "" for what is handed as it is, "text", "texts", "bytes", the rank of a list,
    RowsHanded or QueueHanded. What a loop was written for serves calls of the same kinds. `values`: of the attributes, then of
    the variables."""

    kinds: tuple[Any, ...]
    values: list[Any]
    arrays: bool  # whether any of them is one itself
    lists: dict[int, np.ndarray[Any, Any]]  # by the position of the variable, what is handed for a list
    buffers: dict[int, list[Any]]  # and for a queue


@dataclass(frozen=True)
class Uses:
    """What a loop does with the variables that it is handed. `attributes`: (position, name) of those that it only reads, of
    objects of which it does nothing else. `texts`: variables whose characters it compares. `lists`: those that may be lists
    of which nothing else is left; how many indices stand behind one that is written, where it is."""

    names: tuple[str, ...]
    attributes: tuple[tuple[int, str], ...] = ()
    texts: frozenset[str] = frozenset()
    lists: dict[str, int | None] = field(default_factory=dict)
    flat: frozenset[str] = frozenset()  # of which it takes items that may not be lists: those it could write
    rows: dict[str, int] = field(default_factory=dict)  # lists whose rows it goes through: into how many variables
    queues: dict[str, Queue] = field(default_factory=dict)  # with one, what the loop writes is put back where it fails
    stored: frozenset[str] = frozenset()  # variables into whose arrays it may write
    has_characters: bool = False  # single ones, with which it compares those of texts, or their numbers
    is_repeatable: bool = False  # where it fails: it writes nothing but lists, and what `+=` may write
    augments: bool = False  # variables, which may be arrays
    # What it was seen to append to lists of which it takes nothing.
    filled: dict[str, Filled] = field(default_factory=dict)

    @property
    def owners(self) -> set[int]:
        return {position for position, _ in self.attributes}

    def handed(self, args: Sequence[Any]) -> Handed | None:
        """None: where they are nothing that compiled code can be handed in their place."""
        held = [_held(args[position], name) for position, name in self.attributes]
        if any(one is _NOTHING for one in held):
            return None
        seen: set[int] = set()
        owners = self.owners
        kinds: list[Any] = []
        values = held
        codes: dict[str, int] = {}
        kind: Any
        one: Any
        lists: dict[int, np.ndarray[Any, Any]] = {}
        buffers: dict[int, list[Any]] = {}
        for k, (name, value) in enumerate(zip(self.names, args, strict=True)):
            if name in self.queues:
                kind, one = (None, None)
                if id(value) not in seen:
                    kind, one = handed_queue(self.queues[name], value, room_for(args), self.filled.get(name))
                seen.add(id(value))
            else:
                kind, one = ("", value) if k in owners else self._handed(name, value, seen, codes)
            if kind is None:
                return None
            kinds.append(kind)
            if isinstance(kind, int):
                lists[k] = one
            if isinstance(kind, QueueHanded):
                buffers[k] = one[:-2]
            if isinstance(kind, (RowsHanded, QueueHanded)):
                values.extend(one)
            elif k not in owners:
                values.append(one)
        of_texts = {kind for name, kind in zip(self.names, kinds, strict=True) if name in self.texts}
        if len(of_texts) > 1 and not of_texts.isdisjoint(("text", "texts")):
            return None
        if not all(are_apart(args[k], args, held) for k, kind in enumerate(kinds) if kind == ROWS_OF_ARRAYS):
            return None
        arrays = any(type(one) is np.ndarray for one in (*args, *values[: len(self.attributes)]))
        made = Handed(tuple(kinds), values, arrays, lists, buffers)
        # What cannot be made again says in its error of what kind the sequence was: there may be one kind only.
        told = {kind if kind in ("text", "bytes") else "list" for kind in kinds if kind}
        return None if (self.written(kinds) or len(told) > 1) and not self.may_repeat(made) else made

    def waits_for_items(self, args: Sequence[Any]) -> bool:
        """Whether the loop has to run before it is known what it appends."""
        named = zip(self.names, args, strict=True)
        return any(
            name in self.queues and name not in self.filled and waits_for_items(self.queues[name], value)
            for name, value in named
        )

    def lengths(self, args: Sequence[Any]) -> list[int]:
        """Of the lists to which it appends, before it does."""
        named = zip(self.names, args, strict=True)
        return [len(value) if name in self.queues and hasattr(value, "__len__") else 0 for name, value in named]

    def note_filled(self, args: Sequence[Any], lengths: Sequence[int]) -> None:
        """What it has appended to lists that had those lengths."""
        for name, value, length in zip(self.names, args, lengths, strict=True):
            queue = self.queues.get(name)
            new = (
                list(value)[length:] if queue is not None and not queue.is_taken and type(value) in queue.kinds else []
            )
            if new and queue is not None and (types := types_of(queue, new)) is not None:
                self.filled[name] = Filled(types, len(new))

    def may_repeat(self, handed: Handed) -> bool:
        """Whether a call that failed can be made again: it has written nothing, or that is put back."""
        if self.queues:
            return True
        named = zip(self.names, handed.kinds, strict=True)
        writes_arrays = any(not kind and self.lists.get(name) is not None for name, kind in named)
        return self.is_repeatable and not writes_arrays and not (self.augments and handed.arrays)

    def _handed(self, name: str, value: Any, seen: set[int], codes: dict[str, int]) -> tuple[Any, Any]:
        """Its kind, and the value; (None, None) where it is a list of something else. `codes`: numbers of whole texts."""
        if type(value) is str and name in self.texts:
            return "text", np.frombuffer(value.encode("utf-32-le", "surrogatepass"), np.uint32)
        if type(value) is bytes and self.lists.get(name, 0) is None:
            return "bytes", np.frombuffer(value, np.uint8)
        if type(value) is not list:
            return "", value
        if name in self.texts and not self.has_characters and set(map(type, value)) == {str}:
            return "texts", np.array([codes.setdefault(one, len(codes)) for one in value], np.int64)
        if name in self.rows and (found := rows_of(value, self.rows[name], seen)) is not None:
            return found
        array = _as_array(value, seen) if name in self.lists else None
        if array is None or self.lists[name] not in (None, array.ndim) or (array.ndim > 1 and name in self.flat):
            return None, None
        return array.ndim, array

    def written(self, kinds: Sequence[Any]) -> list[int]:
        """Positions of lists that the loop writes."""
        lists = enumerate(zip(self.names, kinds, strict=True))
        return [k for k, (name, kind) in lists if isinstance(kind, int) and self.lists.get(name) is not None]

    def kept(self, args: Sequence[Any]) -> list[tuple[Any, Any]]:
        """Arrays into which the loop may write, and what is in them before it."""
        stored = (value for name, value in zip(self.names, args, strict=True) if name in self.stored)
        return [(one, one.copy()) for value in stored for one in _arrays_of(value)]


def _arrays_of(value: Any) -> Iterator[Any]:
    if type(value) is tuple:
        for one in value:
            yield from _arrays_of(one)
    elif type(value) is np.ndarray:
        yield value


_NOTHING = object()


def _held(owner: Any, name: str) -> Any:
    """An attribute of an object's own that is an array, a number or a random generator."""
    if not is_users_class(type(owner)) or hasattr(type(owner), name):
        return _NOTHING
    value = getattr(owner, "__dict__", {}).get(name)
    is_handed = type(value) in (np.ndarray, np.random.Generator) or isinstance(value, (int, float, np.generic))
    return value if is_handed else _NOTHING


def _as_array(items: list[Any], seen: set[int]) -> Any:
    """Of a list of numbers of one type, or of such lists of one length, each of which is another one."""
    rows = items if items and type(items[0]) is list else [items]
    if not rows[0]:
        return None
    kinds = {kind for row in rows if type(row) is list for kind in set(map(type, row))}
    if len(kinds) != 1 or not all(type(row) is list and len(row) == len(rows[0]) for row in rows):
        return None
    own = {*map(id, rows), id(items)}
    if len(own) < len(rows) + (rows is items) or not own.isdisjoint(seen):
        return None
    seen |= own
    kind = ITEMS.get(*kinds)  # type: ignore[arg-type]
    if kind is None:
        return None
    try:
        flat = np.fromiter(itertools.chain.from_iterable(rows), kind, len(rows) * len(rows[0]))
        return flat if rows[0] is items else flat.reshape(len(rows), -1)
    except OverflowError:
        return None


def is_of_its_kind(items: list[Any], new: list[Any]) -> bool:
    """Whether what a list shall hold is of the one type of what it holds."""
    if type(items[0]) is list:
        return all(map(is_of_its_kind, items, new))
    return set(map(type, new)) == {type(items[0])}


def is_plain(value: Any) -> bool:
    """Whether it is an array, a random generator or what never changes."""
    if type(value) is tuple:
        return all(map(is_plain, value))
    if isinstance(value, (*NUMBERS, np.random.Generator)):  # which compiled code leaves where NumPy leaves it
        return True
    return type(value) is np.ndarray and not value.dtype.hasobject


def write_back(items: list[Any], before: np.ndarray[Any, Any], new: list[Any]) -> None:
    """What is not as it was before, into a list, or into the lists in it: others may have written the rest meanwhile."""
    if before.ndim > 1:
        for row, one, there in zip(items, before, new, strict=True):
            write_back(row, one, there)
        return
    bits = np.dtype(f"u{before.itemsize}")  # in which -0.0 is not 0.0
    try:
        changed = np.flatnonzero(np.array(new, before.dtype).view(bits) != before.view(bits)).tolist()
    except OverflowError:
        changed = [k for k, (one, other) in enumerate(zip(before.tolist(), new, strict=True)) if one != other]
    for k in changed:
        items[k] = new[k]
