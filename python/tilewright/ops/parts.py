"""Parts of arrays, and arrays that are turned, as views: np.split and its like, np.rot90, windows, indices of diagonals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ..structure import OF
from ..symbolic.arrays import SymArray
from ..symbolic.from_data import gather
from ..symbolic.graph import Slice
from ..symbolic.registry import rule
from ..symbolic.scalars import SymInt, int_of, size_of
from ..symbolic.storage import Shown
from ..symbolic.tracer import Tracer
from .creation import arange
from .shapes import as_array, flip, moveaxis, normalize_axis, swapaxes


def _cut(array: SymArray, points: Sequence[Any], axis: int) -> list[Any]:
    """The parts between points of an axis."""
    before = (slice(None),) * axis
    pairs = zip(points[:-1], points[1:], strict=True)
    return [array[(*before, slice(first, behind))] for first, behind in pairs]


@rule(np.array_split)
def array_split(tracer: Tracer, ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[Any]:
    array = as_array(tracer, ary)
    axis = normalize_axis(axis, array.ndim)
    total = array.shape[axis]
    if not isinstance(indices_or_sections, (int, np.integer, SymInt)):
        return _cut(array, [0, *indices_or_sections, total], axis)
    sections = indices_or_sections.__index__()
    if sections <= 0:
        raise ValueError("number sections must be larger than 0.")
    each, longer = divmod(total, sections)
    return _cut(array, [each * k + min(k, longer) for k in range(sections + 1)], axis)


@rule(np.split)
def split(tracer: Tracer, ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[Any]:
    array = as_array(tracer, ary)
    axis = normalize_axis(axis, array.ndim)
    if not isinstance(indices_or_sections, (int, np.integer, SymInt)):
        return array_split(tracer, array, indices_or_sections, axis)
    sections = indices_or_sections.__index__()
    each, longer = divmod(array.shape[axis], sections)
    if longer != 0:
        raise ValueError("array split does not result in an equal division")
    return _cut(array, [each * k for k in range(sections + 1)], axis)


def _register_split_along(function: Any, least_rank: int, axis: int) -> None:
    @rule(function)
    def split_along(tracer: Tracer, ary: Any, indices_or_sections: Any) -> list[Any]:
        array = as_array(tracer, ary)
        if array.ndim < least_rank:
            raise ValueError(f"{function.__name__} only works on arrays of {least_rank} or more dimensions")
        return split(tracer, array, indices_or_sections, min(axis, array.ndim - 1))


for _function, _least_rank, _axis in ((np.hsplit, 1, 1), (np.vsplit, 2, 0), (np.dsplit, 3, 2)):
    _register_split_along(_function, _least_rank, _axis)


@rule(np.rot90)
def rot90(tracer: Tracer, m: Any, k: Any = 1, axes: Any = (0, 1)) -> Any:
    array = as_array(tracer, m)
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    first, second = (normalize_axis(axis, array.ndim) for axis in axes)
    if first == second:
        raise ValueError("Axes must be different.")
    turns = k % 4
    if turns == 0:
        return array[:]
    if turns == 1:
        return swapaxes(tracer, flip(tracer, array, second), first, second)
    if turns == 2:
        return flip(tracer, array, (first, second))
    return flip(tracer, swapaxes(tracer, array, first, second), second)


@rule(np.diag_indices)
def diag_indices(tracer: Tracer, n: Any, ndim: Any = 2) -> Any:
    return (arange(tracer, n),) * ndim.__index__()


@rule(np.diag_indices_from)
def diag_indices_from(tracer: Tracer, arr: Any) -> Any:
    array = as_array(tracer, arr)
    if array.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    for size in array.sizes[1:]:
        tracer.require("==", array.sizes[0], size, "All dimensions of input must be of equal length", ValueError)
    return diag_indices(tracer, array.shape[0], array.ndim)


@rule(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    tracer: Tracer, x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> SymArray:
    """Elements are gathered where they are used. NumPy's is a view, which nobody may write into."""
    if writeable:
        raise tracer.error("np.lib.stride_tricks.sliding_window_view(writeable=True)", "its elements overlap in memory",
                           "Write into the array itself.")  # fmt: skip
    array = as_array(tracer, x)
    windows = tuple(window_shape) if isinstance(window_shape, (tuple, list)) else (window_shape,)
    axes = normalize_axis_tuple(range(array.ndim) if axis is None else axis, array.ndim, allow_duplicate=True)
    if len(windows) != len(axes):
        raise ValueError("Must provide a window size for each axis")
    if any(window < 0 for window in windows):
        raise ValueError("`window_shape` cannot contain negative values")

    def gathered() -> SymArray:
        made = array
        for k, window in zip(axes, windows, strict=True):
            steps = made.shape[k] - window + 1
            if steps < 1:
                raise ValueError("window shape cannot be larger than input array shape")
            index = arange(tracer, steps)[:, None] + arange(tracer, window)
            made = moveaxis(tracer, gather(made, index.read(), k, is_inside=True), k + 1, -1)
        return made

    view = overlapping(array, "sliding_window_view()", gathered)
    view.storage.read_only = True
    places = "".join(f"{{{k}}}, " for k in range(len(windows)))
    step = f"numpy.lib.stride_tricks.sliding_window_view({OF}, ({places}), {tuple(axes)})"
    view.storage.shown = Shown(array, tracer.blocks[-1], step, tuple(map(size_of, windows)))
    return view


@rule(np.lib.stride_tricks.as_strided)
def as_strided(
    tracer: Tracer, x: Any, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True
) -> Any:
    """Elements of C-contiguous memory by positions that grow or fall along each axis."""
    array = as_array(tracer, x)
    own = array.strides  # or why they are not known
    memory, begin = _memory_around(array)
    extents = array.shape if shape is None else (shape if isinstance(shape, (tuple, list)) else (shape,))
    steps = own if strides is None else (strides if isinstance(strides, (tuple, list)) else (strides,))
    if len(extents) != len(steps):
        raise ValueError("mismatch in length of strides and shape")
    # No more than a sum of what runs along each axis: then kernels read the elements where they use them.
    positions: Any = None
    first: Any = begin
    last: Any = begin
    for k, (extent, stride) in enumerate(zip(extents, steps, strict=True)):
        step = stride // array.itemsize
        if stride % array.itemsize or extent < 1:
            raise tracer.error("np.lib.stride_tricks.as_strided() with strides between elements, or no elements",
                               "there is no rule for it", "Use slices.")  # fmt: skip
        along = [1] * len(extents)
        along[k] = -1
        steps_along = arange(tracer, extent) if type(step) is int and step == 1 else arange(tracer, extent) * step
        steps_along = steps_along.reshape(along)
        positions = steps_along if positions is None else positions + steps_along
        if step < 0:
            first = first + (extent - 1) * step
        else:
            last = last + (extent - 1) * step
    if first < 0 or last >= memory.size:
        raise tracer.error("np.lib.stride_tricks.as_strided() beyond the array", "it would read memory of others",
                           "Make the shape smaller.")  # fmt: skip
    if positions is None:
        positions = arange(tracer, 1).reshape(())
    if type(begin) is not int or begin:
        positions = positions + begin
    view = overlapping(array, "as_strided()", lambda: gather(memory.reshape(-1), positions.read(), 0, is_inside=True))
    view.storage.read_only = not writeable
    shape_text, strides_text = (
        "".join(f"{{{k}}}, " for k in range(first, first + len(steps))) for first in (0, len(steps))
    )
    step = f"numpy.lib.stride_tricks.as_strided({OF}, ({shape_text}), ({strides_text}), writeable={bool(writeable)})"
    view.storage.shown = Shown(array, tracer.blocks[-1], step, tuple(map(size_of, (*extents, *steps))))
    return view


def _memory_around(array: SymArray) -> tuple[SymArray, Any]:
    """The memory in which an array lies, and which of its elements is the first one: a slice of a vector has others before it."""
    if not array.chain or array.chain[-1].operation != "index":
        return array, 0
    whole = SymArray(array.tracer, array.storage, array.chain[:-1])
    if whole.ndim != 1 or not whole.is_c_contiguous():
        return array, 0
    (item,) = array.chain[-1].attributes["index"]
    return (whole, int_of(array.tracer, item.start)) if isinstance(item, Slice) and item.step == 1 else (array, 0)


def overlapping(array: SymArray, name: str, gathered: Callable[[], SymArray]) -> SymArray:
    """What NumPy has as a view whose elements are in several places of it, or on a diagonal; here an array that is not
    written, and that is gathered anew once the array was."""
    view = SymArray.fresh(array.tracer, gathered().read(), is_scalar=False)
    view.storage.part_of = name
    view.storage.chosen_from = array.sources()
    view.storage.anew = lambda: gathered().read()
    return view
