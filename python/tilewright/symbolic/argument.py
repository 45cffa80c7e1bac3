"""What a program takes from a call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ..light_dataclass import dataclass

if TYPE_CHECKING:
    from .graph import Value

_STEPS_INTO = ("attribute", "item")  # other steps make something of what is there


def is_passed(path: tuple[Any, ...]) -> bool:
    """Whether what is found there is an argument of the call, or something that one holds."""
    return path[0][0] == "parameter" and all(step in _STEPS_INTO for step, _ in path[1:])


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

    @property
    def may_be_written(self) -> bool:
        """Whether it is an array that the caller passes in, also as an attribute or in a container."""
        return self.kind == "array" or (self.kind == "hidden" and is_passed(self.path))


@dataclass
class HeldElsewhere(Argument):
    """Memory that Python code has made, or was handed, and holds: what is written into it is seen there.
    `itself`: stands for the array that it holds, where that is the whole."""

    itself: Any = None

    def returned(self, is_whole: bool, refusal: Callable[[str, str, str], Exception]) -> Any:
        """What stands for the array as a result of the compiled function."""
        if self.itself is None or not is_whole:
            raise refusal(f"returning {self.name}", "somebody else holds it too", "Return a copy (.copy()).")
        return self.itself
