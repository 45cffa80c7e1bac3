"""The attributes that an object itself holds, in its `__dict__` and its slots: what properties of its class say of them is not asked.

A class may keep a value in `__dict__` under the name of a property that reads it, as results of SciPy do: `setattr` refuses it.
"""

from __future__ import annotations

import types
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
