"""Indexing and assignment: integers, slices with steps, newaxis, Ellipsis; masks where the shape stays; gathers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import TraceError
from ..symbolic import from_data
from ..symbolic.arrays import SymArray
from ..symbolic.compressed import Compressed
from ..symbolic.from_data import data_slice, is_run_int, position
from ..symbolic.graph import NEWAXIS, WHOLE, Slice
from ..symbolic.located import LEAVE_IT_OUT
from ..symbolic.operators import check_out
from ..symbolic.refusals import OperandError
from ..symbolic.registry import OPERATIONS, provides, rule
from ..symbolic.scalars import SymInt, SymScalar, size_of
from ..symbolic.sizes import Size
from ..symbolic.storage import View
from ..symbolic.tracer import Tracer
from ..symbolic.windows import full_window
from . import selections
from .elementwise import apply_ufunc
from .operands import (
    BOOL,
    broadcast,
    broadcast_shapes,
    check_python_float,
    check_stored,
    fits_into,
    operand_of,
    shape_of,
    to_value,
)
from .python_numbers import ONE_ELEMENT_IS_A_NUMBER
from .shapes import as_array, index_view, written_out
from .stages import materialized, stage_of, write_by_stage


def _is_mask(key: Any) -> bool:
    return isinstance(key, SymArray) and key.dtype == BOOL


def _parse(array: SymArray, key: Any) -> tuple[list[Any], list[Size], bool]:
    """(items, shape, whether each axis is an integer) of a basic index."""
    tracer = array.tracer
    keys = key if isinstance(key, tuple) else (key,)
    for part in keys:
        _refuse_advanced(tracer, part)
    items: list[Any] = []
    shape: list[Size] = []
    axis = 0
    for part in written_out(keys, array.ndim, Ellipsis):
        if part is None:
            items.append(NEWAXIS)
            shape.append(Size.constant(1))
        elif part is Ellipsis:
            items.append(WHOLE)
            shape.append(tracer.resolve(array.sizes[axis]))
            axis += 1
        elif isinstance(part, slice):
            start, step, extent = _slice(tracer, part, tracer.resolve(array.sizes[axis]))
            items.append(Slice(start, step))
            shape.append(extent)
            axis += 1
        else:
            items.append(_position(tracer, part, array, axis))
            axis += 1
    return items, shape, not shape and not any(part is Ellipsis for part in keys)


def _refuse_advanced(tracer: Tracer, part: Any) -> None:
    if part is None or part is Ellipsis or isinstance(part, (slice, SymInt, np.integer)) or is_run_int(part):
        return
    if isinstance(part, int) and not isinstance(part, bool):
        return
    what = "an array" if isinstance(part, (SymArray, np.ndarray, list)) else f"a {type(part).__name__}"
    if _is_mask(part) or isinstance(part, (bool, np.bool_)):
        raise tracer.error(
            "indexing with a boolean mask",
            "the size of its result depends on the elements",
            "Use np.where, or assign through the mask (x[mask] = value).",
        )
    if isinstance(part, (float, str, SymScalar, np.floating)):
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are "
            "valid indices"
        )
    raise tracer.error(
        f"indexing with {what}",
        "writes to several places that are known only at run time are not compiled in this release",
    )


def _position(tracer: Tracer, part: Any, array: SymArray, axis: int) -> Size:
    extent = tracer.resolve(array.sizes[axis])
    if is_run_int(part):
        return position(tracer, part, extent, axis)
    size = tracer.resolve(size_of(part))
    if not tracer.loops.keys().isdisjoint((*size.symbols(), *extent.symbols())):
        negative = tracer.decide_if_same_in_all_iterations("<", size, 0)
        inside = None
        if negative is not None:
            moved = size + extent if negative else size
            inside = tracer.decide_if_same_in_all_iterations(*((">=", moved, 0) if negative else ("<", moved, extent)))
        if inside is None:
            return position(tracer, part, extent, axis)
        if inside:  # the number of the recorded call is that of a first iteration, which may be none
            return tracer.resolve(moved)
    index = size
    value = tracer.value_of(index)
    message = f"index {value} is out of bounds for axis {axis} with size {tracer.value_of(extent)}"
    guard = f"index {index} is out of bounds for axis {axis}"
    if not -tracer.value_of(extent) <= value < tracer.value_of(extent):
        raise IndexError(message)
    if tracer.decide("<", index, 0):
        index = index + extent
        tracer.require(">=", index, 0, guard, IndexError)
    else:
        tracer.require("<", index, extent, guard, IndexError)
    return tracer.resolve(index)


def _slice(tracer: Tracer, part: slice, extent: Size) -> tuple[Size, int, Size]:
    """(start, step, extent) as slice.indices() has it; each clamp is decided under a guard."""
    step = 1 if part.step is None else part.step.__index__()
    if step == 0:
        raise ValueError("slice step cannot be zero")
    lowest, highest = (Size.constant(0), extent) if step > 0 else (Size.constant(-1), extent - 1)
    if any(is_run_int(bound) for bound in (part.start, part.stop)):
        if step > 0 and (window := full_window(tracer, part.start, part.stop, extent)) is not None:
            return window[0], step, tracer.resolve(window[1] + (step - 1)).floor_divide(step)
        return data_slice(tracer, part, extent, step)

    def clamp(bound: Any, default: Size) -> Size:
        if bound is None:
            return default
        size = tracer.resolve(size_of(bound))
        if tracer.decide("<", size, 0):
            size = size + extent
            return lowest if tracer.decide("<", size, lowest) else size
        return highest if tracer.decide(">", size, highest) else size

    try:
        start = clamp(part.start, lowest if step > 0 else highest)
        stop = clamp(part.stop, highest if step > 0 else lowest)
    except TraceError:
        if step < 0 or tracer.checked is None:
            raise
        return data_slice(tracer, part, extent, step)  # how it clamps differs from iteration to iteration
    length = stop - start if step > 0 else start - stop
    empty = tracer.decide_if_same_in_all_iterations("<", length, 0)
    if empty is None and step > 0:
        length = length.maximum(Size.constant(0))
    elif tracer.decide("<", length, 0):
        return Size.constant(0), step, Size.constant(0)
    magnitude = abs(step)
    count = tracer.resolve(length + (magnitude - 1)).floor_divide(magnitude)
    return tracer.resolve(start), step, tracer.resolve(count)


@provides
def get_item(array: SymArray, key: Any) -> Any:
    key = lists_as_arrays(key)
    before = array.tracer.made
    try:
        return _part(array, key)
    except TraceError as refusal:
        array.tracer.undone.append(range(before, array.tracer.made))
        if isinstance(refusal, OperandError) or not _has_arrays(key):
            raise
        taken = stage_of(array.tracer, np.ndarray.__getitem__, _arrays_alone(array, key), {})
        if taken is NotImplemented:
            raise
        return taken


def lists_as_arrays(key: Any) -> Any:
    """NumPy takes a range, or a list that lies in an array, as the array of its numbers."""
    if isinstance(key, tuple):
        return tuple(map(lists_as_arrays, key))
    if isinstance(key, range):
        return np.arange(key.start, key.stop, key.step)
    return key.as_array() if hasattr(key, "as_array") and not isinstance(key, SymArray) else key


def _has_arrays(key: Any) -> bool:
    """Whether positions or masks are in a key."""
    parts = key if isinstance(key, tuple) else (key,)
    return any(
        isinstance(part, (list, np.ndarray, Compressed)) or (isinstance(part, SymArray) and part.sizes)
        for part in parts
    )


def _arrays_alone(array: SymArray, key: Any) -> tuple[SymArray, tuple[Any, ...]]:
    """A view and a key of it that has whole axes in place of slices."""
    parts = tuple(map(materialized, key if isinstance(key, tuple) else (key,)))
    keys = written_out(parts, array.ndim, mask=next((part for part in parts if _is_mask(part)), None))
    basic: list[Any] = []
    for part in keys:
        if part is not None:
            rank = part.ndim if _is_mask(part) else 1
            basic += [part] if isinstance(part, slice) else [slice(None)] * rank
    whole = tuple(slice(None) if isinstance(part, slice) else part for part in keys)
    return _part(array, tuple(basic)), whole


def _part(array: SymArray, key: Any) -> Any:
    keys = _keys(array, key)
    masked = _masked(array, keys)
    if masked is not None:
        if array.tracer.written_selections:
            raise array.tracer.error("what a boolean mask picks out, and is written", "kernels leave it in its places")
        view, mask, at = masked
        # A copy: what is written to the array later does not show in it.
        return Compressed(array.tracer, SymArray.fresh(array.tracer, view.read(), is_scalar=False), mask.read(), at)
    if any(isinstance(part, Compressed) for part in keys):
        return _gathered_under_mask(array, keys)
    if any(_is_gather(part) for part in keys):
        return _gathered(array, keys)
    items, shape, is_scalar = _parse(array, key)
    if is_scalar:
        # A NumPy scalar is a copy: later writes to the array do not show in it.
        value = array.tracer.add("index", (array.read(),), {"index": items}, array.dtype, shape)
        return SymArray.fresh(array.tracer, value)
    return index_view(array.tracer, array, items, shape)


def _keys(array: SymArray, key: Any) -> tuple[Any, ...]:
    """The parts of a key, with a mask in place of the positions that np.nonzero has of it."""
    keys = selections.as_mask(array.tracer, key if isinstance(key, tuple) else (key,))
    return tuple(
        operand_of(array.tracer, part) if isinstance(part, np.ndarray) and part.dtype == BOOL and part.ndim else part
        for part in keys
    )


def _masked(array: SymArray, keys: tuple[Any, ...]) -> tuple[SymArray, SymArray, int] | None:
    """(view, mask, at) of a key with one mask: array[keys] is view[:, ..., mask] with the mask's axes at `at`."""
    masks = [k for k, part in enumerate(keys) if _is_mask(part) and part.sizes]
    if len(masks) != 1 or any(_is_gather(part) or isinstance(part, Compressed) for part in keys):
        return None
    tracer, mask = array.tracer, keys[masks[0]]
    basic: list[Any] = []
    kinds: list[str] = []
    for part in written_out(keys, array.ndim, mask=mask):
        if part is mask:
            basic += [slice(None)] * mask.ndim
            kinds.append("mask")
        else:
            basic.append(part)
            kinds.append("axis" if part is None or isinstance(part, slice) else "number")
    at = sum(1 for kind in kinds[: kinds.index("mask")] if kind == "axis")
    first = min(k for k, kind in enumerate(kinds) if kind != "axis")
    last = max(k for k, kind in enumerate(kinds) if kind != "axis")
    if "axis" in kinds[first:last] and at:
        raise tracer.error("indexing with a mask and a number on axes that are not beside each other",
                           "there is no rule for it", "Index in two steps.")  # fmt: skip
    view = array if len(basic) == mask.ndim == array.ndim else get_item(array, tuple(basic))
    for mine, theirs in zip(view.sizes[at : at + mask.ndim], mask.sizes, strict=True):
        tracer.match(mine, theirs, "boolean index did not match indexed array", exception=IndexError)
    return view, mask, at


def _gathered_under_mask(array: SymArray, keys: tuple[Any, ...]) -> Compressed:
    """table[labels[mask]]: positions that are selected are looked up, and stay under the mask."""
    tracer = array.tracer
    indices = [part for part in keys if isinstance(part, Compressed)]
    first = indices[0]
    if any(part.dtype.kind not in "iu" or part.ndim > 1 or not part.is_under_mask_of(first) for part in indices):
        raise first.refused("indexing with elements")
    if len(keys) == 1 and (found := selections.looked_up(array, first)) is not None:
        return found
    if any(tracer.value_of(tracer.resolve(size)) == 0 for size in array.sizes):
        raise first.refused("indexing an empty array with elements")
    ahead = keys[: next(k for k, part in enumerate(keys) if isinstance(part, Compressed))]
    if any(
        part is Ellipsis or _is_gather(part) or not isinstance(part, (slice, Compressed, type(None))) for part in keys
    ):
        raise first.refused("indexing with elements and other things")
    taken = _gathered(array, tuple(selections.places(tracer, k) if isinstance(k, Compressed) else k for k in keys))
    return Compressed(tracer, taken, first.mask, len(ahead))


def _is_gather(part: Any) -> bool:
    if isinstance(part, SymArray):
        return bool(part.sizes) and part.dtype.kind in "iu"
    if isinstance(part, list):
        return all(not isinstance(item, (bool, np.bool_)) for item in part)
    return isinstance(part, np.ndarray) and part.ndim > 0 and part.dtype.kind in "iu"


def _gathered(array: SymArray, keys: tuple[Any, ...]) -> Any:
    """x[i, :, indices]: what is basic first, then the axes of index arrays, which become one."""
    tracer = array.tracer
    if any(_is_mask(part) and part.sizes for part in keys):
        raise tracer.error("indexing with a mask and positions", "there is no rule for it", "Index in two steps.")
    keys = written_out(keys, array.ndim)
    advanced = [k for k, part in enumerate(keys) if _is_gather(part)]
    others = [
        k for k, part in enumerate(keys) if not _is_gather(part) and part is not None and not isinstance(part, slice)
    ]
    span = range(min([*advanced, *others]), max([*advanced, *others]) + 1)
    if len(span) != len(advanced) + len(others):
        raise tracer.error("indexing with arrays on axes that are not beside each other", "there is no rule for it",
                           "Index in two steps.")  # fmt: skip
    view = get_item(array, tuple(slice(None) if k in advanced else part for k, part in enumerate(keys)))
    axis = sum(1 for k, part in enumerate(keys[: advanced[0]]) if k not in others)
    indices = [operand_of(tracer, keys[k]) for k in advanced]
    shape = broadcast_shapes(tracer, [index.sizes for index in indices])
    merged: Any = None
    for k, index in enumerate(indices if len(indices) > 1 else ()):
        extent = view.sizes[axis + k]
        place = from_data.inside(index, extent, axis + k)
        merged = place if merged is None else merged * SymInt(tracer, tracer.resolve(extent)) + place
    if merged is None:
        return _in_its_place(from_data.gather(view, broadcast(tracer, indices[0].read(), shape), axis), axis)
    count = tracer.total(view.sizes[axis : axis + len(indices)])
    sizes = (*view.sizes[:axis], count, *view.sizes[axis + len(indices) :])
    flat = SymArray.fresh(tracer, tracer.add("reshape", (view.read(),), {}, view.dtype, sizes), is_scalar=False)
    return _in_its_place(from_data.gather(flat, broadcast(tracer, merged.read(), shape), axis, is_inside=True), axis)


def _in_its_place(gathered: SymArray, axis: int) -> SymArray:
    """NumPy makes the axes of positions the first ones in memory, and then moves them."""
    gathered.storage.c_order = axis == 0
    return gathered


@provides
def set_item(array: SymArray, key: Any, value: Any) -> None:
    key = lists_as_arrays(key)
    before = array.tracer.made
    try:
        _set_part(array, key, value)
    except TraceError as refusal:
        array.tracer.undone.append(range(before, array.tracer.made))
        if isinstance(refusal, OperandError) or array.is_scalar or not _has_arrays(key):
            raise
        view, whole = _arrays_alone(array, key)
        held = materialized(value)
        if OPERATIONS.scattered(view, whole, held):
            return
        given = (whole, held)
        write_by_stage(array.tracer, "numpy.ndarray.__setitem__", np.ndarray.__setitem__, view, given, {})


def _set_part(array: SymArray, key: Any, value: Any) -> None:
    tracer = array.tracer
    if array.is_scalar:
        raise TypeError(f"'numpy.{array.dtype.name}' object does not support item assignment")
    masked = _masked(array, _keys(array, key))
    if masked is not None:
        _set_masked(*masked, value)
        return
    if isinstance(value, Compressed):
        raise value.refused("storing the elements elsewhere")
    operand = operand_of(tracer, value, any_kind=True)
    items, target_shape, is_element = _parse(array, key)
    if is_element and shape_of(operand) and not ONE_ELEMENT_IS_A_NUMBER:
        raise ValueError("setting an array element with a sequence.")
    target = array.seen_as(View("index", {"index": items}, tuple(target_shape)))
    check_stored(tracer, operand, array.dtype)
    new = to_value(tracer, operand, array.dtype)
    mine = shape_of(operand)
    # Leading axes of extent 1 may be dropped in an assignment.
    while len(mine) > target.ndim:
        tracer.require("==", mine[0], 1, "could not broadcast input array", ValueError)
        new = tracer.add(
            "index", (new,), {"index": [Size.constant(0), *[WHOLE] * (len(mine) - 1)]}, new.dtype, mine[1:]
        )
        mine = mine[1:]
    if not fits_into(tracer, mine, target.sizes):
        raise ValueError("could not broadcast input array")
    if _covers(array, target):
        array.write(broadcast(tracer, new, array.sizes))
    else:
        target.write(broadcast(tracer, new, target.sizes))


def _covers(array: SymArray, target: SymArray) -> bool:
    """Whether `target` is all of `array`: x[...] = v and x[:] = v."""
    view = target.chain[-1]
    return (
        view.operation == "index"
        and view.attributes["index"] == [WHOLE] * array.ndim
        and all(
            array.tracer.resolve(a) == array.tracer.resolve(b) for a, b in zip(array.sizes, target.sizes, strict=True)
        )
    )


def _set_masked(view: SymArray, mask: SymArray, at: int, value: Any) -> None:
    """x[mask] = a number, or what the same mask picked out, as a choice between that and what was there."""
    tracer = view.tracer
    target = Compressed(tracer, view, mask.read(), at)
    if isinstance(value, Compressed):
        if not value.is_under_mask_of(target) or (value.at, value.behind) != (at, target.behind):
            raise value.refused("storing the elements elsewhere")
        operand: Any = value.whole
    else:
        operand = operand_of(tracer, value)
        if len(shape_of(operand)) > target.behind:
            raise tracer.error(
                "assigning an array through a boolean mask",
                "which element goes where depends on the mask's elements",
                "Use np.where(mask, values, x).",
            )
    check_python_float(tracer, operand, view.dtype)
    new = to_value(tracer, operand, view.dtype)
    if not fits_into(tracer, new.shape, view.sizes):
        raise ValueError("could not broadcast input array")
    truth = target.truth()
    view.write(tracer.add("where", (truth, new, view.read()), {}, view.dtype, view.sizes))


def update_item(array: SymArray, key: Any, ufunc: np.ufunc, other: Any) -> None:
    """array[key] op= other."""
    target = get_item(array, key)
    result = apply_ufunc(array.tracer, ufunc, (target, other))
    is_scalar = isinstance(target, SymArray) and target.is_scalar
    if not is_scalar:
        check_out(ufunc, "same_kind", result.dtype, array.dtype)
    if isinstance(target, SymArray) and not is_scalar and not fits_into(array.tracer, result.sizes, target.sizes):
        raise ValueError("non-broadcastable output operand")
    set_item(array, key, result)


@rule(np.take)
def take(tracer: Tracer, a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    """Elements, or parts along the first axis, as a gather that vectors and threads make."""
    array = as_array(tracer, a)
    is_index = isinstance(indices, SymArray) and bool(indices.sizes) and np.can_cast(indices.dtype, np.intp)
    first = axis is None or (type(axis) is int and axis in (0, -array.ndim))
    if out is not None or mode != "raise" or not is_index or indices.dtype == BOOL or not first or not array.ndim:
        raise tracer.error("np.take()", "kernels take what an array of integers picks along the first axis, or of all "
                           "elements, with mode='raise'", LEAVE_IT_OUT)  # fmt: skip
    if any(tracer.is_of_data(size) for size in (*array.sizes, *indices.sizes)):
        raise tracer.error("np.take()", "no kernel takes from, or picks, as many as the data decide", LEAVE_IT_OUT)
    if tracer.decide("==", tracer.total(array.sizes), 0):
        raise tracer.error("np.take()", "no kernel takes of no elements", LEAVE_IT_OUT)
    source: Any = array
    if axis is None and array.ndim > 1:
        source = np.ravel(source)
    return get_item(source, indices)
