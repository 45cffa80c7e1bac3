"""What the stages of a call hold: copies of arrays, lists of their items, numbers of a kind that data decide."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..symbolic.arrays import SymArray
from ..symbolic.graph import INT64, Value
from ..symbolic.stages import (
    Raw,
    Stage,
    call_of,
)
from ..symbolic.tracer import Tracer
from .handed_to_stages import handed
from .operands import operand_of, to_value


def held_copy(tracer: Tracer, array: SymArray) -> Value:
    """The number under which a copy of an array is held, to be returned: its size is not known before the call. What a
    mask has picked out is such a copy."""
    held = f"r{len(tracer.stages) + 1}"
    value = array.read()
    if value.operation == "call" and (own := _picked_out(tracer, value.attributes["callee"])):
        source = f"lambda held, opened: (hold(held, {held!r}, held[{own!r}]), {held[1:]})[1]"
        return tracer.call(Stage(f"{own} as {held}", source), value.operands, INT64, ())
    operands: list[Value] = []
    stage = call_of("numpy.array", np.array, [handed(tracer, array, operands)], {}, len(operands), held)
    return tracer.call(stage, operands, INT64, ())


def held_items(tracer: Tracer, array: SymArray, *, as_python: bool, rows_are_lists: bool) -> Value:
    """The number under which a list of an array's items is held, of Python's numbers or as NumPy has them."""
    if as_python:
        operands: list[Value] = []
        given = [handed(tracer, array, operands)]
        held = f"r{len(tracer.stages) + 1}"
        stage = call_of("numpy.ndarray.tolist", np.ndarray.tolist, given, {}, len(operands), held)
        return tracer.call(stage, operands, INT64, ())
    copy = held_copy(tracer, array)  # whose memory nobody else has
    (kept,) = [one for one in tracer.stages if one == copy.attributes["callee"]]
    source, held = kept.rpartition(" as ")[2], f"r{len(tracer.stages) + 1}"
    items = Raw(f"held[{source!r}]", source)
    if rows_are_lists:
        items = Raw(f"map(list, {items.source})", f"map(list, {source})")
    stage = call_of("builtins.list", list, [items], {}, 1, held)
    return tracer.call(stage, [copy], INT64, ())


def _picked_out(tracer: Tracer, text: str) -> str:
    """What the elements that a mask picks out are held under, of a stage that gives them as they are; else ""."""
    held = next((one for one in tracer.stages if one.endswith(f" as {text}")), "")
    return text if held and tracer.stages[held].callee is np.ndarray.__getitem__ else ""


def of_its_kind(tracer: Tracer, value: Any, after: Value | None = None) -> Value:
    """The number of the stage that holds what Python has for a number, the kind of which the data decide. `after`: what it
    follows in the order of the program."""
    held = f"r{len(tracer.stages) + 1}"
    number = to_value(tracer, operand_of(tracer, value.of_one_kind()))
    stage = Stage(
        f"kind($0, $1) as {held}",
        f"lambda held, a0, a1, *after: (hold(held, {held!r}, (bool, int, float, a0.dtype.type)[int(a1)](a0)), {held[1:]})[1]",
    )
    return tracer.call(stage, [number, value.which, *([] if after is None else [after])], INT64, ())
