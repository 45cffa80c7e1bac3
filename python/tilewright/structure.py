"""Results that are more than arrays and numbers in a tuple: lists, dicts, named tuples and objects, nested, with constants
and views in them.

A plan gives what it computes in one tuple; the structure of the function's result says how Python puts that together. Behind
what the structure takes in order stands what views are made of: arrays that are no results themselves, and numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .light_dataclass import dataclass
from .own_attributes import attributes_of

# The kind of a leaf that a plan gives as a number, and the function as an array.
ZERO_DIMENSIONAL = "array of no dimensions"

OF = "{of}"  # in the text of a view: the array that it is a view of


@dataclass(frozen=True)
class ViewSteps:
    """What makes a view of an array that a plan gives: Python's text for each step, with OF and what stands in `made`."""

    of: int  # which of the plan's results
    steps: tuple[tuple[int, str], ...]  # of the same number: one object, which several views go through


@dataclass(frozen=True)
class Made:
    """An object that the function makes: its class, the items of a tuple, and its attributes, each a structure."""

    cls: type[Any]
    items: tuple[Any, ...] | None
    attributes: dict[str, Any]


@dataclass(frozen=True)
class Itself:
    """An object of the caller's whose attributes or items the function sets, or that it returns: the one with that number."""

    number: int


@dataclass(frozen=True)
class Changed:
    """A function's result, and of each of the caller's objects whose attributes or items it sets what they are then, each a
    structure; of a list to which it appends, under APPENDED, the list of what it appends."""

    result: Any
    objects: list[dict[Any, Any]]
    have_items: list[bool]


APPENDED = "appended"  # no position in a list


@dataclass(frozen=True)
class Named:
    """A list or dict that is in the result more than once: Again stands for it wherever it is one more time."""

    number: int
    structure: Any


@dataclass(frozen=True)
class Again:
    """The Named one of that number."""

    number: int


def is_flat(structure: Any) -> bool:
    """Whether it is one result, or a tuple or list of them: plans give those."""
    items = structure if type(structure) in (tuple, list) else [structure]
    if any(
        type(item) in (tuple, list, dict, Made, Named, Changed, Itself) or hasattr(item, "_fields") for item in items
    ):
        return False
    if any(item is not None and (item.kind == ZERO_DIMENSIONAL or item.view) for item in items):
        return False
    return items is not structure or not any(item.kind == "constant" for item in items)


def is_given_by_plans(structure: Any) -> bool:
    """Whether nothing is left to do about what a plan gives: it returns tuples."""
    return type(structure) is not list and is_flat(structure)


def seen_of(view: ViewSteps, made: Any) -> Any:
    """A view of what a plan gave."""
    shown = made[view.of]
    for _, step in view.steps:
        shown = eval(step.replace(OF, "shown"), {"shown": shown, "made": made, "numpy": np})
    return shown


def paired(
    structure: Any, result: Any, objects: Sequence[Any] = (), lengths: Sequence[int] = ()
) -> list[tuple[Any, Any]]:
    """The leaves that are no constants, each with what the function's result has there, or the objects whose attributes it sets.
    lengths: of objects that are lists, before the function ran. ValueError where the result has another structure."""
    if isinstance(structure, Changed):
        leaves = paired(structure.result, result, objects)
        changes = zip(objects, lengths, structure.have_items, structure.objects, strict=True)
        for owner, length, has_items, new in changes:
            leaves += paired(new, {name: _held_at(owner, length, name, has_items) for name in new}, objects)
        return leaves
    if isinstance(structure, Named):
        return paired(structure.structure, result, objects)
    if isinstance(structure, Itself):
        if result is not objects[structure.number]:
            raise ValueError("the result is another object")
        return []
    if isinstance(structure, Again):
        return []
    if type(structure) is dict:
        if type(result) is not dict or list(result) != list(structure):
            raise ValueError("the result is another dict")
        return [leaf for key, item in structure.items() for leaf in paired(item, result[key], objects)]
    if isinstance(structure, Made):
        if type(result) is not structure.cls:
            raise ValueError(f"the result is no {structure.cls.__name__}")
        attributes = attributes_of(result)
        if attributes.keys() != structure.attributes.keys():
            raise ValueError(f"the result is a {structure.cls.__name__} with other attributes")
        attributes = {name: attributes[name] for name in structure.attributes}
        items = [] if structure.items is None else paired(structure.items, tuple(iter(result)), objects)
        return items + paired(structure.attributes, attributes, objects)
    if type(structure) in (tuple, list) or hasattr(structure, "_fields"):
        if type(result) is not type(structure) or len(result) != len(structure):
            raise ValueError(f"the result is no {type(structure).__name__} of {len(structure)}")
        return [leaf for item, one in zip(structure, result, strict=True) for leaf in paired(item, one, objects)]
    if structure is None or structure.kind == "constant":
        return []
    return [(structure, result[()] if structure.kind == ZERO_DIMENSIONAL else result)]


def _held_at(owner: Any, length: int, name: Any, has_items: bool) -> Any:
    if not has_items:
        return getattr(owner, name)
    return owner[length:] if name == APPENDED and type(owner) is list else owner[name]


def all_leaves(structure: Any) -> list[Any]:
    """What says of each of those what it is."""
    if isinstance(structure, Named):
        return all_leaves(structure.structure)
    if type(structure) is dict:
        return [leaf for item in structure.values() for leaf in all_leaves(item)]
    if isinstance(structure, Itself):
        return []
    if isinstance(structure, Changed):
        return all_leaves(structure.result) + [leaf for new in structure.objects for leaf in all_leaves(new)]
    if isinstance(structure, Made):
        return all_leaves(structure.items or ()) + all_leaves(structure.attributes)
    if type(structure) in (tuple, list) or hasattr(structure, "_fields"):
        return [leaf for item in structure for leaf in all_leaves(item)]
    return [] if structure is None or isinstance(structure, Again) or structure.kind == "constant" else [structure]
