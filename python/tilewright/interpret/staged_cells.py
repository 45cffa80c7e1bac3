"""Variables whose arrays have another size behind each branch, or in each iteration: Python holds the array.

A value of the program has one shape. Where a branch or a loop of the run gives a variable arrays of several, the trace
begins again with that variable in a cell there: what it is is put into the cell, and taken out again with its sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import TraceError
from ..ops.stages import FromData, Gives, Order, add_stage, materialized
from ..symbolic.arrays import SymArray
from ..symbolic.compressed import Compressed
from ..symbolic.graph import INT64
from ..symbolic.stages import Raw
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

    def put(self, value: Any) -> None:
        value = materialized(value.read() if isinstance(value, Pending) else value)
        if not isinstance(value, SymArray) or value.is_scalar:
            raise self.tracer.error("loops: a variable that is an array of several sizes, and no array on some way",
                                    "it has no size there", "Make it an array on every way.")  # fmt: skip
        form = (value.dtype, value.ndim)
        if self.form not in (None, form):
            raise self.tracer.error("loops: a variable that is an array of several dtypes or ranks",
                                    "an array keeps them in all iterations and on all ways", "Convert it.")  # fmt: skip
        self.form = form
        add_stage(self.tracer, "numpy.array", np.array, [value], {}, (), Order(self.order, ""), self.held)

    def take(self) -> SymArray:
        assert self.form is not None
        dtype, rank = self.form
        gives = Gives(dtype, tuple(FromData() for _ in range(rank)))
        of = Raw(f"held[{self.held!r}]", self.held)
        made: SymArray = add_stage(self.tracer, "numpy.asarray", np.asarray, [of], {}, gives, Order(self.order, ""))
        return made
