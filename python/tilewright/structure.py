"""Results that are more than arrays and numbers in a tuple: lists, dicts, named tuples and objects, nested, with constants
in them.

A plan gives what it computes in one tuple; the structure of the function's result says how Python puts that together.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

# The kind of a leaf that a plan gives as a number, and the function as an array.
ZERO_DIMENSIONAL = "array of no dimensions"


@dataclass(frozen=True)
class Made:
    """An object that the function makes: its class, the items of a tuple, and its attributes, each a structure."""

    cls: type[Any]
    items: tuple[Any, ...] | None
    attributes: dict[str, Any]


def is_flat(structure: Any) -> bool:
    """Whether it is one result, or a tuple or list of them: plans give those."""
    items = structure if type(structure) in (tuple, list) else [structure]
    if any(type(item) in (tuple, list, dict, Made) or hasattr(item, "_fields") for item in items):
        return False
    if any(item is not None and item.kind == ZERO_DIMENSIONAL for item in items):
        return False
    return items is not structure or not any(item.kind == "constant" for item in items)


def is_given_by_plans(structure: Any) -> bool:
    """Whether nothing is left to do about what a plan gives: it returns tuples."""
    return type(structure) is not list and is_flat(structure)


def put_together(cls: type[Any], items: list[Any] | None, attributes: dict[str, Any]) -> Any:
    """An object as the function makes it, without its __init__, which was followed."""
    new: Any = cls.__new__ if items is None else tuple.__new__
    made = new(cls) if items is None else new(cls, items)
    for name, value in attributes.items():
        object.__setattr__(made, name, value)
    return made


def assembled(structure: Any, made: Iterator[Any]) -> Any:
    """The function's result, of what the plan gave, in order."""
    if type(structure) is dict:
        return {key: assembled(item, made) for key, item in structure.items()}
    if type(structure) in (tuple, list):
        return type(structure)([assembled(item, made) for item in structure])
    if isinstance(structure, Made):
        items = None if structure.items is None else [assembled(item, made) for item in structure.items]
        return put_together(structure.cls, items, assembled(structure.attributes, made))
    if hasattr(structure, "_fields"):
        return type(structure)(*[assembled(item, made) for item in structure])
    if structure.kind == ZERO_DIMENSIONAL:
        return np.array(next(made))
    return structure.value if structure.kind == "constant" else next(made)


def finisher(structure: Any) -> Callable[[tuple[Any, ...]], Any]:
    """As assembled(), for every call: a function whose code is that one expression."""
    held: list[Any] = []
    numbers = itertools.count()

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
        if isinstance(item, Made):
            items = "None" if item.items is None else text(list(item.items))
            return f"{hold(put_together)}({hold(item.cls)}, {items}, {text(item.attributes)})"
        if hasattr(item, "_fields"):
            return f"{hold(type(item))}({', '.join(map(text, item))})"
        if item.kind == ZERO_DIMENSIONAL:
            return f"{hold(np.array)}(made[{next(numbers)}])"
        return hold(item.value) if item.kind == "constant" else f"made[{next(numbers)}]"

    finish: Callable[[tuple[Any, ...]], Any] = eval(f"lambda made: {text(structure)}", {"held": held})
    return finish


def flattened(structure: Any, result: Any) -> list[Any]:
    """What a plan would have given, of the function's result. ValueError where that has another structure."""
    if type(structure) is dict:
        if type(result) is not dict or list(result) != list(structure):
            raise ValueError("the result is another dict")
        return [leaf for key, item in structure.items() for leaf in flattened(item, result[key])]
    if isinstance(structure, Made):
        if type(result) is not structure.cls:
            raise ValueError(f"the result is no {structure.cls.__name__}")
        attributes = {name: getattr(result, name) for name in structure.attributes}
        items = [] if structure.items is None else flattened(structure.items, tuple(iter(result)))
        return items + flattened(structure.attributes, attributes)
    if type(structure) in (tuple, list) or hasattr(structure, "_fields"):
        if type(result) is not type(structure) or len(result) != len(structure):
            raise ValueError(f"the result is no {type(structure).__name__} of {len(structure)}")
        return [leaf for item, one in zip(structure, result, strict=True) for leaf in flattened(item, one)]
    if structure.kind == ZERO_DIMENSIONAL:
        return [result[()]]
    return [] if structure.kind == "constant" else [result]


def leaves_of(structure: Any) -> list[Any]:
    """What says of each of those what it is."""
    if type(structure) is dict:
        return [leaf for item in structure.values() for leaf in leaves_of(item)]
    if isinstance(structure, Made):
        return leaves_of(structure.items or ()) + leaves_of(structure.attributes)
    if type(structure) in (tuple, list) or hasattr(structure, "_fields"):
        return [leaf for item in structure for leaf in leaves_of(item)]
    return [] if structure is None or structure.kind == "constant" else [structure]
