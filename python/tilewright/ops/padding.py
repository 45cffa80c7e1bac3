"""np.pad with what reads it: an element at an end is one of the array's, whose place loops alone decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..symbolic.arrays import SymArray
from ..symbolic.from_data import gather
from ..symbolic.graph import INT64, Value
from ..symbolic.located import LEAVE_IT_OUT
from ..symbolic.registry import rule
from ..symbolic.scalars import SymInt
from ..symbolic.sizes import Size
from ..symbolic.tracer import Tracer
from .operands import listed
from .shapes import as_array

_WIDEST = 2**20  # elements; int32 counts places around an axis


def _pairs(pad_width: Any, rank: int) -> list[tuple[int, int]] | None:
    """What is added before and behind each axis; None where that is no matter of integers alone."""
    given = listed(pad_width)
    if type(given) is dict:
        pairs: list[Any] = [(0, 0)] * rank
        for axis, width in given.items():
            if type(axis) is not int or not -rank <= axis < rank:
                return None
            pairs[axis] = width if type(width) is tuple else (width, width)
            if len(pairs[axis]) != 2 or not all(type(one) is int for one in pairs[axis]):  # noqa: PLR2004
                return None  # NumPy takes no others here
        given = pairs
    rows = list(given) if type(given) in (tuple, list) else [given]
    if not all(_is_width(one) for row in rows for one in (row if type(row) in (tuple, list) else [row])):
        return None
    try:
        widths = np.array(rows)
        if widths.size == 2 and widths.shape != (2, 1):
            widths = widths.ravel()
        both = np.broadcast_to(widths, (rank, 2)).tolist()
    except ValueError:
        return None
    return [(before, behind) for before, behind in both]


def _is_width(width: Any) -> bool:
    return isinstance(width, (int, np.integer)) and type(width) is not bool and 0 <= int(width) <= _WIDEST


def _values(dtype: np.dtype[Any], rank: int, constant_values: Any) -> list[tuple[Any, Any]] | None:
    """What stands before and behind each axis, as NumPy itself casts it; None where that is not known or no numbers."""
    try:
        seen = np.pad(np.zeros((1,) * rank, dtype), 1, constant_values=np.array(constant_values))
    except Exception:  # noqa: BLE001 - NumPy's own, which the stage raises at its place
        return None
    found = []
    for axis in range(rank):
        at = [1] * rank
        at[axis] = 0
        before = seen[tuple(at)]
        at[axis] = 2
        found.append((before, seen[tuple(at)]))
    return found


class _Places:
    """The places of a padded axis, counted from the first element of the array: before it they are negative."""

    def __init__(self, tracer: Tracer, size: Size, before: int, behind: int) -> None:
        self.tracer, self.before = tracer, before
        self.shape = (tracer.resolve(size + (before + behind)),)
        self.own = self.counted(self.shape)
        self.extent, self.last = (SymInt(tracer, tracer.resolve(one)).as_value() for one in (size, size - 1))

    def _made(self, operation: str, operands: Sequence[Value | int], shape: tuple[Size, ...]) -> Value:
        values = [self.tracer.constant(one) if isinstance(one, int) else one for one in operands]
        made = self.tracer.add(operation, values, {}, INT64, shape)
        made.call_name = ""  # computed where it is read, however often
        return made

    def counted(self, shape: tuple[Size, ...]) -> Value:
        """Along the first axis of that shape."""
        at = self.tracer.add("iota", (), {"axis": 0}, INT64, shape)
        return self._made("subtract", (at, self.before), shape)

    def of(self, operation: str, left: Value | int, right: Value | int) -> Value:
        return self._made(operation, (left, right), self.shape)

    def inside(self, place: Value) -> Value:
        return self.of("minimum", self.of("maximum", place, 0), self.last)

    def turned(self, before: Value, beyond: Value) -> Value:
        """Other places before and beyond the array (translator/stages/positions.cpp knows this form)."""
        is_before, is_beyond = self.tracer.truth("less", self.own, 0), self.tracer.truth("greater", self.own, self.last)
        within = self._made("where", (is_beyond, self.inside(beyond), self.inside(self.own)), self.shape)
        return self._made("where", (is_before, self.inside(before), within), self.shape)


def _edge(places: _Places) -> Value:
    return places.inside(places.own)


def _reflect(places: _Places) -> Value:
    own, last = places.own, places.last
    return places.turned(places.of("subtract", 0, own), places.of("subtract", last, places.of("subtract", own, last)))


def _symmetric(places: _Places) -> Value:
    behind = places.of("subtract", places.own, places.extent)
    return places.turned(places.of("subtract", -1, places.own), places.of("subtract", places.last, behind))


def _wrap(places: _Places) -> Value:
    own, extent = places.own, places.extent
    return places.turned(places.of("add", own, extent), places.of("subtract", own, extent))


# By mode: where an element comes from, and how many elements the axis must have for so many on either side.
_MODES: dict[str, tuple[Callable[[_Places], Value], Callable[[int], int]]] = {
    "constant": (_edge, lambda _: 1),
    "edge": (_edge, lambda _: 1),
    "reflect": (_reflect, lambda width: width + 1),
    "symmetric": (_symmetric, lambda width: width),
    "wrap": (_wrap, lambda width: width),
}
_OPTIONS = {"constant": "constant_values", "reflect": "reflect_type", "symmetric": "reflect_type"}


def _padded(array: SymArray, axis: int, pair: tuple[int, int], mode: str, values: tuple[Any, Any] | None) -> SymArray:
    """`values`: what stands before and behind, where that is none of its elements."""
    tracer = array.tracer
    places = _Places(tracer, array.sizes[axis], *pair)
    found = gather(array, _MODES[mode][0](places), axis, is_inside=True)
    if values is None:
        return found
    value = found.read()
    column = (*places.shape, *(Size.constant(1),) * (array.ndim - 1 - axis))
    own = places.counted(column)
    for beyond, end, number, width in (("less", 0, values[0], pair[0]), ("greater", places.last, values[1], pair[1])):
        if width:
            chosen = (tracer.truth(beyond, own, end), tracer.constant(number, array.dtype), value)
            value = tracer.add("where", chosen, {}, array.dtype, value.shape)
    return SymArray.fresh(tracer, value, is_scalar=False, c_order=True)


@rule(np.pad)
def pad(tracer: Tracer, array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """In one piece with what reads it: as stores it would be one for each side of each axis."""
    own = as_array(tracer, array)
    pairs = _pairs(pad_width, own.ndim)
    known = type(mode) is str and mode in _MODES and not set(kwargs) - {_OPTIONS.get(mode)}
    known = known and kwargs.get("reflect_type", "even") in ("even", None)
    numbers: Sequence[tuple[Any, Any] | None] | None = [None] * own.ndim
    if known and own.ndim and mode == "constant":
        numbers = _values(own.dtype, own.ndim, kwargs.get("constant_values", 0))
    if not known or not own.ndim or pairs is None or numbers is None or not any(map(any, pairs)):
        raise tracer.error(
            "np.pad()",
            "kernels know integers as widths, and the modes constant, edge, reflect (even), symmetric (even), wrap",
            LEAVE_IT_OUT,
        )
    for axis, pair in enumerate(pairs):
        enough, size = _MODES[mode][1](max(pair)), own.sizes[axis]
        if any(pair) and (tracer.is_of_data(size) or not tracer.decide_if_same_in_all_iterations(">=", size, enough)):
            raise tracer.error(
                f"np.pad(mode={mode!r})", f"kernels add to axes of {enough} elements at least here", LEAVE_IT_OUT
            )
    result = own
    with tracer.composite("pad"):
        for axis, (pair, values) in enumerate(zip(pairs, numbers, strict=True)):
            if any(pair):
                result = _padded(result, axis, pair, mode, values)
    made = result.read()
    made.user_name = made.user_name or "pad"  # rows of it may be kept
    result.storage.c_order = own.keeps_order_of_axes()
    return result
