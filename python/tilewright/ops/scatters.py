"""Writes to positions that arrays say (`a[rows, columns] = v`) in loops and branches: a loop of the program, element by element.

A stage has NumPy write into a copy of the array, at each iteration. Outside of regions that is one copy, and stays so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import TraceError
from ..symbolic.arrays import SymArray
from ..symbolic.registry import provides
from ..symbolic.scalars import SymInt
from ..symbolic.tracer import Tracer
from .as_loops import followed
from .operands import shape_of
from .shapes import as_array

_MOST_POSITIONS = 3


def _written_1(a: Any, values: Any, axes: Any, i: Any) -> None:
    for n in range(i.shape[0]):
        a[(*axes, i[n])] = values[(*axes, n)]


def _written_2(a: Any, values: Any, axes: Any, i: Any, j: Any) -> None:
    for n in range(i.shape[0]):
        a[(*axes, i[n], j[n])] = values[(*axes, n)]


def _written_3(a: Any, values: Any, axes: Any, i: Any, j: Any, k: Any) -> None:
    for n in range(i.shape[0]):
        a[(*axes, i[n], j[n], k[n])] = values[(*axes, n)]


_WRITTEN = (_written_1, _written_2, _written_3)


@provides
def scattered(array: SymArray, key: tuple[Any, ...], value: Any) -> bool:
    """The last one of several values for one element stays, as in NumPy. What the values are made of was read before."""
    tracer = array.tracer
    if len(tracer.blocks) == 1 or tracer.follow is None or tracer.checked is None:
        return False
    begun = tracer.made
    try:
        found = _one_by_one(tracer, array, key, value)
        if found is None:
            return False
        values, axes, positions = found
        followed(tracer, "__setitem__", _WRITTEN[len(positions) - 1], array, values, axes, *positions)
    except (TraceError, ValueError):
        tracer.undone.append(range(begun, tracer.made))
        return False
    return True


def _one_by_one(
    tracer: Tracer, array: SymArray, key: Sequence[Any], value: Any
) -> tuple[SymArray, tuple[slice, ...], list[SymArray]] | None:
    """(values, axes, positions): array[axes, positions[n]] = values[axes, n] for each n; None where the key has other things."""
    at = [k for k, part in enumerate(key) if not isinstance(part, slice)]
    if not at or len(at) > _MOST_POSITIONS or at != list(range(at[0], at[-1] + 1)):
        return None
    if not all(_is_of_positions(key[k]) for k in at) or value is None or isinstance(value, (list, tuple)):
        return None
    positions: Any = np.broadcast_arrays(*(as_array(tracer, key[k]) for k in at))
    shape: list[Any] = [SymInt(tracer, size) for size in shape_of(positions[0])]
    ahead, behind = array.shape[: at[0]], array.shape[at[-1] + 1 :]
    held: Any = as_array(tracer, value)
    if held.ndim > len(ahead) + len(shape) + len(behind):
        return None
    flat = [one.reshape(-1) for one in positions]
    values: Any = np.broadcast_to(held, (*ahead, *shape, *behind)).reshape((*ahead, flat[0].shape[0], *behind))
    return values, (slice(None),) * len(ahead), flat


def _is_of_positions(part: Any) -> bool:
    if isinstance(part, (bool, np.bool_)):
        return False
    if isinstance(part, list):
        return bool(part) and all(isinstance(one, (int, SymInt)) and not isinstance(one, bool) for one in part)
    dtype = getattr(part, "dtype", None)
    return isinstance(part, (int, SymInt)) or (dtype is not None and dtype.kind in "iu")
