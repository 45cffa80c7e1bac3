"""Results that are known while tracing, beside what is computed: NumPy's numbers, and arrays that no argument went into."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import TraceError
from ..ops.elementwise import copied
from ..symbolic.arrays import SymArray
from ..symbolic.tracer import Tracer


class KnownResults:
    """What stands for them in one result: a constant, or a copy of such an array at each call."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._by_memory: dict[int, tuple[Any, SymArray]] = {}  # an array and what stands for it, by whose memory it is

    def array_of(self, item: Any) -> SymArray | None:
        """None of what is neither, or of an array that another result shows a part of."""
        is_array = type(item) is np.ndarray
        if not (is_array or isinstance(item, np.generic)):
            return None
        try:
            self._tracer.refuse_dtype(item.dtype, "returning the value")
        except TraceError:
            return None
        if not is_array:
            return SymArray.fresh(self._tracer, self._tracer.constant(item, item.dtype), is_scalar=True)
        memory = item
        while type(memory.base) is np.ndarray:
            memory = memory.base
        if memory.base is not None or not item.flags.writeable or not item.dtype.isnative:
            return None
        known, made = self._by_memory.setdefault(id(memory), (item, self._copy_of(item)))
        return made if known is item else None

    def _copy_of(self, item: Any) -> SymArray:
        tracer = self._tracer
        if not item.ndim:
            return SymArray.fresh(tracer, tracer.constant(item[()], item.dtype), is_scalar=False)
        captured = tracer.cache["inputs"].captured_array(item.copy(order="C"))
        return SymArray.fresh(tracer, copied(tracer, captured.read()), is_scalar=False)
