"""np.unravel_index and np.ravel_multi_index: positions of a flat array, and those of several axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..symbolic.arrays import SymArray
from ..symbolic.registry import rule
from ..symbolic.scalars import SymInt
from ..symbolic.tracer import Tracer
from .as_loops import followed
from .operands import BOOL, INT64, to_value
from .shapes import as_array


def _extents(tracer: Tracer, name: str, shape: Any, order: str, others: bool = False) -> tuple[Any, ...]:
    extents = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if order != "C" or others or not extents or any(type(one) not in (int, SymInt) for one in extents):
        raise tracer.error(f"np.{name}() with these options")
    for one in extents:
        if tracer.decide("<", one.size, 1) if isinstance(one, SymInt) else one < 1:
            raise tracer.error(f"np.{name}() of no elements")
    return extents


def _positions(tracer: Tracer, name: str, given: Any) -> SymArray:
    array = as_array(tracer, given)
    if array.dtype.kind not in "iu" or array.dtype == np.uint64:
        raise tracer.error(f"np.{name}() of {array.dtype}")
    return SymArray.fresh(tracer, tracer.cast(array.read(), INT64))


def _are_inside(positions: Any, extent: Any) -> Any:
    return np.all((positions >= 0) & (positions < extent))


def _check(tracer: Tracer, positions: SymArray, extent: Any) -> None:
    truth = followed(tracer, "unravel_index", _are_inside, positions, extent)
    tracer.check(to_value(tracer, truth, BOOL), "positions outside of the shape")


def _coordinates(indices: Any, extents: Any) -> Any:
    found = []
    for extent in extents[:0:-1]:
        found.append(indices % extent)
        indices = indices // extent
    return (indices, *found[::-1])


@rule(np.unravel_index)
def _unravel_index(tracer: Tracer, indices: Any, shape: Any, order: str = "C") -> Any:
    extents = _extents(tracer, "unravel_index", shape, order)
    flat, size = _positions(tracer, "unravel_index", indices), 1
    for one in extents:
        size = size * one
    _check(tracer, flat, size)
    return followed(tracer, "unravel_index", _coordinates, flat, extents)


def _flat_position(positions: Any, extents: Any) -> Any:
    flat = positions[0]
    for position, extent in zip(positions[1:], extents[1:], strict=True):
        flat = flat * extent + position
    return flat


@rule(np.ravel_multi_index)
def _ravel_multi_index(tracer: Tracer, multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    extents = _extents(tracer, "ravel_multi_index", dims, order, mode != "raise")
    if not isinstance(multi_index, (tuple, list)):
        multi_index = [multi_index[k] for k in range(len(extents))]
    if len(multi_index) != len(extents):
        raise tracer.error("np.ravel_multi_index() of another number of positions")  # NumPy raises it
    positions = [_positions(tracer, "ravel_multi_index", one) for one in multi_index]
    for position, extent in zip(positions, extents, strict=True):
        _check(tracer, position, extent)
    return followed(tracer, "ravel_multi_index", _flat_position, positions, extents)
