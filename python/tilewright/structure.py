"""Results that are more than arrays and numbers in a tuple: lists, dicts, named tuples and objects, nested, with constants
and views in them.

A plan gives what it computes in one tuple; the structure of the function's result says how Python puts that together. Behind
what the structure takes in order stands what views are made of: arrays that are no results themselves, and numbers.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .light_dataclass import dataclass
from .own_attributes import attributes_of, hold, slots_of

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


def put_together(cls: type[Any], items: list[Any] | None, attributes: dict[str, Any], in_slots: dict[str, Any]) -> Any:
    """An object as the function makes it, without its __init__, which was followed."""
    new: Any = cls.__new__ if items is None else tuple.__new__
    made = new(cls) if items is None else new(cls, items)
    if attributes:
        made.__dict__.update(attributes)  # not by setattr: the class may have a property of the name
    for name, value in in_slots.items():
        object.__setattr__(made, name, value)
    return made


def put_into(result: Any, changes: Sequence[tuple[Any, bool, dict[Any, Any]]]) -> Any:
    """Sets attributes and items of the caller's objects, as the function does; gives its result."""
    for owner, has_items, new in changes:
        for name, value in new.items():
            if has_items and name == APPENDED and type(owner) is list:
                owner.extend(value)
            elif has_items:
                owner[name] = value
            else:
                hold(owner, name, value)
    return result


def finisher(structure: Any) -> Callable[..., Any]:
    """What makes the function's result of what the plan gave, and of the objects whose attributes it sets: a function whose code
    is one expression."""
    held: list[Any] = []
    text = finishing_text(structure, held)
    finish: Callable[..., Any] = eval(f"lambda made, *objects: {text}", {"held": held, "numpy": np})
    return finish


def finishing_text(structure: Any, held: list[Any]) -> str:
    """The expression, of `made`, of `objects`, of what is put into `held`, and of numpy."""
    numbers = itertools.count()
    used = Counter(number for leaf in _all_leaves(structure) if leaf.view for number, _ in leaf.view.steps)
    known: dict[int, str] = {}  # variables, by the step that they are made in

    def hold(value: Any) -> str:
        held.append(value)
        return f"held[{len(held) - 1}]"

    def text(item: Any) -> str:
        if type(item) is dict:
            return "{" + ", ".join(f"{hold(key)}: {text(one)}" for key, one in item.items()) + "}"
        if type(item) is list:
            return "[" + ", ".join(map(text, item)) + "]"
        if type(item) is tuple:
            return "(" + "".join(f"{text(one)}, " for one in item) + ")"
        if isinstance(item, Itself):
            return f"objects[{item.number}]"
        if isinstance(item, Changed):
            result = text(item.result)
            each = zip(item.have_items, item.objects, strict=True)
            changes = "".join(
                f"(objects[{k}], {has_items}, {text(new)}), " for k, (has_items, new) in enumerate(each) if new
            )
            return f"{hold(put_into)}({result}, ({changes}))"
        if isinstance(item, Named):
            return f"(one{item.number} := {text(item.structure)})"
        if isinstance(item, Again):
            return f"one{item.number}"
        if isinstance(item, Made):
            items = "None" if item.items is None else text(list(item.items))
            slots = slots_of(item.cls)
            held_in = [  # in the order that attributes_of() has, which the plan's results have
                {name: part for name, part in item.attributes.items() if (name in slots) == is_slot}
                for is_slot in (False, True)
            ]
            return f"{hold(put_together)}({hold(item.cls)}, {items}, {', '.join(map(text, held_in))})"
        if hasattr(item, "_fields"):
            return f"{hold(type(item))}({', '.join(map(text, item))})"
        if item.view:
            return view(item.view)
        if item.kind == ZERO_DIMENSIONAL:
            return f"numpy.array(made[{next(numbers)}])"
        return hold(item.value) if item.kind == "constant" else f"made[{next(numbers)}]"

    def view(seen: ViewSteps) -> str:
        made = f"made[{seen.of}]"
        for number, step in seen.steps:
            if number in known:
                made = known[number]
                continue
            made = step.replace(OF, made)
            if used[number] > 1:
                known[number] = f"view{number}"
                made = f"({known[number]} := {made})"
        return made

    return text(structure)


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


def _all_leaves(structure: Any) -> list[Any]:
    """What says of each of those what it is."""
    if isinstance(structure, Named):
        return _all_leaves(structure.structure)
    if type(structure) is dict:
        return [leaf for item in structure.values() for leaf in _all_leaves(item)]
    if isinstance(structure, Itself):
        return []
    if isinstance(structure, Changed):
        return _all_leaves(structure.result) + [leaf for new in structure.objects for leaf in _all_leaves(new)]
    if isinstance(structure, Made):
        return _all_leaves(structure.items or ()) + _all_leaves(structure.attributes)
    if type(structure) in (tuple, list) or hasattr(structure, "_fields"):
        return [leaf for item in structure for leaf in _all_leaves(item)]
    return [] if structure is None or isinstance(structure, Again) or structure.kind == "constant" else [structure]
