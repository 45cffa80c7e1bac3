"""Copies of arrays that lie in memory as the arrays do: what a function does may depend on it (`np.asfortranarray`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

# A view of more memory than so many times its own bytes is copied with short gaps.
MOST_MEMORY = 4


def with_strides(array: np.ndarray[Any, Any], strides: Sequence[int]) -> Any:
    """The same elements in new memory, with such gaps and directions; `base` is the memory, in bytes."""
    spans = [(n - 1) * s for n, s in zip(array.shape, strides, strict=True)]
    offset = -sum(s for s in spans if s < 0)
    memory = np.zeros(offset + sum(s for s in spans if s > 0) + array.itemsize, np.uint8)
    view: np.ndarray[Any, Any] = np.ndarray(array.shape, array.dtype, memory, offset, strides)
    view[...] = array
    return view


def copy_as_it_lies(array: np.ndarray[Any, Any]) -> Any:
    """New memory with the same contiguity, order of axes, directions and repeated elements; gaps too, where they are not much
    of the memory."""
    flags = array.flags
    if flags.c_contiguous or flags.f_contiguous or type(array) is not np.ndarray:
        return array.copy(order="K")
    low, high = np.lib.array_utils.byte_bounds(array)
    is_whole = not any(s % array.itemsize for s in array.strides)
    return with_strides(
        array, array.strides if is_whole and high - low <= MOST_MEMORY * array.nbytes else _with_short_gaps(array)
    )


def _with_short_gaps(array: np.ndarray[Any, Any]) -> list[int]:
    """Strides for which an axis follows on the next inner one where it does in the array; else a gap of one element."""
    strides = list(array.strides)
    follows = end = array.itemsize  # the stride without a gap: in the array, in the copy
    for axis in sorted(range(array.ndim), key=lambda k: abs(array.strides[k])):
        given, extent = array.strides[axis], array.shape[axis]
        if extent == 1 or given == 0:
            continue
        stride = end if abs(given) == follows else end + array.itemsize
        strides[axis] = stride if given > 0 else -stride
        follows, end = abs(given) * extent, stride * extent
    return strides


class _Memory:
    """Memory of an array, from an address on."""

    def __init__(self, array: Any, interface: dict[str, Any]) -> None:
        self.array, self.__array_interface__ = array, interface


def same_view(view: Any, copied: Any, array: Any) -> Any:
    """What a view of a copy of an array shows, of the array itself."""
    offset, strides = view.ctypes.data - copied.ctypes.data, view.strides
    if copied.strides != array.strides:
        axes = [k for k in range(copied.ndim) if copied.shape[k] > 1 and copied.strides[k]]
        axes.sort(key=lambda k: -abs(copied.strides[k]))
        lowest = sum((copied.shape[k] - 1) * min(copied.strides[k], 0) for k in axes)

        def there(distance: int) -> int:
            rest, found = distance - lowest, 0
            for k in axes:
                steps, rest = divmod(rest, abs(copied.strides[k]))
                found += array.strides[k] * (steps if copied.strides[k] > 0 else copied.shape[k] - 1 - steps)
            return found

        begin = there(offset)
        strides = tuple(there(offset + s) - begin if n > 1 else s for n, s in zip(view.shape, strides, strict=True))
        offset = begin
    interface = {
        "version": 3, "shape": view.shape, "strides": strides, "typestr": view.dtype.str,
        "data": (array.ctypes.data + offset, not (view.flags.writeable and array.flags.writeable)),
    }  # fmt: skip
    return np.asarray(_Memory(array, interface))
