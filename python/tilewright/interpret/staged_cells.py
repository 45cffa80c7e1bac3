"""Variables whose arrays have another size behind each branch, or in each iteration: Python holds the array.

A value of the program has one shape. Where a branch or a loop of the run gives a variable arrays of several, the trace
begins again with that variable in a cell there: what it is is put into the cell, and taken out again with its sizes.
"""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import TraceError
from ..ops.stage_rows import FromData, Gives
from ..ops.stages import Order, add_stage, materialized
from ..symbolic.arrays import SymArray
from ..symbolic.compressed import Compressed
from ..symbolic.graph import BOOL, INT64, Value
from ..symbolic.stages import Raw
from ..symbolic.storage import Storage
from .frame import Pending

if TYPE_CHECKING:
    from ..symbolic.tracer import Tracer


class ChangesShape(TraceError):
    """A variable of several shapes. `cell`: "branch" or "loop", its place, and the variable; None where no cell helps."""

    cell: tuple[str, tuple[str, int, int], str] | None = None


def is_other_size(first: Any, second: Any) -> bool:
    """Whether two values are arrays that may have other sizes and nothing else: a cell can hold either."""
    kinds = [
        (value.dtype, value.ndim)
        for value in (first, second)
        if isinstance(value, Compressed) or (isinstance(value, SymArray) and value.sizes)
    ]
    return len(kinds) == 2 and kinds[0] == kinds[1]


class Cell:
    """One array of the run, of any size."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        self.held = f"c{len(tracer.stages) + len(tracer.orders) + 1}"
        self.order = SymArray.fresh(tracer, tracer.add("const", (), {"value": 0}, INT64, ()), is_scalar=False)
        tracer.orders.append(self.order)
        self.form: tuple[np.dtype[Any], int] | None = None
        self.read_only: set[bool | None] = set()  # of what was put in: whether nobody may write it
        self.shared: list[Storage] = []  # memory of what was put in that others see: it is a copy of that here
        # Whether what is in it now is such a copy.
        self.is_shared = SymArray.fresh(tracer, tracer.constant(False, BOOL), is_scalar=False)
        tracer.orders.append(self.is_shared)

    def put(self, value: Any, seen: Container[int] = ()) -> bool:
        """`seen`: memory that others see, by identity. Whether the cell shares more of it than before, or holds arrays that
        may be written beside others for the first time."""
        value = value.read() if isinstance(value, Pending) else value
        before = len(self.shared), len(self.read_only)
        if isinstance(value, (SymArray, Compressed)):
            storage = (value.whole if isinstance(value, Compressed) else value).storage
            memories = [storage, *(chosen for chosen, _ in storage.chosen_from or ())]
            visible = [one for one in memories if one.argument is not None or id(one) in seen]
            self.shared += [one for one in visible if one not in self.shared]
            self.is_shared.write(self._truth_of_sharing(storage, visible))
        value = materialized(value)
        if not isinstance(value, SymArray) or value.is_scalar:
            raise self.tracer.error("loops: a variable that is an array of several sizes, and no array on some way",
                                    "it has no size there", "Make it an array on every way.")  # fmt: skip
        form = (value.dtype, value.ndim)
        if self.form not in (None, form):
            raise self.tracer.error("loops: a variable that is an array of several dtypes or ranks",
                                    "an array keeps them in all iterations and on all ways", "Convert it.")  # fmt: skip
        self.form = form
        self.read_only.add(value.is_made_read_only())
        add_stage(self.tracer, "numpy.array", np.array, [value], {}, (), Order(self.order, ""), self.held)
        return (len(self.shared), len(self.read_only)) != before

    def _truth_of_sharing(self, storage: Storage, visible: list[Storage]) -> Value:
        truths = [holds for one, holds in storage.may_be if one in visible]
        if storage in visible or (visible and not truths):
            return self.tracer.constant(True, BOOL)
        found = self.tracer.constant(False, BOOL)
        for holds in truths:
            found = self.tracer.add("logical_or", (found, holds), {}, BOOL, ())
        return found

    def take(self) -> SymArray:
        assert self.form is not None
        dtype, rank = self.form
        gives = Gives(dtype, tuple(FromData() for _ in range(rank)))
        of = Raw(f"held[{self.held!r}]", self.held)
        made: SymArray = add_stage(self.tracer, "numpy.asarray", np.asarray, [of], {}, gives, Order(self.order, ""))
        made.storage.read_only = next(iter(self.read_only)) if len(self.read_only) == 1 else None
        made.storage.chosen_from = tuple((one, one.value) for one in self.shared) or None
        made.storage.may_be = tuple((one, self.is_shared.read()) for one in self.shared)
        return made
