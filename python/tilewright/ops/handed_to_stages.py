"""What stages are handed of a call's arguments: operands for what is symbolic, and all else as it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..light_dataclass import dataclass
from ..symbolic.arrays import SymArray
from ..symbolic.graph import INT64, Value
from ..symbolic.number import Symbolic, refuse_kinds
from ..symbolic.scalars import SymInt, SymScalar
from ..symbolic.stages import (
    HandedAsList,
    HandedAsRange,
    Listed,
    Operand,
    Ranged,
    Raw,
    call_of,
)
from ..symbolic.trace_limits import MOST_STAGE_OPERANDS
from ..symbolic.tracer import Tracer
from .operands import known_key, operand_of, to_value
from .strides_seen import shows_an_argument


@dataclass(frozen=True)
class Copied:
    """An argument that the callee writes: it is handed a copy, and what is in that then is the result."""

    array: SymArray


def is_in_memory(value: Any) -> bool:
    return isinstance(value, SymArray) and not value.is_scalar


def _lies_in_c(array: SymArray) -> bool:
    return is_in_memory(array) and array.is_c_contiguous()


def handed(tracer: Tracer, value: Any, operands: list[Value], once: dict[int, Any] | None = None) -> Any:
    """An argument of the call, in which what is symbolic has become operands. `once`: those of arrays that may be handed
    twice as one object, by their identity."""
    if type(value) in (list, tuple):
        return type(value)(handed(tracer, one, operands, once) for one in value)
    if type(value) is dict:
        return {known_key(key): handed(tracer, one, operands, once) for key, one in value.items()}
    if type(value) is slice:
        return slice(*(handed(tracer, one, operands, once) for one in (value.start, value.stop, value.step)))
    if isinstance(value, HandedAsList):
        return Listed(tuple(handed(tracer, one, operands) for one in value.columns), value.has_tuples)
    if isinstance(value, HandedAsRange):
        return Ranged(tuple(handed(tracer, one, operands) for one in (value.start, value.stop, value.step)))
    if type(value) is np.ndarray:
        value = operand_of(tracer, value)
    if isinstance(value, Copied):
        array = handed(tracer, value.array, operands)
        return Operand(array.position, array.kind, is_written=True)
    if not isinstance(value, Symbolic):
        return value
    if once is not None and id(value) in once:
        return once[id(value)]
    held, kind = _value_of(tracer, value)
    if once is not None and not held.shape and is_in_memory(value):
        kind = "numpy.asarray"  # operands of no dimensions are NumPy's numbers
    elif once is not None and isinstance(value, SymArray) and _lies_in_c(value) and shows_an_argument(held):
        kind = "numpy.ascontiguousarray"  # programs make no copy of what nobody writes
    first = len(operands)
    if held.dtype.kind != "c":
        operands.append(held)
        made = Operand(first, kind)
        if once is not None and is_in_memory(value):
            once[id(value)] = made
        return made
    half = np.dtype(f"f{held.dtype.itemsize // 2}")
    operands.extend(tracer.add(part, (held,), {}, half, held.shape) for part in ("real", "imag"))
    return Operand(first, "complex" if kind == "complex" else "joined")


def with_fewer_operands(
    tracer: Tracer, given: list[Any], named: dict[str, Any], operands: list[Value]
) -> tuple[list[Any], dict[str, Any], list[Value]]:
    """The same arguments, where other stages have put Python's numbers among them into lists that are held; if there are
    too many still, copies of arrays too."""
    found = dict.fromkeys(_operands_in((given, named)))
    numbers = [one for one in found if one.kind in ("int", "float", "bool")]
    arrays = [one for one in found if one.kind == "array" and not one.is_written]
    lists = -(-len(numbers) // MOST_STAGE_OPERANDS)
    moved = [numbers, arrays] if len(operands) - len(numbers) + lists > MOST_STAGE_OPERANDS - 2 else [numbers]
    fewer: list[Value] = []
    instead: dict[Operand, Any] = {}
    chunks = (many[k : k + MOST_STAGE_OPERANDS] for many in moved for k in range(0, len(many), MOST_STAGE_OPERANDS))
    for chunk in chunks:
        # The memory of an array may be another one's behind the stage: the list has copies.
        listed = [Operand(k, "numpy.array" if one.kind == "array" else one.kind) for k, one in enumerate(chunk)]
        held = f"r{len(tracer.stages) + 1}"
        stage = call_of("builtins.list", list, [listed], {}, len(chunk), held)
        fewer.append(tracer.call(stage, [operands[one.position] for one in chunk], INT64, ()))
        instead |= {one: Raw(f"held[{held!r}][{k}]", f"{held}[{k}]") for k, one in enumerate(chunk)}
    while len(fewer) > MOST_STAGE_OPERANDS // 2:  # what follows the lists may follow one stage behind them
        made, fewer = fewer[:MOST_STAGE_OPERANDS], fewer[MOST_STAGE_OPERANDS:]
        behind = call_of("builtins.max", max, [Operand(k) for k in range(len(made))], {}, len(made))
        fewer.append(tracer.call(behind, made, INT64, ()))
    for one in _operands_in((given, named)):
        if one not in instead:
            instead[one] = replace(one, position=len(fewer))
            fewer += operands[one.position : one.position + 1 + (one.kind in ("joined", "complex"))]

    def with_those(value: Any) -> Any:
        if isinstance(value, Operand):
            return instead[value]
        if isinstance(value, Listed):
            return replace(value, columns=tuple(map(with_those, value.columns)))
        if isinstance(value, Ranged):
            return replace(value, limits=tuple(map(with_those, value.limits)))
        if type(value) in (list, tuple):
            return type(value)(map(with_those, value))
        if type(value) is slice:
            return slice(*map(with_those, (value.start, value.stop, value.step)))
        return {key: with_those(one) for key, one in value.items()} if type(value) is dict else value

    return with_those(given), with_those(named), fewer


def _operands_in(value: Any) -> Iterator[Operand]:
    if isinstance(value, Operand):
        yield value
    value = value.columns if isinstance(value, Listed) else value.limits if isinstance(value, Ranged) else value
    parts = value.values() if type(value) is dict else value if type(value) in (list, tuple) else ()
    parts = (value.start, value.stop, value.step) if type(value) is slice else parts
    for part in parts:
        yield from _operands_in(part)


def _value_of(tracer: Tracer, value: Any) -> tuple[Value, str]:
    """The value of something symbolic, and what it is handed as."""
    refuse_kinds(value, "handing it to a call that Python makes")
    if isinstance(value, SymInt):
        return value.as_value(), "int"
    if isinstance(value, SymScalar):
        return value.value, type(value.hint).__name__
    return to_value(tracer, operand_of(tracer, value)), "array"
