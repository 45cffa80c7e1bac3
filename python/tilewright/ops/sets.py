"""np.isin and np.setdiff1d of a few elements to be found: each element is compared with all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..symbolic.arrays import SymArray
from ..symbolic.graph import INT64, Value
from ..symbolic.located import LEAVE_IT_OUT
from ..symbolic.registry import rule
from ..symbolic.tracer import Tracer
from .shapes import as_array

_MOST_COMPARED = 64  # beyond, to sort them takes less


def _is_found(tracer: Tracer, name: str, array: SymArray, tested: SymArray) -> Any:
    kinds = "".join(sorted({array.dtype.kind, tested.dtype.kind}))
    if len(kinds) > 1 and kinds not in ("bi", "bu", "fi"):
        # NumPy compares what both become in one array.
        raise tracer.error(f"np.{name}() of {array.dtype} in {tested.dtype}", "there is no rule for it", LEAVE_IT_OUT)
    if tracer.value_of(tracer.total(tested.sizes)) > _MOST_COMPARED:
        raise tracer.error(f"np.{name}()", f"kernels find up to {_MOST_COMPARED} elements", LEAVE_IT_OUT)
    with tracer.composite(name):
        return np.any(array[..., None] == tested.reshape(-1), axis=-1)


def _rises(value: Value) -> bool:
    """Whether it is a range, which goes up."""
    if value.operation in ("add", "subtract", "cast") and value.dtype == INT64:
        return _rises(value.operands[0]) and not any(other.shape for other in value.operands[1:])
    return value.operation == "iota"


@rule(np.isin)
def isin(
    tracer: Tracer, element: Any, test_elements: Any, assume_unique: Any = False, invert: Any = False, *, kind: Any = None
) -> Any:  # fmt: skip
    array, tested = as_array(tracer, element), as_array(tracer, test_elements)
    if assume_unique is not False or kind is not None or type(invert) is not bool or not array.ndim:
        raise tracer.error(
            "np.isin()", "kernels know invert= of its options, and arrays of an axis or more", LEAVE_IT_OUT
        )
    found = _is_found(tracer, "isin", array, tested)
    return ~found if invert else found


@rule(np.setdiff1d)
def setdiff1d(tracer: Tracer, ar1: Any, ar2: Any, assume_unique: Any = False) -> Any:
    if assume_unique is not False:
        raise tracer.error("np.setdiff1d(assume_unique=…)", "there is no rule for it", LEAVE_IT_OUT)
    tested = as_array(tracer, ar2)
    array = as_array(tracer, ar1)
    once = array if array.ndim == 1 and _rises(array.read()) else as_array(tracer, np.unique(array))
    return once[~_is_found(tracer, "setdiff1d", once, tested)]
