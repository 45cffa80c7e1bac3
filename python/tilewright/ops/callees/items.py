"""Parts of an array by positions and masks, where no rule takes them together."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...symbolic.scalars import SymInt
from ..operands import broadcast_shapes
from ..stage_rows import FromData, Gives, Like, row


@row(np.ndarray.__getitem__)
def _items(a: Like, key: tuple[Any, ...]) -> Any:
    """A key has an entry for each axis, of which slices are whole. NumPy puts the axes of all positions where they are,
    or first where other axes lie between them."""
    axes, taken, shapes = 0, [], []
    shape: list[Any] = []
    at: int | None = None
    count = None
    for k, part in enumerate(key):
        if part is None or isinstance(part, slice):
            shape.append(1 if part is None else a.shape[axes])
            axes += part is not None
            continue
        positions = Like(a.tracer, part)
        is_mask = positions.dtype.kind == "b"
        if is_mask and (not positions.ndim or (count is not None and positions.ndim > 1)):
            return None
        at = len(shape) if at is None else at
        taken.append(k)
        axes += positions.ndim if is_mask else 1
        if is_mask:
            count = FromData() if count is not None else FromData(positions.size)
        else:
            shapes.append(positions.sizes)
    sizes = broadcast_shapes(a.tracer, shapes)
    if at is None:
        return None
    if count is not None and sizes:
        count = FromData()  # one that the mask picks out goes with any number of positions
    at = at if taken[-1] - taken[0] + 1 == len(taken) else 0
    picked: list[Any] = [SymInt(a.tracer, n) for n in sizes]
    picked = picked if count is None else [*picked[:-1], count]
    return Gives(a.dtype, (*shape[:at], *picked, *shape[at:]))
