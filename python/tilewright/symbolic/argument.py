"""What a program takes from a call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .graph import Value


@dataclass
class Argument:
    """How one input of the program is found at a call.

    `kind` is array, scalar, constant (a guarded constant with its value), hidden (an array read from a global,
    a closure or an attribute) or object (its attributes are separate arguments).
    """

    name: str
    kind: str
    path: tuple[Any, ...]
    dtype: str = ""
    rank: int = 0
    weak: bool = False
    value: Any = None
    reason: str = ""
    program_value: Value | None = field(default=None, repr=False)
