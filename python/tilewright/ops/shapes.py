"""Operations that only look at an array in another way: reshape, transpose, axes, broadcast_to."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ..symbolic.arrays import SymArray
from ..symbolic.graph import NEWAXIS, WHOLE, Value
from ..symbolic.number import described
from ..symbolic.registry import provides, rule
from ..symbolic.scalars import SymInt, int_of, size_of
from ..symbolic.sizes import Size
from ..symbolic.storage import Storage, View
from ..symbolic.tracer import Tracer
from .elementwise import copied
from .operands import (
    NO_VALUE,
    broadcast_shapes,
    check_dtype,
    fits_into,
    is_bool,
    operand_of,
    shape_text,
    sizes_within,
    to_value,
)


def as_array(tracer: Tracer, a: Any) -> SymArray:
    operand = operand_of(tracer, a)
    if isinstance(operand, SymArray):
        return operand
    return SymArray.fresh(tracer, to_value(tracer, operand), is_scalar=False)


def as_size(value: Any) -> Size:
    return value.tracer.fixed_if_small(value.size) if isinstance(value, SymInt) else size_of(value)


def as_shape(shape: Any) -> tuple[Size, ...]:
    """A shape as NumPy takes it, in which True is no 1."""
    parts = shape if isinstance(shape, (tuple, list)) else (shape,)
    for part in parts:
        if is_bool(part):
            raise TypeError("an integer is required")
    if isinstance(shape, (int, np.integer, SymInt)):
        return (as_size(shape),)
    return tuple(as_size(extent) for extent in shape)


def reshape_value(tracer: Tracer, value: Value, shape: Sequence[Size]) -> Value:
    return tracer.add("reshape", (value,), {}, value.dtype, shape)


def _resolved(tracer: Tracer, shape: Sequence[Size]) -> tuple[Size, ...]:
    return tuple(tracer.resolve(size) for size in shape)


def _without_ones(shape: Sequence[Size]) -> list[Size]:
    return [size for size in shape if not (size.is_constant and size.constant_part == 1)]


def refuse_order(tracer: Tracer, name: str, order: Any) -> None:
    if order not in ("C", None):
        raise tracer.error(f"np.{name}(order={described(order)})", "only C order has a rule", 'Use order="C".')


@rule(np.reshape)
def reshape(
    tracer: Tracer, a: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None
) -> Any:
    array = as_array(tracer, a)
    if order != "F":
        refuse_order(tracer, "reshape", order)
    old = _resolved(tracer, array.sizes)
    wanted = [tracer.resolve(size) for size in as_shape(newshape if shape is None else shape)]
    total = tracer.total(old)
    unknown = [k for k, size in enumerate(wanted) if tracer.value_of(size) < 0]
    message = f"cannot reshape array of size {tracer.value_of(total)} into shape {shape_text(tracer, wanted)}"
    if len(unknown) > 1:
        raise ValueError("can only specify one unknown dimension")
    if unknown:
        known = tracer.total([size for k, size in enumerate(wanted) if k != unknown[0]])
        told = not tracer.is_of_data(total) and not tracer.is_of_data(known)
        if told and (tracer.value_of(known) == 0 or tracer.value_of(total) % tracer.value_of(known)):
            raise ValueError(message)
        tracer.require("!=", known, 0, "cannot reshape an array of this size", ValueError)
        known = tracer.resolve(known)
        tracer.require(
            "==", tracer.resolve(total).remainder(known), 0, "cannot reshape an array of this size", ValueError
        )
        wanted[unknown[0]] = tracer.resolve(total).floor_divide(tracer.resolve(known))
    else:
        new_total = tracer.total(wanted)
        if not tracer.is_of_data(total - new_total) and tracer.value_of(new_total) != tracer.value_of(total):
            raise ValueError(message)
        tracer.unify(total, new_total, "cannot reshape an array of this size")
    shape_now = _resolved(tracer, wanted)
    if order == "F" and not array.is_scalar:
        # The same elements of what is seen the other way round.
        result = transpose(tracer, reshaped(tracer, transpose(tracer, array), shape_now[::-1]))
    else:
        result = reshaped(tracer, array, shape_now)
    if copy:
        return SymArray(tracer, Storage(copied(tracer, result.read()), c_order=order != "F"))
    return result


def reshaped(tracer: Tracer, array: SymArray, shape: tuple[Size, ...]) -> SymArray:
    """A view where NumPy makes one for certain, else one that refuses to be told from a copy."""
    old = _resolved(tracer, array.sizes)
    if array.is_scalar:  # whose method gives a scalar where the shape is one's
        return SymArray.fresh(tracer, reshape_value(tracer, array.read(), shape), is_scalar=not shape)
    certain = _without_ones(old) == _without_ones(shape) or array.is_c_contiguous()
    return array.seen_as(View("reshape", {}, shape, uncertain=not certain))


def in_c_order(tracer: Tracer, array: SymArray) -> SymArray:
    """The array itself where it is C-contiguous, else a copy that is.

    As long as nobody can tell them apart, one stands for both, and no guard is needed."""
    if array.is_scalar:
        return SymArray(tracer, Storage(array.read(), c_order=True))
    if array.is_c_contiguous():
        return array
    owner = array.storage.argument
    if owner is not None and owner.name in tracer.layouts and not array.chain:
        return SymArray(tracer, Storage(copied(tracer, array.read()), c_order=True))
    return array.seen_as(View("reshape", {}, _resolved(tracer, array.sizes), uncertain=True))


def _lies_in_c_order(tracer: Tracer, array: SymArray) -> bool:
    """Whether orders A and K are C's, in every call of the program: of one axis, and where memory has the elements so."""
    if array.ndim <= 1:
        return True
    if not array.is_c_contiguous() and not array.is_scalar:
        tracer.need_layout(array.storage.argument)
    return array.is_c_contiguous()


@rule(np.ravel)
def ravel(tracer: Tracer, a: Any, order: str = "C") -> Any:
    array = as_array(tracer, a)
    if order == "F":
        array = transpose(tracer, array)
    elif order not in ("A", "K") or not _lies_in_c_order(tracer, array):
        refuse_order(tracer, "ravel", order)
    array = in_c_order(tracer, array)
    # Always a new array: a view of what is contiguous, of all else a copy.
    return array.seen_as(View("reshape", {}, (tracer.total(array.sizes),)))


@provides
def flatten(tracer: Tracer, a: Any, order: str = "C") -> Any:
    array = as_array(tracer, a)
    if order == "F":
        array = transpose(tracer, array)
    elif order not in ("A", "K") or not _lies_in_c_order(tracer, array):
        refuse_order(tracer, "flatten", order)
    value = reshape_value(tracer, array.read(), (tracer.total(array.sizes),))
    return SymArray(tracer, Storage(copied(tracer, value), c_order=True))


def normalize_axis(axis: Any, rank: int) -> int:
    return normalize_axis_index(axis.__index__(), rank)


@rule(np.transpose, np.permute_dims)
def transpose(tracer: Tracer, a: Any, axes: Any = None) -> Any:
    array = as_array(tracer, a)
    rank = array.ndim
    if axes is None:
        order = list(reversed(range(rank)))
    else:
        if len(axes) != rank:
            raise ValueError("axes don't match array")
        order = [normalize_axis(axis, rank) for axis in axes]
        if len(set(order)) != rank:
            raise ValueError("repeated axis in transpose")
    if array.is_scalar:
        return array
    return array.seen_as(View("transpose", {"axes": order}, tuple(array.sizes[k] for k in order)))


@rule(np.swapaxes)
def swapaxes(tracer: Tracer, a: Any, axis1: Any, axis2: Any) -> Any:
    array = as_array(tracer, a)
    order = list(range(array.ndim))
    i, j = normalize_axis(axis1, array.ndim), normalize_axis(axis2, array.ndim)
    order[i], order[j] = order[j], order[i]
    return transpose(tracer, array, order)


@rule(np.matrix_transpose)
def matrix_transpose(tracer: Tracer, x: Any, /) -> Any:
    return swapaxes(tracer, x, -1, -2)


@rule(np.moveaxis)
def moveaxis(tracer: Tracer, a: Any, source: Any, destination: Any) -> Any:
    array = as_array(tracer, a)
    sources = normalize_axis_tuple(source, array.ndim, "source")
    targets = normalize_axis_tuple(destination, array.ndim, "destination")
    if len(sources) != len(targets):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [k for k in range(array.ndim) if k not in sources]
    for target, source_axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, source_axis)
    return transpose(tracer, array, order)


@rule(np.rollaxis)
def rollaxis(tracer: Tracer, a: Any, axis: Any, start: Any = 0) -> Any:
    array = as_array(tracer, a)
    k = normalize_axis(axis, array.ndim)
    start = start + array.ndim if start < 0 else start
    target = start - 1 if k < start else start
    order = [i for i in range(array.ndim) if i != k]
    order.insert(target, k)
    return transpose(tracer, array, order)


def index_view(tracer: Tracer, array: SymArray, items: list[Any], shape: Sequence[Size]) -> SymArray:
    if array.is_scalar:
        value = tracer.add("index", (array.read(),), {"index": items}, array.dtype, shape)
        return SymArray.fresh(tracer, value, is_scalar=False)
    return array.seen_as(View("index", {"index": items}, tuple(shape)))


def written_out(keys: Sequence[Any], rank: int, whole: Any = slice(None), mask: Any = None) -> tuple[Any, ...]:
    """The parts of a key with `whole` for each axis that the Ellipsis stands for; `mask` takes as many as it has."""
    used = sum(
        mask.ndim if mask is not None and part is mask else 1
        for part in keys
        if part is not None and part is not Ellipsis
    )
    if used > rank:
        raise IndexError(f"too many indices for array: array is {rank}-dimensional, but {used} were indexed")
    places = [k for k, part in enumerate(keys) if part is Ellipsis]
    if len(places) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    at = places[0] if places else len(keys)
    return (*keys[:at], *[whole] * (rank - used), *keys[at + 1 :])


def with_new_axes(sizes: Sequence[Size], new: Collection[int]) -> tuple[list[Any], list[Size]]:
    """The items of an index that puts axes of extent 1 at these places, and the shape of what it gives."""
    old, rank = iter(sizes), len(sizes) + len(new)
    items = [NEWAXIS if k in new else WHOLE for k in range(rank)]
    return items, [Size.constant(1) if k in new else next(old) for k in range(rank)]


@rule(np.expand_dims)
def expand_dims(tracer: Tracer, a: Any, axis: Any) -> Any:
    array = as_array(tracer, a)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    new = normalize_axis_tuple(axes, array.ndim + len(axes))
    return index_view(tracer, array, *with_new_axes(array.sizes, new))


@rule(np.squeeze)
def squeeze(tracer: Tracer, a: Any, axis: Any = None) -> Any:
    array = as_array(tracer, a)
    if axis is None:
        dropped = {k for k, size in enumerate(array.sizes) if tracer.decide("==", size, 1)}
    else:
        axes = axis if isinstance(axis, tuple) else (axis,)
        dropped = {normalize_axis(k, array.ndim) for k in axes}
        for k in dropped:
            message = "cannot select an axis to squeeze out which has size not equal to one"
            tracer.require("==", array.sizes[k], 1, message, ValueError)
    if not dropped:
        return array
    items = [Size.constant(0) if k in dropped else WHOLE for k in range(array.ndim)]
    return index_view(tracer, array, items, [size for k, size in enumerate(array.sizes) if k not in dropped])


@rule(np.broadcast_to)
def broadcast_to(tracer: Tracer, array: Any, shape: Any, subok: bool = False) -> Any:
    source = as_array(tracer, array)
    wanted = as_shape(shape)
    if not fits_into(tracer, source.sizes, wanted):
        raise ValueError("input operand has more dimensions than allowed by the axis remapping"
                         if source.ndim > len(wanted) else "operands could not be broadcast together with remapped shapes")  # fmt: skip
    return _seen_in(tracer, source, _resolved(tracer, wanted))


@rule(np.broadcast_shapes)
def shape_of_shapes(tracer: Tracer, *shapes: Any) -> Any:
    sizes = broadcast_shapes(tracer, [as_shape(shape) for shape in shapes])
    return tuple(int_of(tracer, n) for n in sizes)


@rule(np.broadcast_arrays)
def broadcast_arrays(tracer: Tracer, *arrays: Any, subok: bool = False) -> Any:
    sources = [as_array(tracer, a) for a in arrays]
    shape = broadcast_shapes(tracer, [a.sizes for a in sources])
    if all(len(a.sizes) == len(shape) and _resolved(tracer, a.sizes) == shape for a in sources):
        return tuple(sources)
    return tuple(_seen_in(tracer, a, shape, warns=True) for a in sources)


def _seen_in(tracer: Tracer, array: SymArray, shape: tuple[Size, ...], *, warns: bool = False) -> SymArray:
    if (cut := sizes_within(tracer, array.sizes, shape)) is not None:
        array = index_view(tracer, array, [WHOLE] * len(cut), cut)
    return array.seen_as(View("broadcast_to", {}, shape, warns=warns))


def at_least(rank: int, tracer: Tracer, *arrays: Any) -> Any:
    results = []
    for a in arrays:
        array = as_array(tracer, a)
        axes = {(3, 2): (2,), (3, 1): (0, 2)}.get((rank, array.ndim), tuple(range(rank - array.ndim)))
        results.append(expand_dims(tracer, array, axes) if axes else array)
    return results[0] if len(results) == 1 else tuple(results)


rule(np.atleast_1d)(partial(at_least, 1))
rule(np.atleast_2d)(partial(at_least, 2))
rule(np.atleast_3d)(partial(at_least, 3))


def normalize_axes(axis: Any, rank: int) -> list[int]:
    """The axes that are meant, ascending; None is all of them."""
    if axis is None or axis is NO_VALUE:
        return list(range(rank))
    axes = axis if isinstance(axis, tuple) else (axis,)
    found = []
    for a in axes:
        if is_bool(a):
            raise TypeError("an integer is required")
        found.append(normalize_axis(a, rank))
    if len(set(found)) != len(found):
        raise ValueError("duplicate value in 'axis'")
    return sorted(found)


@rule(np.flip)
def flip(tracer: Tracer, m: Any, axis: Any = None) -> Any:
    array = as_array(tracer, m)
    axes = normalize_axes(axis, array.ndim)
    return array[tuple(slice(None, None, -1) if k in axes else slice(None) for k in range(array.ndim))]


@rule(np.copy)
def copy(tracer: Tracer, a: Any, order: str = "K", subok: bool = False) -> Any:
    array = as_array(tracer, a)
    return SymArray(tracer, Storage(copied(tracer, array.read())), is_scalar=False)


def _attribute(name: str, tracer: Tracer, a: Any) -> Any:
    return getattr(as_array(tracer, a), name)


rule(np.shape)(partial(_attribute, "shape"))
rule(np.ndim)(partial(_attribute, "ndim"))


@rule(np.size)
def size(tracer: Tracer, a: Any, axis: Any = None) -> Any:
    array = as_array(tracer, a)
    return array.size if axis is None else array.shape[axis]


@rule(np.astype)
def astype(
    tracer: Tracer, a: Any, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True,
    copy: bool = True, device: Any = None,
) -> Any:  # fmt: skip
    array = as_array(tracer, a)
    target = check_dtype(tracer, dtype)
    if not np.can_cast(array.dtype, target, casting):  # type: ignore[arg-type]
        raise TypeError(f"Cannot cast array data from {array.dtype!r} to {target!r} according to the rule '{casting}'")
    if target == array.dtype and not copy:
        if order == "C":
            return in_c_order(tracer, array)
        if order == "K" or array.is_scalar:
            return array
        refuse_order(tracer, "astype", order)
    tracer.warn_of_cast(array.dtype, target)
    value = array.read()
    return SymArray(
        tracer,
        Storage(tracer.add("cast", (value,), {}, target, value.shape, "astype")),
        is_scalar=array.is_scalar,
    )
