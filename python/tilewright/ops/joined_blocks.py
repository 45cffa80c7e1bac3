"""np.block and np.kron: matrices put together of others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..symbolic.located import LEAVE_IT_OUT
from ..symbolic.registry import rule
from ..symbolic.tracer import Tracer
from .elementwise import apply_ufunc
from .shapes import as_array


@rule(np.kron)
def kron(tracer: Tracer, a: Any, b: Any) -> Any:
    left, right = as_array(tracer, a), as_array(tracer, b)
    rank = max(left.ndim, right.ndim)
    if not right.ndim:
        return apply_ufunc(tracer, np.multiply, (left, right))
    mine, others = ((*(1,) * (rank - one.ndim), *one.shape) for one in (left, right))
    with tracer.composite("kron"):
        rows = left.reshape(tuple(extent for n in mine for extent in (n, 1)))
        columns = right.reshape(tuple(extent for n in others for extent in (1, n)))
        products = apply_ufunc(tracer, np.multiply, (rows, columns))
        return products.reshape(tuple(n * m for n, m in zip(mine, others, strict=True)))


def _depth(tracer: Tracer, arrays: Any) -> int:
    """Of lists in lists, which is one of all items."""
    if type(arrays) is not list:
        return 0
    depths = {_depth(tracer, one) for one in arrays}
    if len(depths) != 1:
        raise tracer.error("np.block() of lists that are nested unevenly, or empty", "NumPy refuses it", LEAVE_IT_OUT)
    return depths.pop() + 1


def _leaves(arrays: Any) -> list[Any]:
    return [leaf for one in arrays for leaf in _leaves(one)] if type(arrays) is list else [arrays]


@rule(np.block)
def block(tracer: Tracer, arrays: Any) -> Any:
    depth = _depth(tracer, arrays)
    leaves = _leaves(arrays)
    if any(type(one) is tuple for one in leaves) or not leaves or not depth:
        raise tracer.error("np.block() of anything but lists of arrays", "there is no rule for it", LEAVE_IT_OUT)
    rank = max(depth, *(as_array(tracer, one).ndim for one in leaves))

    def joined(part: Any, level: int) -> Any:
        if level == depth:
            array = as_array(tracer, part)
            return array.reshape((*(1,) * (rank - array.ndim), *array.shape))
        return np.concatenate([joined(one, level + 1) for one in part], axis=level - depth)

    with tracer.composite("block"):
        return joined(arrays, 0)
