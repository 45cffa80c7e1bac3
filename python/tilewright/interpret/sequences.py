"""What a `for` goes through, item by item, without a list of the items: arrays, ranges, zip, enumerate, reversed."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from collections.abc import Sequence as Arguments
from dataclasses import field
from typing import Any

import numpy as np

from ..kinds_of_values import LARGEST_INT
from ..light_dataclass import dataclass
from ..ops.operands import operand_of
from ..ops.python_numbers import number_of_the_run
from ..symbolic import trace_limits
from ..symbolic.arrays import SymArray
from ..symbolic.graph import INT64, Block
from ..symbolic.number import Symbolic
from ..symbolic.registry import OPERATIONS
from ..symbolic.scalars import SymInt, SymScalar, size_of
from ..symbolic.sizes import Size
from ..symbolic.stages import HandedAsRange
from ..symbolic.trace_limits import MAX_UNROLLED_ITERATIONS
from ..symbolic.tracer import Tracer
from .frame import Traversed
from .iterators import refuse_elsewhere


@dataclass
class Sequence(Traversed):
    """`item(k)` for k from 0 to `length`; as Python's zip, enumerate and reversed it is gone through once."""

    tracer: Tracer
    length: Size
    item: Callable[[Any], Any]
    of: tuple[Any, ...] = ()
    block: Block = field(init=False)
    is_taken: bool = False
    is_of_list: bool = False  # which can be gone through from its end

    def __post_init__(self) -> None:
        self.block = self.tracer.blocks[-1]

    def take(self) -> None:
        """It is gone through now. TraceError where it was before, or is another time for each iteration of a loop."""
        refuse_elsewhere(self.tracer, self.block)
        if self.is_taken:
            raise self.tracer.error(
                "continuing a zip, enumerate or reversed of an array that was used before",
                "there is no rule for the items that are left",
                "Make it again, or go through its items once.",
            )
        self.is_taken = True

    def __iter__(self) -> Iterator[Any]:
        self.take()
        if self.tracer.value_of(self.length) > MAX_UNROLLED_ITERATIONS:
            raise self.tracer.error(
                f"going through {self.tracer.value_of(self.length)} items outside of a for",
                f"only up to {MAX_UNROLLED_ITERATIONS} are unrolled",
                "Go through them in a for statement.",
            )
        return (self.item(k) for k in range(self.tracer.fix(self.length)))


class SymRange(HandedAsRange):
    """range() with a size among its limits."""

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.start, self.stop, self.step = start, stop, step

    def as_array(self) -> Any:
        """As NumPy takes it."""
        tracer = next(one.tracer for one in (self.start, self.stop, self.step) if isinstance(one, SymInt))
        return OPERATIONS.call_numpy(tracer, np.arange, (self.start, self.stop, self.step), {})

    def iterations(self) -> Any:
        step = self.step.__index__()
        length = self.stop - self.start if step > 0 else self.start - self.stop
        if length <= 0:
            return 0
        return (length + (abs(step) - 1)) // abs(step)

    def items(self) -> list[Any]:
        iterations = self.iterations()
        return [self.start + k * self.step.__index__() for k in range(iterations.__index__())]

    def __len__(self) -> int:
        return int(self.iterations().__index__())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items())

    def __getitem__(self, key: Any) -> Any:
        return self.concrete()[key] if isinstance(key, slice) else self.items()[key]

    def concrete(self) -> range:
        """Its numbers in the recorded call, guarded: for what only Python's own range does."""
        return range(*(limit.__index__() for limit in (self.start, self.stop, self.step)))

    def __repr__(self) -> str:
        return repr(self.concrete())

    def __hash__(self) -> int:
        return hash(self.concrete())

    def __eq__(self, other: object) -> bool:
        return self.concrete() == (other.concrete() if isinstance(other, SymRange) else other)

    def __reduce__(self) -> Any:
        return self.concrete().__reduce__()

    def index(self, number: Any) -> int:
        return self.concrete().index(operator.index(number))

    def count(self, number: Any) -> int:
        return self.concrete().count(operator.index(number))


def sequence_of(tracer: Tracer, value: SymArray | range | SymRange | Sequence) -> Sequence:
    """A traced array or range, or zip, enumerate, reversed of one. All else Python goes through by itself."""
    if isinstance(value, Sequence):
        value.take()
        return value
    if isinstance(value, SymArray):
        if not value.sizes:
            raise TypeError("iteration over a 0-d array")
        return Sequence(tracer, tracer.resolve(value.sizes[0]), lambda k: value[k], (value,))
    step = value.step.__index__()
    start, stop = size_of(value.start), size_of(value.stop)
    length = stop - start if step > 0 else start - stop
    some = tracer.decide_if_same_in_all_iterations(">=", length, 1)
    iterations = (length + (abs(step) - 1)).floor_divide(Size.constant(abs(step)))
    if some is not True:
        iterations = Size.constant(0) if some is False else iterations.maximum(Size.constant(0))
    first = SymInt(tracer, start)
    return Sequence(tracer, tracer.resolve(iterations), lambda k: first + k * step)


def are_numbers(items: Arguments[Any], of_python: bool = False) -> bool:
    """Whether they are numbers of one type, or tuples of one length of such, each place of one type. Floats may be Python's or
    NumPy's, but where all have to be `of_python`."""
    if of_python and any(
        isinstance(one, np.generic) for item in items for one in (item if type(item) is tuple else (item,))
    ):
        return False
    if all(type(item) is tuple for item in items):
        width = len(items[0])
        is_table = width > 0 and all(len(item) == width for item in items)
        return is_table and all(_kind_of(column) is not None for column in zip(*items, strict=True))
    return _kind_of(items) is not None


_EITHER_FLOAT = frozenset({float, np.float64})


def _kind_of(numbers: Arguments[Any]) -> type | None:
    """Their one type, np.floating where some are Python's floats and some NumPy's."""
    kinds = frozenset(map(_python_type, numbers))
    if kinds == _EITHER_FLOAT:
        return np.floating
    kind = next(iter(kinds)) if len(kinds) == 1 else None
    if kind is int:
        known = (number for number in numbers if type(number) is int)
        return int if all(abs(number) <= LARGEST_INT for number in known) else None
    if kind in (float, bool):
        return kind
    is_numpys = kind is not None and issubclass(kind, np.generic) and np.dtype(kind).kind in "biuf"
    return kind if is_numpys and np.dtype(kind).itemsize <= INT64.itemsize else None


def _python_type(number: Any) -> type:
    """Of a number that the call decides, what it is in Python."""
    is_of_one_kind = isinstance(number, SymInt) or (isinstance(number, SymScalar) and not number.kinds)
    return type(number.hint) if is_of_one_kind else type(number)


def sequence_of_numbers(tracer: Tracer, items: Arguments[Any]) -> Sequence:
    """Such items, out of arrays."""
    columns = [list(column) for column in zip(*items, strict=True)] if type(items[0]) is tuple else [list(items)]
    arrays = [(_kind_of(column), _array_of(tracer, column)) for column in columns]

    def number(kind: Any, one: SymArray) -> Any:
        if kind is np.floating:
            one = SymArray.fresh(tracer, one.read())
            one.kinds = frozenset({"float", "scalar"})
        return one if issubclass(kind, np.generic) else number_of_the_run(tracer, kind, one)

    def item(k: Any) -> Any:
        numbers = tuple(number(kind, array[k]) for kind, array in arrays)
        return numbers if type(items[0]) is tuple else numbers[0]

    return Sequence(tracer, Size.constant(len(items)), item)


def _array_of(tracer: Tracer, numbers: list[Any]) -> SymArray:
    if any(isinstance(number, Symbolic) for number in numbers):
        made: SymArray = OPERATIONS.call_numpy(tracer, np.array, (numbers,), {})
        return made
    return operand_of(tracer, np.array(numbers))


def is_long(tracer: Tracer, length: Size) -> bool:
    """Whether so many items need a loop that stays one: many, or another number in each iteration of a loop."""
    differs = not tracer.loops.keys().isdisjoint(length.symbols())
    return differs or tracer.is_of_data(length) or tracer.value_of(length) > MAX_UNROLLED_ITERATIONS


def array_of_program(tracer: Tracer, node: ast.AST, value: Any) -> Any:
    """A long array of the trace alone as one of the program, where the loop over it in that line may stay one."""
    if type(value) is not np.ndarray or not value.ndim or len(value) <= trace_limits.MAX_SHORT_ITERATIONS:
        return value
    is_of_numbers = value.dtype.kind in "biuf" and value.dtype.itemsize <= INT64.itemsize
    file, line = tracer.frames[-1][0], getattr(node, "lineno", 0)
    if not is_of_numbers or any(place[:2] == (file, line) for place in tracer.unrolled):
        return value
    return operand_of(tracer, value)


TRAVERSED = (SymArray, range, SymRange, Sequence)
