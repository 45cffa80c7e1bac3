"""What NumPy's functions without a rule give: the registry of rows.

A row each says what such a function gives (callees/). It takes what the function takes, in which arrays and what NumPy
makes one of show their dtype and shape, and gives Gives, a tuple or a list of them, or None where it does not know. It
reads no elements. What NumPy raises for the arguments of a call the function raises itself, when it is called. No row is
for what NumPy gives as a view: writes through it would be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..light_dataclass import dataclass
from ..symbolic.arrays import SymArray
from ..symbolic.from_data import MOST_ELEMENTS, is_run_int, value_of_int
from ..symbolic.known import known_value
from ..symbolic.scalars import SymInt
from ..symbolic.tracer import Tracer
from .operands import dtype_of, operand_of, shape_of


def is_of_data(extent: Any) -> bool:
    """Whether an extent is an integer that the data decide."""
    return is_run_int(extent) and known_value(extent.tracer, value_of_int(extent.tracer, extent)) is None


def shape_of_size(size: Any) -> Sequence[Any] | None:
    """As NumPy reads the argument: one extent may stand for itself."""
    if size is None:
        return None
    return tuple(size) if isinstance(size, (tuple, list)) else (size,)


def is_sized_by_data(size: Any) -> bool:
    """Whether that is so of one of its extents."""
    return any(map(is_of_data, shape_of_size(size) or ()))


def told_by_result(size: Any) -> tuple[Any, ...]:
    """The extents of what a callee makes that is handed its size: numbers of the run are what it makes of them."""
    return tuple(FromData() if is_of_data(extent) else extent for extent in shape_of_size(size) or ())


@dataclass(frozen=True, eq=False)
class FromData:
    """An extent that the callee decides. The same object twice is the same extent."""

    most: Any = MOST_ELEMENTS

    def __add__(self, more: int) -> FromDataAnd:
        return FromDataAnd(self, more)


@dataclass(frozen=True)
class FromDataAnd:
    """An extent that is another one, which the callee decides, and `more`."""

    extent: FromData
    more: int


@dataclass(frozen=True)
class Gives:
    """A result: a new array, or a NumPy number where it has no dimensions. An extent below 0 is none."""

    dtype: Any
    shape: Sequence[Any] = ()
    kind: type | None = None  # Python's number of that type
    is_array: bool = False  # also without dimensions
    view_of: Like | None = None  # what NumPy gives is a view of that
    is_writeable: bool = True
    view_name: str = ""
    view_step: str = ""  # how Python makes it, as Shown has it
    view_sizes: tuple[Any, ...] = ()
    is_in_c_order: bool = False  # for certain, in each call


class UnknownError(Exception):
    """Raised by a row, as None is given, for a call that it does not know. What NumPy raises it may raise as well."""


Row = Callable[..., Any]
ROWS: dict[Any, Row] = {}
METHOD_ROWS: dict[str, Row] = {}  # of the methods of every ufunc, which each takes first
SOURCE_FIRST: set[Any] = set()  # functions whose row is for what NumPy's own Python source cannot be traced for
WRITTEN: dict[Row, str] = {}  # the parameter that the function writes


def row(*functions: Any, source_first: bool = False, writes: str = "") -> Callable[[Row], Row]:
    """The row of NumPy functions. It sees parameters with the annotation Like as arrays, NumPy's integers as Python's,
    all else as the call has it; what has the annotation None must be None.

    A row that `writes` a parameter gives anything but None for a call that it knows."""

    def register(function: Row) -> Row:
        ROWS.update(dict.fromkeys(functions, function))
        SOURCE_FIRST.update(functions if source_first else ())
        if writes:
            WRITTEN[function] = writes
        return function

    return register


def method_row(name: str, writes: str = "") -> Callable[[Row], Row]:
    """The row of a method of all ufuncs."""

    def register(function: Row) -> Row:
        METHOD_ROWS[name] = row(writes=writes)(function)
        return function

    return register


class Like:
    """What a row sees of an array, or of a number or a list that NumPy makes one of."""

    def __init__(self, tracer: Tracer, value: Any) -> None:
        held = operand_of(tracer, value)
        self.tracer = tracer
        self.value = value
        self.dtype = dtype_of(held)
        self.sizes = shape_of(held)
        self.shape = tuple(SymInt(tracer, n) for n in self.sizes)
        self.ndim = len(self.shape)
        self.size = SymInt(tracer, tracer.total(self.sizes))
        self.is_in_c_order = isinstance(held, SymArray) and held.is_c_contiguous()
