"""Arrays that calls without traced arguments make while tracing, and into which traced values are written later.

A trace has them as NumPy makes them, of plain values. Where the function writes a traced value into one, or changes one in
a region of the run, the trace begins again with that array as a value of the program, from the call on that makes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import TraceError
from ..ops.elementwise import copied
from ..symbolic.arrays import SymArray

if TYPE_CHECKING:
    from ..symbolic.tracer import Tracer
    from .arguments import Inputs


class WrittenWithTraced(TraceError):
    """An array of plain values is to hold traced ones. `place`: of the call that made it, None where that is not known."""

    place: tuple[str, int, int] | None = None


def made_by_call(tracer: Tracer, inputs: Inputs, place: tuple[str, int, int], value: Any) -> Any:
    """What a call gave: an array of plain values is remembered by its call, or is a value of the program from here on."""
    if type(value) is not np.ndarray or value.dtype.kind not in "biufc" or not value.flags.c_contiguous:
        return value
    known = tracer.cache.setdefault("plain arrays", {})
    if id(value) in known or inputs.is_outer(value):
        return value
    if value.base is not None or not value.flags.writeable or not value.ndim:
        return value  # others may see what is written into it
    if place in tracer.written_arrays:
        held = inputs.captured_array(value).read()
        return SymArray.fresh(tracer, copied(tracer, held), is_scalar=False, c_order=True)
    known[id(value)] = value, place
    return value


def place_of(tracer: Tracer, arrays: Iterable[np.ndarray]) -> tuple[str, int, int] | None:
    """Of the call that made the first of the arrays of which it is known."""
    known = tracer.cache.get("plain arrays", {})
    return next((known[id(array)][1] for array in arrays if id(array) in known), None)


class PlainResults:
    """Arrays and numbers of NumPy's that a function returns beside what is computed, and that no argument went into."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._arrays: dict[int, tuple[Any, SymArray]] = {}

    def made_anew(self, item: Any) -> SymArray | None:
        """A value of the program that each call makes; None of what it cannot be."""
        tracer, dtype = self._tracer, getattr(item, "dtype", None)
        if (
            dtype is None
            or dtype.kind not in "biufc"
            or not dtype.isnative
            or dtype.itemsize > (16 if dtype.kind == "c" else 8)
        ):
            return None
        if isinstance(item, np.generic):
            return SymArray.fresh(tracer, tracer.constant(item, item.dtype), is_scalar=True)
        inputs = tracer.cache["inputs"]
        if type(item) is not np.ndarray or not item.flags.writeable or inputs.is_outer(item):
            return None
        if id(item) not in self._arrays:
            if any(np.may_share_memory(item, other) for other, _ in self._arrays.values()):
                return None  # who writes into the one sees it in the other
            if item.ndim:
                value = copied(tracer, inputs.captured_array(item).read())
            else:
                value = tracer.constant(item[()], item.dtype)
            self._arrays[id(item)] = item, SymArray.fresh(tracer, value, is_scalar=False, c_order=True)
        return self._arrays[id(item)][1]
