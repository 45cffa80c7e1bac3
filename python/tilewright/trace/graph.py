"""Values of a program under construction: what the operations of a trace produce."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .sizes import Size


@dataclass(frozen=True)
class Slice:
    """One axis of an `index`: element k of the result is start + k * step."""

    start: Size
    step: int


class NewAxis:
    """The `newaxis` item of an `index`."""

    def __repr__(self) -> str:
        return "newaxis"


NEWAXIS = NewAxis()
IndexItem = Slice | Size | NewAxis

# Their results are never stages, whatever they are called.
VIEW_OPERATIONS = frozenset({"index", "transpose", "reshape", "broadcast_to"})
PLAIN_OPERATIONS = VIEW_OPERATIONS | {"const", "scalar_size", "iota", "argument", "scalar"}
REDUCTIONS = frozenset({"sum", "prod", "max", "min", "any", "all", "argmin", "argmax"})


@dataclass(eq=False, slots=True)
class Value:
    """One operation and its result. Arguments are values whose operation is `argument` or `scalar`."""

    number: int
    operation: str
    operands: tuple[Value, ...]
    attributes: dict[str, Any]
    dtype: np.dtype[Any]
    shape: tuple[Size, ...]
    line: int = 0
    location: str = ""
    call_name: str = ""  # the NumPy call that made it
    user_name: str = ""  # the variable that it was assigned to
    name: str = field(default="")  # arguments only, until the text is written

    @property
    def is_argument(self) -> bool:
        return self.operation in ("argument", "scalar")
