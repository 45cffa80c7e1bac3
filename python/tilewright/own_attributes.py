"""The attributes that an object itself holds, in its `__dict__` and its slots: what properties of its class say of them is not asked.

A class may keep a value in `__dict__` under the name of a property that reads it, as results of SciPy do: `setattr` refuses it.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterable
from typing import Any


def slots_of(cls: type) -> list[str]:
    """The names that its objects hold without `__dict__`."""
    names = [
        name for one in cls.__mro__ for name, held in vars(one).items() if isinstance(held, types.MemberDescriptorType)
    ]
    return [name for name in names if name != "__dict__"]  # as classes of C have it


def attributes_of(owner: Any) -> dict[str, Any]:
    """What it holds, by name."""
    slots = [name for name in slots_of(type(owner)) if hasattr(owner, name)]
    return {**getattr(owner, "__dict__", {}), **{name: getattr(owner, name) for name in slots}}


def are_set_plainly(owner: Any, names: Iterable[str]) -> bool:
    """Whether `owner.name = value` sets what the object holds, and asks nothing of its class, as reading it does not."""

    def is_asked(name: str) -> bool:
        held = inspect.getattr_static(type(owner), name, None)
        return hasattr(type(held), "__set__") and not isinstance(held, types.MemberDescriptorType)

    cls = type(owner)
    is_plain = cls.__setattr__ is object.__setattr__ and cls.__getattribute__ is object.__getattribute__
    return is_plain and not hasattr(cls, "__getattr__") and not any(map(is_asked, names))


def hold(owner: Any, name: str, value: Any) -> None:
    """Before → after: whatever it held there → the value, also where its class lets nobody set it."""
    if name in slots_of(type(owner)):
        object.__setattr__(owner, name, value)
    else:
        owner.__dict__[name] = value


def let_go(owner: Any, name: str) -> None:
    """The attribute, which it holds, is gone."""
    if name in slots_of(type(owner)):
        object.__delattr__(owner, name)
    else:
        del owner.__dict__[name]
