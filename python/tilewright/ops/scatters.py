"""Writes to positions that arrays say (`a[rows, columns] = v`, `np.add.at`): a loop of the program, element by element.

A stage has NumPy write into a copy of the whole array, and threads that write other elements of it lose theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import TraceError
from ..symbolic.arrays import SymArray
from ..symbolic.from_data import check_positions
from ..symbolic.graph import Value
from ..symbolic.located import LEAVE_IT_OUT
from ..symbolic.registry import OPERATIONS, provides, rule
from ..symbolic.scalars import SymInt
from ..symbolic.sizes import Size
from ..symbolic.stages import ON_DEVICE
from ..symbolic.tracer import Tracer
from .as_loops import checked_before, followed
from .indexing import lists_as_arrays
from .operands import BOOL, check_stored, operand_of, shape_of, to_value, weak_type
from .shapes import as_array

_MOST_POSITIONS = 3
_MOST_IN_KERNELS = 4096  # positions: a stage's call takes as long as adding so many one by one


def _written_1(a: Any, values: Any, axes: Any, i: Any) -> None:
    k = len(axes)
    for n in range(i.shape[0]):
        a[(*axes, checked_before(i[n], a.shape[k]))] = values[(*axes, n)]


def _written_2(a: Any, values: Any, axes: Any, i: Any, j: Any) -> None:
    k = len(axes)
    for n in range(i.shape[0]):
        at = checked_before(i[n], a.shape[k]), checked_before(j[n], a.shape[k + 1])
        a[(*axes, *at)] = values[(*axes, n)]


def _written_3(a: Any, values: Any, axes: Any, i: Any, j: Any, k: Any) -> None:
    first = len(axes)
    for n in range(i.shape[0]):
        at = checked_before(i[n], a.shape[first]), checked_before(j[n], a.shape[first + 1])
        a[(*axes, *at, checked_before(k[n], a.shape[first + 2]))] = values[(*axes, n)]


_WRITTEN = (_written_1, _written_2, _written_3)


def _changed_1(ufunc: np.ufunc, a: Any, values: Any, i: Any) -> None:
    for n in range(i.shape[0]):
        at = checked_before(i[n], a.shape[0])
        a[at] = ufunc(a[at], values[n])


def _changed_2(ufunc: np.ufunc, a: Any, values: Any, i: Any, j: Any) -> None:
    for n in range(i.shape[0]):
        at = checked_before(i[n], a.shape[0]), checked_before(j[n], a.shape[1])
        a[at] = ufunc(a[at], values[n])


_CHANGED = (_changed_1, _changed_2)


def _under_mask(a: Any, mask: Any, values: Any) -> None:
    k = 0
    for n in range(a.shape[0]):
        if mask[n]:
            a[n] = values[checked_before(k, values.shape[0])]
            k += 1


@provides
def scattered(array: SymArray, key: tuple[Any, ...], value: Any) -> bool:
    """The last one of several values for one element stays, as in NumPy. What the values are made of was read before."""
    tracer = array.tracer
    if tracer.follow is None or tracer.checked is None or (len(tracer.blocks) == 1 and tracer.untaken is ON_DEVICE):
        return False
    begun = tracer.made
    try:
        if _written_in_turn(tracer, array, key, value):
            return True
        found = _one_by_one(tracer, array, key, value)
        if found is None:
            return False
        values, axes, positions = found
        array.begin_write()
        followed(tracer, "__setitem__", _WRITTEN[len(positions) - 1], array, values, axes, *positions)
    except (TraceError, ValueError, IndexError, OverflowError):
        tracer.undone.append(range(begun, tracer.made))
        return False
    return True


def _written_in_turn(tracer: Tracer, array: SymArray, key: Sequence[Any], value: Any) -> bool:
    """A vector's elements under a mask, of as many values."""
    if len(key) != 1 or array.ndim != 1 or getattr(key[0], "dtype", None) != BOOL or len(tracer.blocks) > 1:
        return False
    values = as_array(tracer, value)
    mask = _as_it_is(tracer, as_array(tracer, key[0]).read())
    if values.ndim != 1 or mask.ndim != 1:
        return False
    if not tracer.is_of_data(values.sizes[0]) and tracer.decide("<=", values.sizes[0], 1):
        return False  # one value may be for all of them
    tracer.match(array.sizes[0], mask.sizes[0], "boolean index did not match indexed array", exception=IndexError)
    held = _as_it_is(tracer, to_value(tracer, values, array.dtype))
    count: Any = np.count_nonzero(mask)
    tracer.check((count == held.shape[0]).read(), "as many values as the mask picks out")
    array.begin_write()
    followed(tracer, "__setitem__", _under_mask, array, mask, held)
    return True


def changed_at(tracer: Tracer, ufunc: np.ufunc, array: Any, key: Any, other: Any) -> bool:
    """ufunc.at(array, key, other): whether a loop of the program is it. Of an argument, parts of which others may write, of few
    positions, and in loops: a stage is handed copies. Else memory of the function's own is a stage's, for which there is a twin
    of all threads."""
    if tracer.follow is None or tracer.checked is None or tracer.untaken is ON_DEVICE or ufunc.nin != 2:
        return False
    if not any("d" in types for types in ufunc.types):
        return False  # of integers alone: their operands are rarely of one dtype, as an int beside int32 is not
    if not isinstance(array, SymArray) or array.is_scalar:
        return False
    begun = tracer.made
    try:
        held = as_array(tracer, other)
        key = lists_as_arrays(key)
        sizes = [size for part in (key if isinstance(key, tuple) else (key,)) for size in getattr(part, "sizes", ())]
        is_large = any(tracer.value_of(size) > _MOST_IN_KERNELS for size in sizes) and len(tracer.blocks) == 1
        of_data = any(map(tracer.is_of_data, sizes))
        if (array.storage.argument is None and (is_large or of_data)) or (of_data and len(sizes) > 1):
            return False  # nobody knows that two sizes from data are equal
        loop = ufunc.resolve_dtypes((array.dtype, held.dtype, None))
        if held.dtype != array.dtype or loop != (array.dtype,) * 3:
            return False
        found = _one_by_one(tracer, array, key if isinstance(key, tuple) else (key,), held)
        if found is None or found[1] or len(found[2]) > len(_CHANGED):
            return False
        values, _, positions = found
        followed(tracer, f"{ufunc.__name__}.at", _CHANGED[len(positions) - 1], ufunc, array, values, *positions)
    except (TraceError, ValueError, IndexError, TypeError):
        tracer.undone.append(range(begun, tracer.made))
        return False
    return True


def _refuse_other_kinds(tracer: Tracer, name: str, array: Any, value: Any) -> None:
    """Where NumPy casts as these functions do and an assignment does not."""
    is_array = isinstance(array, SymArray) and not array.is_scalar
    operand = operand_of(tracer, value)
    if weak_type(operand) in (int, float) and is_array and array.dtype.kind == "f":
        return
    dtype = getattr(operand, "dtype", None)
    if not is_array or dtype is None or not np.can_cast(dtype, array.dtype, "safe"):
        raise tracer.error(f"np.{name}()", "no kernel casts as it does", LEAVE_IT_OUT)


@rule(np.put, np.ndarray.put)
def put(tracer: Tracer, a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Of a vector: a[ind] = v."""
    _refuse_other_kinds(tracer, "put", a, v)
    positions, values = as_array(tracer, ind).reshape(-1), as_array(tracer, v)
    is_one = all(size == Size.constant(1) for size in values.sizes)
    if a.ndim != 1 or mode != "raise" or positions.dtype.kind not in "iu":
        raise tracer.error("np.put()", "kernels put what lies in a vector", LEAVE_IT_OUT)
    if not is_one and not tracer.decide("==", tracer.total(values.sizes), tracer.total(positions.sizes)):
        raise tracer.error("np.put()", "no kernel repeats the values", LEAVE_IT_OUT)
    OPERATIONS.set_item(a, positions, values.reshape(() if is_one else (-1,)))


@rule(np.putmask)
def putmask(tracer: Tracer, a: Any, /, mask: Any, values: Any) -> None:
    """Of one value, or one for each element: np.copyto under the mask."""
    _refuse_other_kinds(tracer, "putmask", a, values)
    for given in (mask, values) if shape_of(operand_of(tracer, values)) else (mask,):
        sizes = shape_of(operand_of(tracer, given))
        if len(sizes) != a.ndim or not all(tracer.decide("==", m, n) for m, n in zip(sizes, a.sizes, strict=True)):
            raise tracer.error("np.putmask()", "no kernel repeats the values", LEAVE_IT_OUT)
    np.copyto(a, values, where=as_array(tracer, mask).astype(bool))


def _on_diagonal(a: Any, value: Any) -> None:
    for n in range(min(a.shape)):
        a[n, n] = value


@rule(np.fill_diagonal)
def fill_diagonal(tracer: Tracer, a: Any, val: Any, wrap: bool = False) -> None:
    _refuse_other_kinds(tracer, "fill_diagonal", a, val)
    if a.ndim != 2 or wrap or shape_of(operand_of(tracer, val)) or tracer.untaken is ON_DEVICE:
        raise tracer.error("np.fill_diagonal()", "kernels fill that of a matrix, with a number", LEAVE_IT_OUT)
    a.begin_write()
    followed(tracer, "fill_diagonal", _on_diagonal, a, val)


def _one_by_one(
    tracer: Tracer, array: SymArray, key: Sequence[Any], value: Any
) -> tuple[SymArray, tuple[slice, ...], list[SymArray]] | None:
    """(values, axes, positions): array[axes, positions[n]] = values[axes, n] for each n; None where the key has other things.
    The program checks the positions."""
    at = [k for k, part in enumerate(key) if not isinstance(part, slice)]
    if not at or len(at) > _MOST_POSITIONS or at != list(range(at[0], at[-1] + 1)) or at[-1] >= array.ndim:
        return None
    if any(part != slice(None) for part in key if isinstance(part, slice)):
        return None
    if not all(_is_of_positions(key[k]) for k in at) or value is None or isinstance(value, (list, tuple)):
        return None
    # What the loop writes must not show in what is written, nor in where.
    given = [_as_it_is(tracer, as_array(tracer, key[k]).read()) for k in at]
    for k, index in zip(at, given, strict=True):
        check_positions(index, tracer.resolve(array.sizes[k]), k)
    positions: Any = np.broadcast_arrays(*given)
    shape: list[Any] = [SymInt(tracer, size) for size in shape_of(positions[0])]
    ahead, behind = array.shape[: at[0]], array.shape[at[-1] + 1 :]
    operand = operand_of(tracer, value, any_kind=True)
    check_stored(tracer, operand, array.dtype)
    held: Any = _as_it_is(tracer, to_value(tracer, operand, array.dtype))
    if held.ndim > len(ahead) + len(shape) + len(behind):
        return None
    flat = [one.reshape(-1) for one in positions]
    values: Any = np.broadcast_to(held, (*ahead, *shape, *behind)).reshape((*ahead, flat[0].shape[0], *behind))
    return values, (slice(None),) * len(ahead), flat


def _as_it_is(tracer: Tracer, value: Value) -> SymArray:
    return SymArray.fresh(tracer, value, is_scalar=False)


def _is_of_positions(part: Any) -> bool:
    if isinstance(part, (bool, np.bool_)):
        return False
    if isinstance(part, list):
        return bool(part) and all(isinstance(one, (int, SymInt)) and not isinstance(one, bool) for one in part)
    dtype = getattr(part, "dtype", None)
    return isinstance(part, (int, SymInt)) or (dtype is not None and dtype.kind in "iu")
