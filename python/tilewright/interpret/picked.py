"""An item of a list, a tuple or a dict of Python's at a place that only the run knows: of numbers, of tuples of them, or of arrays
of one shape, which an array holds then."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..kinds_of_values import LARGEST_INT
from ..ops import call_numpy
from ..ops.operands import to_value
from ..ops.python_numbers import number_of_the_run
from ..symbolic.arrays import SymArray, root_of
from ..symbolic.graph import Value
from ..symbolic.known import is_known
from ..symbolic.run_numbers import RunScalar
from ..symbolic.scalars import SymInt
from ..symbolic.trace_limits import MAX_UNROLLED_ITERATIONS
from .array_lists import form_of

if TYPE_CHECKING:
    from ..symbolic.tracer import Tracer


Use = Literal["", "read", "unpacked"]
# Attributes of arrays that show nobody their memory.
READING = frozenset([
    "all", "any", "argmax", "argmin", "copy", "dot", "max", "mean", "min", "ndim", "shape", "size", "std", "sum", "var",
])  # fmt: skip
_MOST_COPIED = 4096  # elements of arrays that a loop puts into one to pick one of them


def picked(tracer: Tracer, held: Any, key: Any, use: Use) -> Any:
    """NotImplemented where Python's own container gives the item, or an error. `use`: what is done with the item where nobody
    keeps it; it may be a list then, or an array if it is only read."""
    if type(held) not in (list, tuple, dict) or not _is_of_the_run(key) or tracer.checked is None:
        return NotImplemented
    items = list(held.values()) if type(held) is dict else list(held)
    if not 0 < len(items) <= MAX_UNROLLED_ITERATIONS or not _can_be_picked(tracer, items, use):
        return NotImplemented
    if type(held) is dict:
        keys = list(held)
        if any(type(one) is not int or abs(one) > LARGEST_INT for one in keys):
            return NotImplemented
        is_there = call_numpy(tracer, np.equal, (np.array(keys), key.of_one_kind() if key.kinds else key), {})
        found = call_numpy(tracer, np.any, (is_there,), {})
        tracer.check(to_value(tracer, found), "a key that a dict has not")
        key = call_numpy(tracer, np.argmax, (is_there,), {})
    return _item(tracer, items, key)


def _is_of_the_run(key: Any) -> bool:
    if isinstance(key, RunScalar):
        return key.is_int and not is_known(key.tracer, key.value)
    is_integer = isinstance(key, SymArray) and key.is_scalar and key.dtype.kind in "iu"
    return is_integer and not is_known(key.tracer, key.read())


def _can_be_picked(tracer: Tracer, items: Sequence[Any], use: Use) -> bool:
    kinds = {type(one) for one in items}
    if kinds == {tuple} or (kinds == {list} and use):
        return len({len(one) for one in items}) == 1 and all(
            _can_be_picked(tracer, column, use) for column in zip(*items, strict=True)
        )
    forms = [form_of(tracer, one) for one in items]
    if any(form is None or form.row == "list" or form.kind == "either" for form in forms):
        return False
    if len({(form.dtype, form.kind, tuple(map(tracer.value_of, form.shape))) for form in forms if form}) > 1:
        return False
    if forms[0] is not None and forms[0].row and (use != "read" or not _may_be_copied(tracer, items)):
        return False
    return not any(type(one) is int and abs(one) > LARGEST_INT for one in items)


def _may_be_copied(tracer: Tracer, items: Sequence[SymArray]) -> bool:
    """Whether it is once that an array of them all is made, or so small a one that calls of NumPy take longer."""
    if all(_is_from_before(tracer, one) for one in items):
        return True
    return len(items) * math.prod(map(tracer.value_of, items[0].sizes)) <= _MOST_COPIED


def _is_from_before(tracer: Tracer, item: Any) -> bool:
    """Whether it is there before the loops and branches that are being traced, which do not change it."""
    if isinstance(item, SymInt):
        return tracer.are_known_before_regions(tracer.resolve(item.size).symbols())
    if not isinstance(item, (SymArray, RunScalar)):
        return True
    if _first_of(item).home is not tracer.blocks[0]:
        return False
    views = item.chain if isinstance(item, SymArray) else ()
    return all(tracer.are_known_before_regions(view.symbols()) for view in views)


def _first_of(item: SymArray | RunScalar) -> Value:
    """What it is before the loops and branches that are being traced, where they do not change it."""
    return root_of(item.tracer, item.storage.value) if isinstance(item, SymArray) else item.value


def _item(tracer: Tracer, items: Sequence[Any], key: Any) -> Any:
    if type(items[0]) in (tuple, list):
        return type(items[0])(_item(tracer, column, key) for column in zip(*items, strict=True))
    form = form_of(tracer, items[0])
    assert form is not None
    if all(_is_from_before(tracer, one) for one in items):
        with tracer.before_all_regions():
            array = call_numpy(tracer, np.array, ([_before(one) for one in items],), {})
    else:
        array = call_numpy(tracer, np.array, (list(items),), {})
    item = array[key.of_one_kind() if key.kinds else key]
    if isinstance(form.kind, type):
        return number_of_the_run(tracer, form.kind, item)
    if form.row:  # who writes into it would write into one of them
        item.storage.chosen_from = tuple((one.storage, one.storage.value) for one in items)
    return item


def _before(item: Any) -> Any:
    if not isinstance(item, SymArray):
        return item
    first = SymArray.fresh(item.tracer, _first_of(item), is_scalar=False)
    return SymArray(item.tracer, first.storage, item.chain, item.is_scalar)
