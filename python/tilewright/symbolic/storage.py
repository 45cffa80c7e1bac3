"""Memory of a trace and views of it: what arrays.py makes arrays of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ..light_dataclass import dataclass
from .argument import Argument
from .graph import WHOLE, Block, NewAxis, Value
from .sizes import Size
from .tracer import Tracer

if TYPE_CHECKING:
    from .arrays import SymArray

PARTS = ("real", "imag")  # of complex numbers


@dataclass(frozen=True)
class Shown:
    """What memory of its own stands for, where NumPy has a view: of which array, and Python's text that makes it of OF, with
    {0}, {1} and so on for sizes."""

    array: SymArray
    block: Block  # in which it was taken
    step: str
    sizes: tuple[Size, ...] = ()


@dataclass(eq=False)
class Storage:
    """One piece of memory: its present value, and whose it is."""

    value: Value
    argument: Argument | None = None
    # C-contiguous for certain: then a reshape of it is a view for certain.
    c_order: bool = False
    version: int = 0
    read_only: bool | None = False  # of an argument, in the recorded call; None where data decide
    part_of: str = ""  # real or imag: NumPy has a view there, and this is none
    shown: Shown | None = None  # that view, where it can be made
    anew: Callable[[], Value] | None = None  # its value from what that array holds now
    # What a loop or a branch on data chose among arrays that others see: those arrays, and their values then.
    chosen_from: tuple[tuple[Storage, Value], ...] | None = None
    # Of what a loop leaves: it may be memory that its variables had before it, as they swap it, or as data leave it.
    may_stay: bool = False
    # Of what a loop leaves: memory from before it that an iteration sets its variable to.
    kept_from: tuple[Storage, ...] = ()
    # Of what a branch chose: memory that it is where a truth of the run holds.
    may_be: tuple[tuple[Storage, Value], ...] = ()
    # What a mask picks out, made an array of its own: NumPy has one array, which that storage stands for under the mask.
    elements_of: tuple[Storage, Value] | None = None
    # By views of it that may be copies and were written: the memory that stands for what they show. Nobody reads this one then.
    apart: list[tuple[View, Storage]] = field(default_factory=list)

    @property
    def is_c_contiguous(self) -> bool:
        if self.part_of or self.chosen_from:
            return False
        # New memory has no gaps.
        return self.c_order or (self.argument is None and len(self.value.shape) <= 1)


@dataclass(frozen=True)
class View:
    """One step from a storage to what is seen of it."""

    operation: str  # index, transpose, reshape, broadcast_to; of results also shown, for memory of its own
    attributes: dict[str, Any] = field(hash=False)
    shape: tuple[Size, ...]
    # NumPy decides by the strides whether this is a view or a copy.
    uncertain: bool = False
    # It may be written, with NumPy's warning that it may not for long.
    warns: bool = False

    def apply(self, tracer: Tracer, value: Value) -> Value:
        return tracer.add(self.operation, (value,), self.attributes, value.dtype, self.shape)

    def symbols(self) -> set[str]:
        """In which elements it shows, and how many."""
        items = [item for item in self.attributes.get("index", ()) if not isinstance(item, NewAxis)]
        sizes = [item if isinstance(item, Size) else item.start for item in items]
        return {symbol for size in (*self.shape, *sizes) for symbol in size.symbols()}


def _parts_as_one(first: View, second: View) -> View | None:
    """x[i][j] as x[i, j]: a write then takes no copy of the part in between; None for other views."""
    if first.operation != "index" or second.operation != "index" or first.uncertain or second.uncertain:
        return None
    outer, inner = first.attributes["index"], second.attributes["index"]
    if any(isinstance(item, NewAxis) for item in (*outer, *inner)):
        return None
    if not all(isinstance(item, Size) or item == WHOLE for item in outer):
        return None
    rest = iter(inner)
    items = [item if isinstance(item, Size) else next(rest) for item in outer]
    return View("index", {"index": items}, second.shape)


def index_first(first: View, second: View) -> View | None:
    """x.T[i] as x[:, i]: it needs no transposed copy of all of x; None where axes that are left would change their order."""
    if first.operation != "transpose" or second.operation != "index":
        return None
    items = second.attributes["index"]
    if any(isinstance(item, NewAxis) for item in items):
        return None
    axes: list[int] = first.attributes["axes"]
    left = [axis for axis, item in zip(axes, items, strict=True) if not isinstance(item, Size)]
    if left != sorted(left):
        return None
    return View("index", {"index": [items[axes.index(axis)] for axis in range(len(axes))]}, second.shape)


def simplified(chain: tuple[View, ...]) -> tuple[View, ...]:
    """The same view in fewer steps, from the first one on."""
    while len(chain) > 1 and (both := index_first(*chain[:2]) or _parts_as_one(*chain[:2])) is not None:
        chain = (both, *chain[2:])
    return chain
