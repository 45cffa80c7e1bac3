"""What makes a function's result of what a plan gives: a form, which the runtime reads, or Python's text of the same.

A form is a tuple that begins with a word:
    ("made", number)                 what the plan gives under the number
    ("constant", value)
    ("object", number)               one of the caller's objects
    ("tuple", forms), ("list", forms), ("dict", keys, forms)
    ("called", callable, forms)      what that gives of those
    ("changed", form, changes)       the form, when the caller's objects are set: each change is the number of an object, whether
                                     its items are set or its attributes, their names, and their forms
    ("view", number of what the plan gives, steps), ("named", number, form), ("again", number)
Those of the last line are Python's alone.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from .own_attributes import hold, slots_of
from .structure import APPENDED, OF, ZERO_DIMENSIONAL, Again, Changed, Itself, Made, Named, ViewSteps, all_leaves

Form = tuple[Any, ...]


def finisher(structure: Any) -> Form | Callable[..., Any]:
    """What Dispatcher.add() takes: the form, or a callable where views are in it."""
    form = form_of(structure)
    return called_by_python(structure) if _is_pythons(form) else form


def called_by_python(structure: Any) -> Callable[..., Any]:
    """A function of what the plan gives and of the caller's objects, whose code is one expression."""
    held: list[Any] = []
    text = finishing_text(structure, held)
    finish: Callable[..., Any] = eval(f"lambda made, *objects: {text}", {"held": held, "numpy": np})
    return finish


def form_of(structure: Any) -> Form:
    numbers = itertools.count()

    def of(item: Any) -> Form:
        if type(item) is dict:
            return ("dict", tuple(item), tuple(map(of, item.values())))
        if type(item) in (list, tuple):
            return (type(item).__name__, tuple(map(of, item)))
        if isinstance(item, Itself):
            return ("object", item.number)
        if isinstance(item, Changed):
            result = of(item.result)
            each = enumerate(zip(item.have_items, item.objects, strict=True))
            changes = tuple(
                (number, has_items, tuple(new), tuple(map(of, new.values())))
                for number, (has_items, new) in each
                if new
            )
            return ("changed", result, changes)
        if isinstance(item, Named):
            return ("named", item.number, of(item.structure))
        if isinstance(item, Again):
            return ("again", item.number)
        if isinstance(item, Made):
            items = ("constant", None) if item.items is None else of(list(item.items))
            slots = slots_of(item.cls)
            held_in = [  # in the order that attributes_of() has, which the plan's results have
                {name: part for name, part in item.attributes.items() if (name in slots) == is_slot}
                for is_slot in (False, True)
            ]
            return ("called", put_together, (("constant", item.cls), items, *map(of, held_in)))
        if hasattr(item, "_fields"):
            return ("called", type(item), tuple(map(of, item)))
        if item.view:
            return ("view", item.view)
        if item.kind == ZERO_DIMENSIONAL:
            return ("called", np.array, (("made", next(numbers)),))
        return ("constant", item.value) if item.kind == "constant" else ("made", next(numbers))

    return of(structure)


def _is_pythons(form: Any) -> bool:
    """Whether a form, or one in it, is none of the runtime's."""
    kind, *parts = form
    if kind in ("view", "named", "again"):
        return True
    if kind == "changed":
        return _is_pythons(parts[0]) or any(_is_pythons(one) for *_, forms in parts[1] for one in forms)
    return kind not in ("made", "constant", "object") and any(map(_is_pythons, parts[-1]))


def finishing_text(structure: Any, held: list[Any]) -> str:
    """Python's expression, of `made`, of `objects`, of what is put into `held`, and of numpy."""
    used = Counter(number for leaf in all_leaves(structure) if leaf.view for number, _ in leaf.view.steps)
    known: dict[int, str] = {}  # variables, by the step that they are made in

    def hold_it(value: Any) -> str:
        held.append(value)
        return f"held[{len(held) - 1}]"

    def in_turn(forms: Any) -> str:
        return "".join(f"{text(one)}, " for one in forms)

    def text(form: Form) -> str:
        match form:
            case ("made", number):
                return f"made[{number}]"
            case ("constant", value):
                return hold_it(value)
            case ("object", number):
                return f"objects[{number}]"
            case ("tuple", forms):
                return f"({in_turn(forms)})"
            case ("list", forms):
                return f"[{in_turn(forms)}]"
            case ("dict", keys, forms):
                pairs = zip(keys, forms, strict=True)
                return "{" + ", ".join(f"{hold_it(key)}: {text(one)}" for key, one in pairs) + "}"
            case ("called", called, forms):
                return f"{'numpy.array' if called is np.array else hold_it(called)}({in_turn(forms)})"
            case ("changed", result, changes):
                made = text(result)
                each = (
                    f"(objects[{number}], {has_items}, {text(('dict', names, forms))}), "
                    for number, has_items, names, forms in changes
                )
                return f"{hold_it(put_into)}({made}, ({''.join(each)}))"
            case ("named", number, one):
                return f"(one{number} := {text(one)})"
            case ("again", number):
                return f"one{number}"
        return view(form[1])

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

    return text(form_of(structure))


def put_together(cls: type[Any], items: list[Any] | None, attributes: dict[str, Any], in_slots: dict[str, Any]) -> Any:
    """An object as the function makes it, without its __init__, which was followed."""
    new: Any = cls.__new__ if items is None else tuple.__new__
    made = new(cls) if items is None else new(cls, items)
    if attributes:
        made.__dict__.update(attributes)  # not by setattr: the class may have a property of the name
    for name, value in in_slots.items():
        object.__setattr__(made, name, value)
    return made


def put_into(result: Any, changes: tuple[tuple[Any, bool, dict[Any, Any]], ...]) -> Any:
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
