"""Elementwise operations of what a boolean mask picks out: on the whole arrays, under the mask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import TraceError
from ..symbolic.arrays import SymArray
from ..symbolic.compressed import Compressed
from ..symbolic.graph import NEWAXIS, WHOLE
from ..symbolic.number import Symbolic
from ..symbolic.refusals import OperandError
from ..symbolic.registry import OPERATIONS
from ..symbolic.sizes import Size
from ..symbolic.storage import View
from ..symbolic.tracer import Tracer
from .operands import chosen, is_one, operand_of

# Functions that take a slow way for all elements of a vector where one of them is special (0, infinite, huge), and a number that is not.
_USUAL = {f"np.{name}": 1.0 for name in ("arcsin", "arccos", "arctan2", "cos", "exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "power",
                                         "float_power", "sin", "tan", "cosh", "sinh", "hypot")}  # fmt: skip


def elementwise(tracer: Tracer, what: str, inputs: Sequence[Any], apply: Callable[[list[Any]], Any]) -> Any:
    """An elementwise operation where some operands are under a mask: on the whole arrays, if that is one mask; else on
    what the masks pick out, as arrays of their own."""
    before = tracer.made
    try:
        return _on_the_whole(tracer, what, inputs, apply)
    except TraceError as refusal:
        if isinstance(refusal, OperandError):
            raise  # NumPy refuses it too
        tracer.undone.append(range(before, tracer.made))
        return apply([OPERATIONS.array_of_selected(x) if isinstance(x, Compressed) else x for x in inputs])


def _on_the_whole(tracer: Tracer, what: str, inputs: Sequence[Any], apply: Callable[[list[Any]], Any]) -> Any:
    first = next(x for x in inputs if isinstance(x, Compressed))
    whole: list[Any] = []
    for x in inputs:
        if isinstance(x, Compressed):
            if not x.is_under_mask_of(first) or x.behind != first.behind:
                raise tracer.error(
                    f"{what} of elements under two masks",
                    "which element meets which depends on the masks",
                    "Use one mask, or np.where.",
                )
            whole.append(_with_usual(x, _USUAL.get(what)))
        else:
            whole.append(_beside(first, x, what))
    result = apply(whole)
    if isinstance(result, tuple):
        return tuple(_under_mask_of(first, part) for part in result)
    return _under_mask_of(first, result)


def _under_mask_of(selection: Compressed, result: SymArray) -> Compressed:
    """Other operands may have axes in front of those that the selection has."""
    at = result.ndim - selection.mask_rank - selection.behind
    return Compressed(selection.tracer, result, selection.mask, at)


def _with_usual(selection: Compressed, usual: float | None) -> SymArray:
    """The whole, with a number in place of what is left out, where that could be slow to compute with."""
    value = selection.whole.read()
    axes = len(selection.mask.shape) + selection.behind + selection.at
    if usual is None or value.dtype.kind != "f" or len(value.shape) != axes:
        return selection.whole
    return SymArray.fresh(selection.tracer, chosen(selection.tracer, value, selection.truth(), usual))


def _beside(selection: Compressed, x: Any, what: str) -> Any:
    """A number or an array that does not move along the axis that a mask makes, as it broadcasts to the whole."""
    tracer = selection.tracer
    if not x.sizes if isinstance(x, SymArray) else isinstance(x, Symbolic) or np.ndim(x) == 0:
        return x
    array = operand_of(tracer, x)
    moves_at = array.ndim - 1 - selection.behind
    if moves_at >= 0 and not is_one(tracer, array.sizes[moves_at]):
        raise tracer.error(
            f"{what} of elements under a mask and a whole array",
            "which element meets which depends on the mask",
            "Take the array under the mask too (y[mask]).",
        )
    if moves_at < 0 or selection.mask_rank == 1:
        return array
    items = [WHOLE] * array.ndim
    more = selection.mask_rank - 1
    sizes = (*array.sizes[:moves_at], *[Size.constant(1)] * more, *array.sizes[moves_at:])
    view = View("index", {"index": [*items[:moves_at], *[NEWAXIS] * more, *items[moves_at:]]}, sizes)
    return array.seen_as(view)
