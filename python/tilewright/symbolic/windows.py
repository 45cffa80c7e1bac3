"""Slices from one number of the run to another one that is so much larger in each call: `image[y - r : y + r + 1]`.

How long such a slice is data decide, since arrays end. Where that keeps a loop or a branch from having one form, the slice is taken
to be as long as its limits say, and a call whose array ends before is NumPy's.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from .from_data import is_run_int, size_from_data, value_of_int
from .graph import INT64, Value
from .scalars import SymInt
from .sizes import Size
from .tracer import Tracer

_DEEPEST = 16  # sums in one another


def full_window(tracer: Tracer, start: Any, stop: Any, extent: Size) -> tuple[Size, Size] | None:
    """Where it begins and how long it is; None where it is no such slice, or need not be as long as its limits say."""
    if tracer.full_windows is False or tracer.checked is None or not (is_run_int(start) and is_run_int(stop)):
        return None
    first, last = value_of_int(tracer, start), value_of_int(tracer, stop)
    count = _between(tracer, first, last)
    if count is None or not _is_known(tracer, count) or tracer.value_of(count) <= 0:
        return None
    if not tracer.full_windows:
        tracer.windows.add(tracer.location())
        return None
    latest = tracer.resolve(extent - count)
    if not _is_known(tracer, latest) or tracer.value_of(latest) < 0 or not tracer.decide(">=", latest, 0):
        return None
    tracer.decide(">=", count, 1)
    place = SymInt(tracer, latest).as_value()
    inside = tracer.truth("less_equal", first, place)
    both = tracer.add("logical_and", (tracer.truth("greater_equal", first, 0), inside), {}, inside.dtype, ())
    tracer.check(both, "a slice that is shorter than its limits say")
    clamped = tracer.add("minimum", (first, place), {}, INT64, ())
    clamped = tracer.add("maximum", (clamped, tracer.constant(0)), {}, INT64, ())
    return size_from_data(tracer, clamped, "start", Size.constant(0), latest), tracer.resolve(count)


def _is_known(tracer: Tracer, size: Size) -> bool:
    """Whether it is the same in all iterations and whatever the data are."""
    symbols = tracer.resolve(size).symbols()
    return tracer.loops.keys().isdisjoint(symbols) and tracer.reads.keys().isdisjoint(symbols)


def _between(tracer: Tracer, first: Value, last: Value) -> Size | None:
    """What is added to one to have the other."""
    terms: Counter[int] = Counter()
    total = Size.constant(0)
    pending = [(first, -1, 0), (last, 1, 0)]
    while pending:
        value, sign, depth = pending.pop()
        if value.operation in ("add", "subtract") and value.dtype == INT64 and depth < _DEEPEST:
            left, right = value.operands
            pending += [(left, sign, depth + 1), (right, sign if value.operation == "add" else -sign, depth + 1)]
        elif value.operation == "const":
            total += int(value.attributes["value"]) * sign
        elif value.operation == "scalar_size":
            total += value.attributes["size"] * sign
        elif value.operation == "scalar":
            total += Size.symbol(value.name) * sign
        else:
            terms[tracer.alike(value)] += sign
    return None if any(terms.values()) else tracer.resolve(total)
