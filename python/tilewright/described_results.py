"""What calls gave, as stages know it: of each array dtype and extents, of each number its type, of all else that Python keeps it."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .kinds_of_values import CONTAINERS, LARGEST_INT, is_object
from .light_dataclass import dataclass
from .outside_values import Variable


@dataclass(frozen=True)
class Array:
    """A result that was seen. Of each extent what it may be, the likeliest first: (argument, axis), or the literal 1."""

    dtype: np.dtype[Any]
    is_array: bool  # also without dimensions
    extents: tuple[tuple[tuple[int, int] | int, ...], ...]
    is_shared: bool = False  # somebody else holds it too
    is_writeable: bool = True
    is_in_c_order: bool = False  # where all arrays that are handed over are


@dataclass(frozen=True)
class Argument:
    """A result that is one of the arrays that were handed over, the very object."""

    position: int


@dataclass(frozen=True)
class Plain:
    """A result that no data change: None, a text, a dtype."""

    value: Any


@dataclass(frozen=True)
class Held:
    """A list, a text or another container that statements gave, or an object, as it is: Python keeps it. `items`: what each
    item of a list is, where all are numbers or tuples of numbers of one kind; else None."""

    kind: type
    items: Any = None


@dataclass(frozen=True)
class Seen:
    """What a call of a function that is not known to be pure did: its results, which arrays it wrote, which variables
    it changed that the compiled functions name, which arrays somebody holds behind it, and whether it may write arrays that it
    finds outside of itself."""

    gives: Any
    written: tuple[int, ...]
    changed: tuple[Variable, ...]
    kept: tuple[int, ...] = ()
    reaches: bool = False


def given_back(gives: Any) -> collections.Counter[int]:
    """How often a result has each of the arrays that were handed over."""
    return collections.Counter(leaf.position for leaf in _all_leaves(gives) if isinstance(leaf, Argument))


def with_shared(described: Any, are_shared: Iterator[bool]) -> Any:
    """The result as described, of which these pieces are held elsewhere."""
    if isinstance(described, Array):
        return replace(described, is_shared=next(are_shared))
    if isinstance(described, _LEAF_KINDS):
        if isinstance(described, type):
            next(are_shared)
        return described
    if isinstance(described, dict):
        return {name: with_shared(one, are_shared) for name, one in described.items()}
    items = [with_shared(one, are_shared) for one in described]
    return type(described)(*items) if hasattr(described, "_fields") else type(described)(items)


def described_result(result: Any, arguments: list[Any], is_pure: bool = True) -> Any:
    if type(result) is dict and all(type(key) in (str, int) for key in result):
        return {key: described_result(item, arguments, is_pure) for key, item in result.items()}
    if is_object(result):
        if is_pure:
            raise TypeError(f"it gives a {type(result).__name__}")
        return Held(type(result))
    if type(result) in (list, tuple) or hasattr(result, "_fields"):
        items = [described_result(item, arguments, is_pure) for item in result]
        return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
    if type(result) in (bool, int, float):
        return type(result)
    if not is_pure:
        for position, one in enumerate(arguments):
            if one is result and isinstance(one, np.ndarray):
                return Argument(position)
        if result is None or isinstance(result, (str, bytes, type, np.dtype)):
            return Plain(result)
    if type(result) is not np.ndarray and not isinstance(result, np.generic):
        raise TypeError(f"it gives a {type(result).__name__}")
    if result.dtype.kind not in "biufc" or result.dtype.itemsize > (16 if result.dtype.kind == "c" else 8):
        raise TypeError(f"it gives {result.dtype}")
    if not result.dtype.isnative:
        raise TypeError(f"it gives byte-swapped {result.dtype}")
    if any(isinstance(one, np.ndarray) and np.may_share_memory(one, result) for one in arguments):
        raise TypeError("it gives memory of its argument")
    extents = tuple(_extents(result, axis, arguments) for axis in range(result.ndim))
    return Array(
        result.dtype,
        isinstance(result, np.ndarray),
        extents,
        is_writeable=_is_writeable(result),
        is_in_c_order=_is_in_c_order(result)
        and all(one.flags.c_contiguous for one in arguments if isinstance(one, np.ndarray)),
    )


def _is_in_c_order(result: Any) -> bool:
    """Whether it says of others, with other extents, how they lie: a single row lies in any order."""
    return result.flags.c_contiguous and (result.ndim < 2 or not result.flags.f_contiguous)


def _is_writeable(result: Any) -> bool:
    return isinstance(result, np.generic) or result.flags.writeable


_LEAF_KINDS = (Array, Argument, Plain, Held, type)


def is_part(function: Any) -> bool:
    """Whether it stands for statements of another function, and gives their variables by name."""
    return hasattr(function, "__tilewright_part__")


def described_variables(variables: dict[str, Any], arguments: list[Any]) -> Any:
    """What statements set: containers stay Python's own, but for tuples."""

    def described(value: Any) -> Any:
        if type(value) is tuple:
            return tuple(map(described, value))
        if type(value) in CONTAINERS:
            return Held(type(value), _kind_of_items(value))
        return described_result(value, arguments, is_pure=False)

    return {name: described(value) for name, value in variables.items()}


def _kind_of_items(value: Any) -> Any:
    """Of a list of numbers of one kind, or of tuples of such; None of all else."""
    kinds = {_kind_of_item(item) for item in value} if type(value) is list else set()
    return kinds.pop() if len(kinds) == 1 else None


def _are_of_kind(items: Any, kind: Any) -> bool:
    """As _kind_of_item() has it of each, at the speed of Python's own loops."""
    if not items:
        return True
    types: set[Any] = set(map(type, items))
    if isinstance(kind, tuple):
        if types != {tuple} or set(map(len, items)) != {len(kind)}:
            return False
        columns: list[Any] = list(zip(*items, strict=True))
        return all(_are_of_kind(column, one) for column, one in zip(columns, kind, strict=True))
    if isinstance(kind, str):
        return types == {np.dtype(kind).type}
    return types == {kind} and (kind is not int or (min(items) >= -LARGEST_INT and max(items) <= LARGEST_INT))


def _kind_of_item(item: Any) -> Any:
    if type(item) is tuple:
        kinds = tuple(map(_kind_of_item, item))
        return None if None in kinds or not kinds else kinds
    if type(item) in (bool, int, float):
        return type(item) if type(item) is not int or abs(item) <= LARGEST_INT else None
    return item.dtype.str if isinstance(item, np.generic) and item.dtype.kind in "biuf" and item.itemsize <= 8 else None


def held_of(result: Any, described: Any) -> list[Any]:
    """What Python keeps of a result, in order."""
    if isinstance(described, Held):
        return [result]
    if isinstance(described, _LEAF_KINDS):
        return []
    if isinstance(described, dict):
        return [one for name, like in described.items() for one in held_of(result[name], like)]
    return [one for part, like in zip(result, described, strict=True) for one in held_of(part, like)]


def helds_in(described: Any) -> list[Held]:
    """Of what those are."""
    return [leaf for leaf in _all_leaves(described) if isinstance(leaf, Held)]


def pieces_of(result: Any, described: Any, arguments: Sequence[Any]) -> list[Any]:
    """Arrays and numbers of a result, in order. TypeError where it is not as described."""
    if isinstance(described, Held):
        if type(result) is not described.kind:
            raise TypeError
        if described.items is not None and not _are_of_kind(result, described.items):
            raise TypeError
        return []
    if isinstance(described, Argument):
        if result is not arguments[described.position]:
            raise TypeError
        return []
    if isinstance(described, Plain):
        if type(result) is not type(described.value) or result != described.value:
            raise TypeError
        return []
    if isinstance(described, Array):
        if not isinstance(result, (np.ndarray, np.generic)) or isinstance(result, np.ndarray) != described.is_array:
            raise TypeError
        if type(result) not in (np.ndarray, result.dtype.type) or result.dtype != described.dtype:
            raise TypeError
        if any(isinstance(one, np.ndarray) and np.may_share_memory(one, result) for one in arguments):
            raise TypeError
        if _is_writeable(result) != described.is_writeable:
            raise TypeError
        return [result]
    if isinstance(described, type):
        if type(result) is not described or (type(result) is int and abs(result) > LARGEST_INT):
            raise TypeError
        return [result]
    if type(result) is not type(described) or len(result) != len(described):
        raise TypeError
    if isinstance(described, dict):
        if list(result) != list(described):
            raise TypeError
        pairs = [(result[key], described[key]) for key in described]
    else:
        pairs = list(zip(result, described, strict=True))
    return [piece for one, like in pairs for piece in pieces_of(one, like, arguments)]


def leaves_of(described: Any) -> list[Any]:
    """Of what the pieces of such a result are."""
    return [leaf for leaf in _all_leaves(described) if isinstance(leaf, (Array, type))]


def _all_leaves(described: Any) -> Iterator[Any]:
    if isinstance(described, _LEAF_KINDS):
        yield described
        return
    for part in described.values() if isinstance(described, dict) else described:
        yield from _all_leaves(part)


def rebuilt(described: Any, pieces: Iterator[Any], arguments: Sequence[Any], held: Iterator[Any] | None = None) -> Any:
    """A result as described, of what stands for its pieces, for the arguments and for what Python keeps."""
    if isinstance(described, Held):
        assert held is not None
        return next(held)
    if isinstance(described, Argument):
        return arguments[described.position]
    if isinstance(described, Plain):
        return described.value
    if isinstance(described, (Array, type)):
        return next(pieces)
    if isinstance(described, dict):
        return {key: rebuilt(one, pieces, arguments, held) for key, one in described.items()}
    items = [rebuilt(one, pieces, arguments, held) for one in described]
    return type(described)(*items) if hasattr(described, "_fields") else type(described)(items)


def _extents(result: Any, axis: int, arguments: list[Any]) -> tuple[tuple[int, int] | int, ...]:
    """Whose extent it may be: of an argument of the same rank the same axis, rather than any other."""
    extent = result.shape[axis]
    same = [
        (one.ndim != result.ndim or own != axis, k, own)
        for k, one in enumerate(arguments)
        for own in range(one.ndim)
        if one.shape[own] == extent
    ]
    places: list[tuple[int, int] | int] = [(k, own) for _, k, own in sorted(same)]
    return (*places, 1) if extent == 1 else tuple(places)


def common_to(before: Any, found: Any, is_pure: bool = True) -> Any:
    """What holds of both. A list that is not always as long as it was is Python's own."""
    if isinstance(found, Seen) and isinstance(before, Seen):
        written = tuple(sorted({*before.written, *found.written}))
        changed = tuple({*before.changed, *found.changed})
        kept = tuple(sorted({*before.kept, *found.kept}))
        reaches = before.reaches or found.reaches
        return Seen(common_to(before.gives, found.gives, is_pure=False), written, changed, kept, reaches)
    if isinstance(found, Array) and isinstance(before, Array) and len(found.extents) == len(before.extents):
        pairs = zip(before.extents, found.extents, strict=True)
        extents = tuple(tuple(one for one in mine if one in theirs) for mine, theirs in pairs)
        return replace(
            found,
            extents=extents,
            is_shared=before.is_shared or found.is_shared,
            is_in_c_order=before.is_in_c_order and found.is_in_c_order,
        )
    if type(before) is Held and before.kind is type(found) is list:
        return before
    if type(found) is not type(before) or isinstance(found, type):
        return found
    if type(found) is dict and list(found) == list(before):
        return {name: common_to(before[name], one, is_pure) for name, one in found.items()}
    if not is_pure and type(found) is list and len(found) != len(before):
        return Held(list)
    if isinstance(found, (list, tuple)) and len(found) == len(before):
        items = [common_to(one, other, is_pure) for one, other in zip(before, found, strict=True)]
        return type(found)(*items) if hasattr(found, "_fields") else type(found)(items)
    return found
