"""np.vectorize: a function of numbers, applied to each element, as a loop over all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..light_dataclass import dataclass
from ..ops.operands import dtype_of, operand_of
from ..symbolic.number import refuse_kinds
from ..symbolic.registry import rule
from ..symbolic.tracer import Tracer

ATTRIBUTES = ("pyfunc", "otypes", "excluded", "cache", "signature")  # of np.vectorize, which decide what it does


@dataclass(frozen=True)
class Vectorized:
    """An np.vectorize object whose function is followed."""

    function: Any
    otypes: str | None = None

    def __call__(self, *args: Any) -> Any:
        raise NotImplementedError  # Calls makes it


def vectorized(pyfunc: Any, otypes: Any, excluded: Any, cache: Any, signature: Any) -> Vectorized | None:  # noqa: PLR0917
    """None where its options ask for more than a loop over elements."""
    if excluded or cache or signature is not None or pyfunc is np._NoValue:
        return None
    return Vectorized(pyfunc, None if otypes is None else "".join(np.dtype(one).char for one in otypes))


def parts_of(given: Any) -> tuple[bool, tuple[Any, ...]]:
    """Whether a function gave one result, and its results."""
    return (False, given) if isinstance(given, tuple) else (True, (given,))


@rule(parts_of)
def _parts_of(tracer: Tracer, given: Any) -> Any:
    return parts_of(given)  # asked of a number whose kind the data decide


def dtype_of_number(number: Any) -> np.dtype[Any]:
    return np.asanyarray(number).dtype


_PYTHONS = {"float": np.dtype(float), "int": np.dtype(int), "bool": np.dtype(bool), "complex": np.dtype(complex)}


@rule(dtype_of_number)
def _dtype_of_number(tracer: Tracer, number: Any) -> Any:
    found = {_PYTHONS.get(kind) or number.dtype for kind in getattr(number, "kinds", None) or ()}
    if len(found) > 1:
        refuse_kinds(number, "np.vectorize")
    return found.pop() if found else dtype_of(operand_of(tracer, number))


def applied(function: Any, otypes: Any, args: Any) -> Any:
    """What the object gives: traced in its place. NumPy hands on Python's own numbers. Where no dtypes are asked for, those
    decide that the function gives of the first elements as NumPy's numbers."""
    arrays = np.broadcast_arrays(*args)
    shape = arrays[0].shape
    flat = [one.reshape(-1) for one in arrays]
    if otypes is not None:
        dtypes = list(otypes)
        is_one = len(dtypes) == 1
    elif flat[0].shape[0] == 0:
        raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
    else:
        first = function(*[one[0] for one in flat])
        is_one, parts = parts_of(first)
        dtypes = [dtype_of_number(one) for one in parts]
    outs = [np.empty(flat[0].shape, dtype) for dtype in dtypes]
    for i in range(flat[0].shape[0]):
        _, results = parts_of(function(*[one[i].item() for one in flat]))
        for out, result in zip(outs, results, strict=False):
            out[i] = result
    shaped = tuple(out.reshape(shape) for out in outs)
    return shaped[0] if is_one else shaped
