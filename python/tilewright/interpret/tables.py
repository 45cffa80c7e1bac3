"""Python's own lists, tuples, dicts and sets of numbers, indexed by, asked for or compared with numbers of the run: their
numbers lie in arrays."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kinds_of_values import LARGEST_INT
from ..light_dataclass import dataclass
from ..ops import call_numpy
from ..ops.operands import operand_of, to_value
from ..ops.python_numbers import number_of_the_run
from ..symbolic.arrays import SymArray
from ..symbolic.graph import BOOL, INT64, Value
from ..symbolic.number import Symbolic
from ..symbolic.run_numbers import RunBool, RunScalar
from ..symbolic.scalars import SymInt, SymScalar
from . import numbers_of_run

if TYPE_CHECKING:
    from ..symbolic.tracer import Tracer

_MOST = 4096  # items, and numbers between the least and the largest key
_MOST_SIZES = 16  # among numbers that a number of the run is compared with
_PLAIN = (bool, int, float)


@dataclass
class _Column:
    """Numbers of one kind: Python's `kind`, or None for NumPy's."""

    array: SymArray
    kind: type | None
    limits: tuple[int, int] | None  # of ints that are known

    def item(self, tracer: Tracer, position: Any) -> Any:
        element = self.array[position]
        if self.kind is int and self.limits is not None:
            return RunScalar(tracer, element.read(), int, *self.limits)
        return element if self.kind is None else number_of_the_run(tracer, self.kind, element)


@dataclass
class _Table:
    columns: list[_Column]
    has_tuples: bool

    def item(self, tracer: Tracer, position: Any) -> Any:
        made = tuple(column.item(tracer, position) for column in self.columns)
        return made if self.has_tuples else made[0]


def is_of_the_run(key: Any) -> bool:
    """Whether it is a whole number that only the run knows, or a tuple of whole numbers with such a one in it."""
    if type(key) is tuple:
        return any(map(_is_one_of_the_run, key)) and all(_is_one_of_the_run(one) or _is_whole(one) for one in key)
    return _is_one_of_the_run(key)


def _is_one_of_the_run(key: Any) -> bool:
    if isinstance(key, SymArray):
        return key.is_scalar and key.dtype.kind == "i"
    return isinstance(key, RunScalar) and type(key.hint) is int and not key.kinds


def _is_whole(number: Any) -> bool:
    return type(number) in (int, SymInt) or isinstance(number, np.signedinteger)


def item_of(tracer: Tracer, held: Any, key: Any) -> Any:
    """held[key], of a list, a tuple or a dict; NotImplemented where no array holds such items."""
    if type(held) not in (list, tuple, dict) or not is_of_the_run(key) or tracer.checked is None:
        return NotImplemented
    table = _table_of(tracer, held, list(held.values()) if type(held) is dict else held)
    if table is None:
        return NotImplemented
    if type(held) is not dict:
        return NotImplemented if type(key) is tuple else table.item(tracer, _scalar(tracer, key))
    found = _place_of(tracer, held, key)
    if found is None:
        return NotImplemented
    place, is_there = found
    tracer.check(is_there, "a key that a dict has not")
    return table.item(tracer, place)


def has_key(tracer: Tracer, held: Any, key: Any) -> Any:
    """`key in held`, of a dict, a set, a list or a tuple of whole numbers, or of tuples of such."""
    if not is_of_the_run(key) or tracer.checked is None or type(held) not in (dict, set, frozenset, list, tuple):
        return NotImplemented
    if not held:
        return RunBool(tracer, tracer.constant(False, BOOL))
    if found := _place_of(tracer, held, key):
        return RunBool(tracer, found[1])
    are_whole = type(key) is not tuple and all(type(one) in (int, SymInt) for one in held)
    column = _column(tracer, list(held)) if 0 < len(held) <= _MOST_SIZES and are_whole else None
    if column is None:
        return NotImplemented
    same = call_numpy(tracer, np.equal, (column.array, _scalar(tracer, key)), {})
    return RunBool(tracer, to_value(tracer, call_numpy(tracer, np.any, (same,), {})))


def get_of(tracer: Tracer, held: Any, args: Sequence[Any]) -> Any:
    """held.get(key, default), of a dict of numbers."""
    if type(held) is not dict or len(args) != 2 or not is_of_the_run(args[0]) or tracer.checked is None:
        return NotImplemented
    key, default = args
    table, found = _table_of(tracer, held, list(held.values())), _place_of(tracer, held, key)
    if table is None or found is None or table.has_tuples or table.columns[0].kind is not type(default):
        return NotImplemented
    (column,) = table.columns
    item = column.array[found[0]].read()
    value = tracer.add("where", (found[1], item, tracer.constant(default, item.dtype)), {}, item.dtype, ())
    return number_of_the_run(tracer, type(default), SymArray.fresh(tracer, value, is_scalar=True))


def _table_of(tracer: Tracer, held: Any, items: Sequence[Any]) -> _Table | None:
    known = tracer.cache.setdefault("tables", {})
    was, seen, table = known.get(id(held), (None, [], None))
    if was is not held or len(seen) != len(items) or any(a is not b for a, b in zip(seen, items, strict=True)):
        table = _made(tracer, items)
        known[id(held)] = held, list(items), table
    return table  # type: ignore[no-any-return]


def _made(tracer: Tracer, items: Sequence[Any]) -> _Table | None:
    if not 0 < len(items) <= _MOST:
        return None
    has_tuples = all(type(one) is tuple for one in items)
    if has_tuples and not 0 < len({len(one) for one in items} - {0}) == len({len(one) for one in items}) == 1:
        return None
    columns = [_column(tracer, one) for one in (zip(*items, strict=True) if has_tuples else [items])]
    found = [one for one in columns if one is not None]
    return _Table(found, has_tuples) if len(found) == len(columns) else None


def _column(tracer: Tracer, numbers: Sequence[Any]) -> _Column | None:
    kinds = {_kind_of(tracer, one) for one in numbers}
    kind = kinds.pop()
    if kinds or kind is None:
        return None
    if any(isinstance(one, (SymInt, SymScalar)) for one in numbers):
        with tracer.before_all_regions():
            return _Column(operand_of(tracer, list(numbers)), kind, None)
    if kind is int and any(abs(one) > LARGEST_INT for one in numbers):
        return None
    limits = (min(numbers), max(numbers)) if kind is int else None
    return _Column(operand_of(tracer, np.array(numbers)), kind if kind in _PLAIN else None, limits)


def _kind_of(tracer: Tracer, number: Any) -> Any:
    """Python's type of a number, NumPy's dtype; None for all else, and for what is made in the loops around."""
    if type(number) in _PLAIN:
        return type(number)
    if isinstance(number, np.generic) and number.dtype.kind in "bif":
        return number.dtype
    if isinstance(number, SymInt):
        return int if tracer.loops.keys().isdisjoint(tracer.resolve(number.size).symbols()) else None
    if isinstance(number, SymScalar) and not number.kinds and number.value.is_argument:
        return type(number.hint) if type(number.hint) in _PLAIN else None
    return None


def _place_of(tracer: Tracer, held: Collection[Any], key: Any) -> tuple[SymArray, Value] | None:
    """Which of a dict's items has the key, or of a set's, a list's or a tuple's is it, and whether one has or is."""
    width = len(key) if type(key) is tuple else None
    keys = [one if type(one) is tuple else (one,) for one in held if (type(one) is tuple) == (width is not None)]
    if not keys or len(keys) != len(held) or not all(_is_known_key(one, width or 1) for one in keys):
        return None
    numbers = np.array(keys, dtype=object)
    least, most = numbers.min(axis=0).tolist(), numbers.max(axis=0).tolist()
    extents = [last - first + 1 for first, last in zip(least, most, strict=True)]
    if math.prod(extents) > _MOST or max(map(abs, (*least, *most))) > LARGEST_INT:
        return None
    strides = [math.prod(extents[axis + 1 :]) for axis in range(len(extents))]
    places = np.full(math.prod(extents), -1)
    places[((numbers - least) * strides).sum(axis=1).astype(np.int64)] = range(len(keys))
    known = tracer.cache.setdefault("places of keys", {})
    was, array = known.get(id(held), (None, None))
    if was is None or was.tobytes() != places.tobytes():
        array = operand_of(tracer, places)
        known[id(held)] = places, array
    zero = tracer.constant(0)

    def both(one: Value, other: Value) -> Value:
        return tracer.add("logical_and", (one, other), {}, BOOL, ())

    def holds(comparison: str, one: Value, other: Value) -> Value:
        return tracer.add(comparison, (one, other), {}, BOOL, ())

    def whole(operation: str, one: Value, other: Value) -> Value:
        return tracer.add(operation, (one, other), {}, INT64, ())

    is_between, inside = None, zero
    for one, first, last, stride in zip(key if width else (key,), least, most, strides, strict=True):
        value = tracer.cast(_scalar(tracer, one).read(), INT64)
        low, high = tracer.constant(first), tracer.constant(last)
        fits = both(holds("greater_equal", value, low), holds("less_equal", value, high))
        moved = tracer.add("where", (fits, whole("subtract", value, low), zero), {}, INT64, ())
        moved = whole("multiply", moved, tracer.constant(stride)) if stride > 1 else moved
        inside = moved if is_between is None else whole("add", inside, moved)
        is_between = fits if is_between is None else both(is_between, fits)
    if is_between is None:
        return None
    place = array[SymArray.fresh(tracer, inside, is_scalar=True)].read()
    is_there = both(is_between, holds("greater_equal", place, zero))
    return SymArray.fresh(tracer, tracer.add("maximum", (place, zero), {}, INT64, ()), is_scalar=True), is_there


def _is_known_key(key: tuple[Any, ...], width: int) -> bool:
    return len(key) == width and all(type(one) is int or isinstance(one, np.signedinteger) for one in key)


def same_items(tracer: Tracer, left: Any, right: Any) -> Any:
    """`left == right`, of two tuples or two lists with numbers of the run among their items; NotImplemented where Python's
    own comparison is right, or where what is equal would not be known: an item is equal to itself, a NaN too."""
    if (
        type(left) is not type(right)
        or type(left) not in (tuple, list)
        or not (_has_of_run(left) or _has_of_run(right))
    ):
        return NotImplemented
    if len(left) != len(right):
        return False
    truths = []
    for one, other in zip(left, right, strict=True):
        if one is other:
            continue
        same = same_items(tracer, one, other)
        if same is NotImplemented:
            are_numbers = _is_comparable(one) and _is_comparable(other)
            if numbers_of_run.is_of_the_run(one) or numbers_of_run.is_of_the_run(other):
                are_whole = [not _may_be_float(each) for each in (one, other)]
                has_kinds = any(getattr(each, "kinds", None) for each in (one, other))
                known = _is_no_nan(one) or _is_no_nan(other)
                if not are_numbers or not (all(are_whole) if has_kinds else known):
                    return NotImplemented
            elif not are_numbers and any(isinstance(each, Symbolic) for each in (one, other)):
                return NotImplemented
            same = one == other
        if isinstance(same, SymArray):
            truths.append(tracer.cast(same.read(), BOOL))
        elif isinstance(same, RunScalar):
            truths.append(same.value)
        elif type(same) is not bool:
            return NotImplemented
        elif not same:
            return False
    result = tracer.constant(True, BOOL) if not truths else truths[0]
    for truth in truths[1:]:
        result = tracer.add("logical_and", (result, truth), {}, BOOL, ())
    return RunBool(tracer, result) if truths else True


def _has_of_run(items: Sequence[Any]) -> bool:
    return any(_has_of_run(one) if type(one) in (tuple, list) else numbers_of_run.is_of_the_run(one) for one in items)


def _is_comparable(one: Any) -> bool:
    if isinstance(one, SymArray):
        return not one.sizes and one.dtype.kind in "biuf"
    if isinstance(one, SymScalar):
        return type(one.hint) in _PLAIN
    return type(one) in (*_PLAIN, SymInt) or (isinstance(one, np.generic) and one.dtype.kind in "biuf")


def _may_be_float(one: Any) -> bool:
    if isinstance(one, SymArray):
        return bool(one.dtype.kind == "f")
    return type(getattr(one, "hint", one)) is float or isinstance(one, np.floating)


def _is_no_nan(one: Any) -> bool:
    """Whether it is certainly no NaN, of which nobody would know whether both sides hold the very object."""
    return not _may_be_float(one) or (not isinstance(one, Symbolic) and one == one)  # noqa: PLR0124


def _scalar(tracer: Tracer, key: Any) -> SymArray:
    if isinstance(key, SymArray):
        return key
    if isinstance(key, RunScalar):
        return SymArray.fresh(tracer, key.value, is_scalar=True)
    value = key.of_the_run() if isinstance(key, SymInt) else tracer.constant(int(key))
    return SymArray.fresh(tracer, value, is_scalar=True)
