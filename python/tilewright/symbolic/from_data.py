"""Sizes, positions and truths that only the running function knows.

What Python would raise for them is one truth of the program, its `check`: where it does not hold, nothing was written yet
and NumPy runs the call, and raises. Up to there the program computes with positions that are clamped into the array.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import SymArray
from .graph import BOOL, INT64, Value
from .run_numbers import RunScalar
from .scalars import SymInt
from .sizes import Size
from .symbols import LoopIndex
from .tracer import Tracer

MOST_ELEMENTS = 2**31 - 1  # of more, a size that a program reads does not fit: NumPy runs the call
_LONG_TABLE, _SHORT_INT = 2**16, 2  # elements, bytes
_OF_SHORT, _DEEPEST = frozenset(("bitwise_and", "bitwise_or", "bitwise_xor", "remainder", "cast")), 50
_HINT = 3  # stands for a size that the recorded call does not tell


def is_run_int(part: Any) -> bool:
    """Whether it is one integer that only the running function knows."""
    if isinstance(part, RunScalar):
        return type(part.hint) is int
    return isinstance(part, SymArray) and not part.sizes and part.dtype.kind in "iu"


def value_of_int(tracer: Tracer, part: Any) -> Value:
    """An integer of the run as an int64 value."""
    if isinstance(part, SymInt):
        return part.as_value()
    if isinstance(part, SymArray):
        value = part.read()
        if value.dtype == np.uint64:
            tracer.check(tracer.truth("less", value, 2**61), "an integer out of bounds")
        return tracer.cast(value, INT64)
    if isinstance(part, RunScalar):
        return part.value
    return tracer.constant(int(part))


def size_from_data(tracer: Tracer, value: Value, name: str, least: Size | None, most: Size | None) -> Size:
    """An int64 value as a symbol of sizes and positions; equal values give the same symbol."""
    known: dict[Any, tuple[str, Value]] = tracer.cache.setdefault("sizes of data", {})
    key = (tracer.alike(value), least, most)
    if key in known and tracer.is_visible(known[key][1]):
        return Size.symbol(known[key][0])
    index = tracer.new_data_symbol(name, LoopIndex(least, most, 1), _HINT)
    (symbol,) = index.symbols()
    attributes: dict[str, Any] = {"symbol": symbol}
    if least is not None and most is not None and most != Size.constant(MOST_ELEMENTS):  # memory is made for the most
        attributes.update(min=least, max=most)
    known[key] = (symbol, tracer.add("read", (value,), attributes, INT64, ()))
    tracer.reads[symbol] = known[key][1]
    return index


def position(tracer: Tracer, part: Any, extent: Size, axis: int) -> Size:
    """Where an integer of the run points in an axis, with NumPy's meaning of negative ones."""
    return inside_position(tracer, _checked(tracer, value_of_int(tracer, part), extent, axis), extent)


def inside_position(tracer: Tracer, value: Value, extent: Size) -> Size:
    """Where an int64 value that was checked points in an axis, from its end where it is negative."""
    return clamped_position(tracer, _wrap(tracer, value, _size(tracer, extent)), extent)


def clamped_position(tracer: Tracer, value: Value, extent: Size) -> Size:
    """The place in an axis that is nearest to an int64 value."""
    clamped = _binary(tracer, "maximum", _binary(tracer, "minimum", value, _size(tracer, extent - 1)), 0)
    last = tracer.resolve(extent) - 1
    # Data may make the axis an empty one, in which the first place stands for none.
    most = last.maximum(Size.constant(0)) if tracer.is_of_data(extent) else last
    return size_from_data(tracer, clamped, "k", Size.constant(0), most)


def data_slice(tracer: Tracer, part: slice, extent: Size, step: int) -> tuple[Size, int, Size]:
    """(start, step, extent) of a slice with run-time limits: it clamps, and never raises."""
    if step < 1:
        raise tracer.error("a backward slice with run-time limits", "there is no rule for it",
                           "Take the slice forwards, and reverse it ([::-1]).")  # fmt: skip
    length = _size(tracer, extent)

    def value_of(bound: Any) -> Value:
        if isinstance(bound, RunScalar) and type(bound.hint) is bool:
            return tracer.cast(bound.value, INT64)
        if isinstance(bound, SymArray) and not bound.is_scalar and not is_run_int(bound):
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        if isinstance(bound, (SymArray, RunScalar)) and not is_run_int(bound):
            raise TypeError("slice indices must be integers or None or have an __index__ method")
        return value_of_int(tracer, bound)

    def limit(bound: Any, default: Value) -> Value:
        if bound is None:
            return default
        value = value_of(bound)
        below = _binary(tracer, "minimum", _wrap(tracer, value, length), length)
        return below if _is_unsigned(tracer, value) else _binary(tracer, "maximum", below, 0)

    first, last = limit(part.start, tracer.constant(0)), limit(part.stop, length)
    long = _binary(tracer, "maximum", _binary(tracer, "subtract", last, first), 0)
    start = size_from_data(tracer, first, "start", Size.constant(0), extent)
    count = size_from_data(tracer, long, "count", Size.constant(0), extent)
    limits = tuple(None if bound is None else tracer.alike(value_of(bound)) for bound in (part.start, part.stop))
    tracer.slices.setdefault(str(count), (limits, extent, start, count))
    return start, step, (count + (step - 1)).floor_divide(Size.constant(step))


def inside(index: SymArray, extent: Size, axis: int) -> SymArray:
    """Positions in an axis: each is checked, and wrapped where it is negative."""
    tracer = index.tracer
    extent = tracer.resolve(extent)
    value = check_positions(index, extent, axis)
    wrapped = _wrap(tracer, value, _size(tracer, extent))
    return SymArray.fresh(tracer, wrapped, is_scalar=False)


def check_positions(index: SymArray, extent: Size, axis: int) -> Value:
    """Positions as int64; the program checks that they point into an axis."""
    return _checked(index.tracer, index.read(), extent, axis)


def _checked(tracer: Tracer, index: Value, extent: Size, axis: int) -> Value:
    """`index` as int64; the program checks that it points into the axis."""
    tracer.require(">=", extent, 1, f"index is out of bounds for axis {axis} with size 0", IndexError)
    if _always_points_into(tracer, index, extent):
        return tracer.cast(index, INT64)
    message = f"an index out of bounds for axis {axis}"
    whole = _argument_of(tracer, index)
    index = tracer.cast(index, INT64)
    if whole is not None and len(tracer.blocks) > 1:
        symbols = {symbol for size in (extent, *whole.shape) for symbol in tracer.resolve(size).symbols()}
        if symbols.isdisjoint(tracer.loops):
            # All of the indices at once: then the iterations of a loop do not hang on each other.
            with tracer.before_all_regions():
                tracer.check(_all_in_bounds(tracer, tracer.cast(whole, INT64), extent), message)
            return index
    tracer.check(_all_in_bounds(tracer, index, extent), message)
    return index


def _always_points_into(tracer: Tracer, index: Value, extent: Size) -> bool:
    """Whether no index of such values can be out of bounds: a uint8 in a table of 256. A guard keeps the axis that long."""
    limits = _limits_of(tracer, index)
    if limits is None or not tracer.sizes_decide or tracer.is_of_data(extent):
        return False
    most = max(limits[1] + 1, -limits[0])
    if not tracer.loops.keys().isdisjoint(extent.symbols()) or tracer.value_of(tracer.resolve(extent)) < most:
        return False
    return tracer.decide(">=", extent, most)


def _limits_of(tracer: Tracer, value: Value, depth: int = 0) -> tuple[int, int] | None:
    """Between which numbers integers lie by their dtype, or by the operations that made them; None where that is too wide."""
    if value.dtype.kind not in "iu":
        return None
    known: dict[int, tuple[int, int] | None] = tracer.cache.setdefault("limits of values", {})
    if value.number not in known:
        parts: list[tuple[int, int] | None] = []
        if value.operation in _OF_SHORT and depth < _DEEPEST:
            parts = [_limits_of(tracer, one, depth + 1) for one in value.operands]
        known[value.number] = _limits_by(value, parts)
    return known[value.number]


def _limits_by(value: Value, parts: list[tuple[int, int] | None]) -> tuple[int, int] | None:
    """The limits, from those of the operands."""
    operation = value.operation
    most = [one[1] for one in parts if one is not None and one[0] >= 0]
    if operation == "const":
        number = int(value.attributes["value"])
        return (number, number) if 0 <= number <= _LONG_TABLE else None
    if operation == "bitwise_and" and most:
        return 0, min(most)
    if operation == "remainder" and parts and parts[1] is not None and parts[1][0] > 0:
        return 0, parts[1][1] - 1
    if operation == "cast" and parts and value.dtype == INT64:
        return parts[0]
    if operation in ("bitwise_or", "bitwise_xor") and parts and len(most) == len(parts):
        return 0, (1 << max(most).bit_length()) - 1
    if value.dtype.itemsize > _SHORT_INT:
        return None
    return int(np.iinfo(value.dtype).min), int(np.iinfo(value.dtype).max)


def _argument_of(tracer: Tracer, index: Value) -> Value | None:
    """The argument that `index` is a part of; the loops around must not write into it (settling.py checks that)."""
    taken: set[int] = set()
    while True:
        if index.operation in ("index", "cast", "transpose"):
            index = index.operands[0]
        elif index.operation == "parameter" and "initial" in index.attributes:
            if index.attributes["storage"] in tracer.known_to_change:
                return None
            taken.add(index.number)
            index = index.attributes["initial"]
        else:
            break
    if index.operation != "argument" or index.dtype.kind not in "iu":
        return None
    tracer.taken_for_unchanged |= taken
    return index


def gather(array: SymArray, index: Value, axis: int, is_inside: bool = False) -> SymArray:
    """array[..., index, ...]: a copy."""
    tracer = array.tracer
    if not is_inside:
        index = _checked(tracer, index, tracer.resolve(array.sizes[axis]), axis)
    shape = (*array.sizes[:axis], *index.shape, *array.sizes[axis + 1 :])
    value = tracer.add("take", (array.read(), index), {"axis": axis}, array.dtype, shape)
    return SymArray.fresh(tracer, value, is_scalar=False, c_order=True)


def _size(tracer: Tracer, size: Size) -> Value:
    return SymInt(tracer, tracer.resolve(size)).as_value()


def _binary(tracer: Tracer, operation: str, left: Value, right: Value | int) -> Value:
    other = tracer.constant(right) if isinstance(right, int) else right
    return tracer.add(operation, (left, other), {}, INT64, left.shape)


def _all_in_bounds(tracer: Tracer, value: Value, extent: Size) -> Value:
    length = _size(tracer, extent)
    inside = tracer.truth("less", value, length)
    if not _is_unsigned(tracer, value):
        from_start = tracer.truth("greater_equal", value, tracer.add("negative", (length,), {}, INT64, ()))
        inside = tracer.add("logical_and", (from_start, inside), {}, BOOL, value.shape)
    axes = list(range(len(inside.shape)))
    return tracer.add("all", (inside,), {"axes": axes}, BOOL, ()) if axes else inside


def _is_unsigned(tracer: Tracer, value: Value) -> bool:
    """Whether it is no negative number for certain. What uint64 has beyond int64 becomes one."""
    if (limits := _limits_of(tracer, value)) is not None and limits[0] >= 0:
        return True
    return value.operation == "cast" and value.operands[0].dtype.kind in "ub" and value.operands[0].dtype.itemsize < 8


def _wrap(tracer: Tracer, value: Value, length: Value) -> Value:
    if _is_unsigned(tracer, value):
        return value
    negative = tracer.truth("less", value, 0)
    return tracer.add("where", (negative, _binary(tracer, "add", value, length), value), {}, INT64, value.shape)
