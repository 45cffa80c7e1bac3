"""np.trim_zeros: a part of the array, whose limits data decide."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..symbolic.arrays import SymArray
from ..symbolic.located import LEAVE_IT_OUT
from ..symbolic.registry import rule
from ..symbolic.tracer import Tracer
from .as_loops import followed

_ENDS = {"fb": (True, True), "bf": (True, True), "f": (True, False), "b": (False, True)}


def _trimmed(x: Any, front: bool, back: bool) -> Any:
    if x.shape[0] == 0:
        return x[:0]
    counts = x != 0
    some = int(np.any(counts))
    start = int(np.argmax(counts)) if front else 0
    stop = (x.shape[0] - int(np.argmax(counts[::-1])) if back else x.shape[0]) * some
    return x[start:stop]  # nothing of zeros alone


@rule(np.trim_zeros)
def trim_zeros(tracer: Tracer, filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    ends = _ENDS.get(trim.lower()) if isinstance(trim, str) else None
    if not isinstance(filt, SymArray) or filt.ndim != 1 or axis is not None or ends is None:
        raise tracer.error(
            "np.trim_zeros()", "kernels look through a vector, from f, b or both of its ends", LEAVE_IT_OUT
        )
    return followed(tracer, "trim_zeros", _trimmed, filt, *ends)
