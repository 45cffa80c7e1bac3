"""Lists that a loop of the run fills: Python's own, made at each call and held until it ends.

A trace keeps lists as Python does. Where a loop or a branch that stays one changes a list, the trace begins again with that
list as a stage: each append() is one, in the order of the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import TraceError
from ..ops.operands import dtype_of
from ..ops.stages import Copied, FromData, Gives, Order, add_stage
from ..symbolic.arrays import Storage, SymArray, was_written
from ..symbolic.graph import INT64, Value
from ..symbolic.scalars import RunScalar, SymInt, SymScalar
from ..symbolic.stages import Raw, argument_text, call_of

if TYPE_CHECKING:
    from ..symbolic.tracer import Tracer

_KINDS = {bool: np.dtype(np.bool_), int: INT64, float: np.dtype(np.float64)}


class FilledByLoop(TraceError):
    """A list is changed in a loop or branch of the run. Where that is not unrolled, the trace begins again with the list
    at `place` as a stage."""

    place: tuple[str, int, int]


class StagedList:
    """A list of the traced function."""

    def __init__(self, tracer: Tracer, items: Sequence[Any], part_of: tuple[StagedList, slice] | None = None) -> None:
        self.tracer = tracer
        self.held = f"l{len(tracer.stages) + 1}"
        self.forms: list[Gives] = []  # what its elements are: each kind once
        # Arrays of which it holds copies: their memory, and what that was.
        self.elements: list[tuple[Storage, Value]] = []
        stage = call_of("list", list, [], {}, 1, self.held)
        number = tracer.constant(0)
        if part_of is not None:
            whole, part = part_of
            key = argument_text(part, "$")
            of = Raw(f"held[{whole.held!r}][{key}]", f"{whole.held}[{key}]")
            whole.refuse_changed()
            self.forms, self.elements, number = whole.forms, whole.elements, whole.order.read()
            stage = call_of("list", list, [of], {}, 1, self.held)
        self.order: SymArray = SymArray.fresh(tracer, tracer.call(stage, [number], INT64, ()), is_scalar=False)
        tracer.orders.append(self.order)
        for item in items:
            self.append(item)

    def call(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if name == "append" and len(args) == 1 and not kwargs:
            return self.append(args[0])
        if name == "extend" and len(args) == 1 and not kwargs and type(args[0]) in (list, tuple):
            for item in args[0]:
                self.append(item)
            return None
        raise self.refused(f".{name}()")

    def refused(self, what: str) -> Exception:
        return self.tracer.error(f"{what} of a list that a loop of the run fills", "there is no rule for it",
                                 "Append to it, and make an array of it (np.array).")  # fmt: skip

    def append(self, item: Any) -> None:
        form = self._form_of(item)
        if form not in self.forms:
            self.forms.append(form)
        # The stage's operand is memory of the plan.
        held = item
        if isinstance(item, SymArray) and item.sizes:
            held = Copied(item)
            self.elements.append((item.storage, item.storage.value))
        self._stage("append", [held], ())

    def _stage(self, method: str, args: Sequence[Any], gives: Any) -> Any:
        of = f"held[{self.held!r}].{method}"
        return add_stage(self.tracer, f"{self.held}.{method}", list, list(args), {}, gives, Order(self.order, of))

    def _form_of(self, item: Any) -> Gives:
        number = item.hint if isinstance(item, (SymScalar, SymInt)) else item
        if isinstance(item, SymArray):
            return Gives(item.dtype, item.sizes)
        if type(number) in _KINDS:
            return Gives(_KINDS[type(number)], (), type(number))
        if isinstance(item, np.generic):
            return Gives(dtype_of(item))
        raise self.refused(f"an element of type {type(item).__name__}")

    def refuse_changed(self) -> None:
        """Python's list has the arrays themselves, and sees what is written into them."""
        if any(was_written(self.tracer, *element) for element in self.elements):
            raise self.tracer.error("reading a list that a loop of the run fills, after one of its arrays was written",
                                    "it holds copies", "Append a copy (.copy()).")  # fmt: skip

    def _common(self, what: str) -> Gives:
        forms = {(str(form.dtype), len(form.shape)) for form in self.forms}
        if len(forms) != 1:
            raise self.refused(f"{what}, with elements of several kinds or none,")
        return self.forms[0]

    def length(self) -> RunScalar:
        return self._stage("__len__", [], Gives(INT64, (), int))

    def __getitem__(self, key: Any) -> Any:
        self.refuse_changed()
        form = self._common("an element")
        if isinstance(key, slice) and all(type(one) in (int, type(None)) for one in (key.start, key.stop, key.step)):
            return StagedList(self.tracer, [], (self, key))
        if isinstance(key, slice) or form.shape:
            raise self.refused("a part")
        kinds = {each.kind for each in self.forms}
        if len(kinds) == 1:
            return self._stage("__getitem__", [key], Gives(form.dtype, (), form.kind))
        if kinds != {float, None}:
            raise self.refused("an element, of several types,")
        # NumPy's number or Python's, of the same value.
        element: SymArray = self._stage("__getitem__", [key], Gives(form.dtype))
        element.kinds = frozenset({"float", "scalar"})
        return element

    def as_array(self) -> SymArray:
        """As NumPy makes it."""
        self.refuse_changed()
        form = self._common("an array")
        moving = self.tracer.loops.keys()
        sizes = [
            FromData() if symbols & moving else SymInt(self.tracer, size)
            for size in form.shape
            for symbols in [self.tracer.resolve(size).symbols()]
        ]
        made: SymArray = add_stage(
            self.tracer, "numpy.array", np.array, [Raw(f"held[{self.held!r}]", self.held)], {},
            Gives(form.dtype, (FromData(), *sizes)), Order(self.order, ""),
        )  # fmt: skip
        return made

    def number(self) -> Any:
        """The number under which the list itself is held, to be returned."""
        self.refuse_changed()
        held = f"r{len(self.tracer.stages) + 1}"
        stage = call_of("list", list, [Raw(f"held[{self.held!r}]", self.held)], {}, 1, held)
        return self.tracer.call(stage, [self.order.read()], INT64, ())
