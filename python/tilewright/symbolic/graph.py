"""Values of a program under construction: what the operations of a trace produce."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np

from ..light_dataclass import dataclass
from ..operations import REDUCTIONS, VIEWS, of_kind
from .sizes import Size

BOOL: np.dtype[Any] = np.dtype(np.bool_)
INT64: np.dtype[Any] = np.dtype(np.int64)
FLOAT64: np.dtype[Any] = np.dtype(np.float64)
COMPLEX128: np.dtype[Any] = np.dtype(np.complex128)


@dataclass(frozen=True)
class Slice:
    """One axis of an `index`: element k of the result is start + k * step."""

    start: Size
    step: int


WHOLE = Slice(Size.constant(0), 1)  # of an axis


class NewAxis:
    """The `newaxis` item of an `index`."""

    def __repr__(self) -> str:
        return "newaxis"


NEWAXIS = NewAxis()

# Their results are never stages, whatever they are called.
PLAIN_OPERATIONS = VIEWS | of_kind("source") | {"argument", "scalar", "parameter", "result"}


@dataclass(eq=False, slots=True)
class Block:
    """Operations in the order they run: the program's own, or a region of a `for`, `while` or `if`."""

    parameters: list[Value] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    yields: list[Value] = field(default_factory=list)
    counted: tuple[int, int] = (0, 0)  # values that were looked at, and how many of them reduce

    ended: tuple[int, int, int] = (
        0,
        0,
        0,
    )  # values that were looked at, those since the last call, kernels that calls end

    def long_kernels(self, least: int) -> int:
        """How many calls by Python have at least so many values before them: each ends a kernel, which is compiled alone."""
        seen, since, count = self.ended if self.ended[0] <= len(self.values) else (0, 0, 0)
        for value in self.values[seen:]:
            is_call = value.operation == "call"
            count += is_call and since >= least
            since = 0 if is_call else since + (value.operation not in ("const", "size", "index"))
        self.ended = len(self.values), since, count
        return count

    def reductions(self) -> int:
        """How many of the values reduce, which every turn of an unrolled loop asks."""
        seen, count = self.counted if self.counted[0] <= len(self.values) else (0, 0)
        count += sum(value.operation in REDUCTIONS for value in self.values[seen:])
        self.counted = len(self.values), count
        return count


@dataclass(eq=False, slots=True)
class Value:
    """One operation and its result.

    Arguments are values whose operation is `argument` or `scalar`. A region's operation has no result itself: its
    k-th one is a `result` whose operand it is, and what it hands from iteration to iteration is a `parameter` of its blocks.
    """

    number: int
    operation: str
    operands: tuple[Value, ...]
    attributes: dict[str, Any]
    dtype: np.dtype[Any]
    shape: tuple[Size, ...]
    line: int = 0
    call_name: str = ""  # the NumPy call that made it
    user_name: str = ""  # the variable that it was assigned to
    name: str = field(default="")  # arguments only, until the text is written
    blocks: tuple[Block, ...] = ()  # regions
    home: Block | None = None  # the block that it runs in

    @property
    def is_argument(self) -> bool:
        return self.operation in ("argument", "scalar")


def goes_by(value: Value, wanted: Callable[[Value], bool]) -> bool:
    """Whether one of the values that it is computed of is wanted, itself among them, and those in regions."""
    pending, seen = [value], {value.number}
    for one in pending:
        if wanted(one):
            return True
        of = (one.attributes["of"],) if one.operation == "result" else ()
        inside = [made for block in one.blocks for made in (*block.values, *block.yields)]
        for more in (*one.operands, *of, *inside):
            if more.number not in seen:
                seen.add(more.number)
                pending.append(more)
    return False


def _is_around_an_iteration(branch: Value, value: Value, position: int) -> bool:
    """Whether a branch is what a loop with a break has around its iterations: the first one takes it, and behind the break it
    leaves what the last one left."""
    kept, condition = branch.blocks[1].yields[position], branch.operands[0]
    loop = kept.attributes.get("of") if kept.operation == "parameter" else None
    if loop is None or condition.operation != "logical_not" or loop.operation != "for":
        return False
    body, flag = loop.blocks[-1], condition.operands[0]
    if body.yields[kept.attributes["position"]] is not value or not any(one is flag for one in body.parameters):
        return False
    initial = loop.operands[next(k for k, one in enumerate(body.parameters) if one is flag)]
    return initial.operation == "const" and initial.attributes["value"] is False


def may_be_handed_in(value: Value) -> bool:
    """Whether what an iteration leaves may be the array that one of the loop's variables had before it, or a view of that."""
    if value.operation in VIEWS:
        return may_be_handed_in(value.operands[0])
    if value.operation == "parameter":
        return True
    if value.operation != "result":
        return False
    region, position = value.attributes["of"], value.attributes["position"]
    if region.operation == "if":
        ways = region.blocks[:1] if _is_around_an_iteration(region, value, position) else region.blocks
        return any(may_be_handed_in(block.yields[position]) for block in ways)
    may_have_none = region.operation == "while" or region.attributes["may_have_none"]  # no iteration
    is_left = may_have_none and may_be_handed_in(region.operands[position])
    return is_left or may_be_handed_in(region.blocks[-1].yields[position])


def unchanged(value: Value, known: dict[int, Value]) -> Value:
    """The value that a result of loops and branches is, where they do not change it; `known` keeps answers."""
    if value.operation != "result":
        return value
    if value.number not in known:
        region, position = value.attributes["of"], value.attributes["position"]
        final = unchanged(region.blocks[-1].yields[position], known)
        found = value
        if region.operation == "if":
            if unchanged(region.blocks[0].yields[position], known) is final:
                found = final
        elif final is region.blocks[-1].parameters[position]:
            found = unchanged(region.operands[position], known)
        known[value.number] = found
    return known[value.number]
