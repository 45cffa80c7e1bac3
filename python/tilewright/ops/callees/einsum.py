"""np.einsum: which axis of the operands each axis of the result is."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters
from typing import Any

import numpy as np

from ...light_dataclass import dataclass
from ...symbolic.number import Symbolic
from ..stage_rows import Gives, Like, row
from .dtypes import broadcast, common


@dataclass(frozen=True)
class Subscripts:
    """What an einsum is asked for: names of the axes of each operand and of the result, and how long each axis is."""

    terms: list[list[Any]]
    result: list[Any]
    sizes: dict[Any, Any]


def subscripts_of(operands: Sequence[Any]) -> tuple[Subscripts, list[Like]] | None:
    """None where no operand is traced."""
    has_text = isinstance(operands[0], str)
    values = operands[1:] if has_text else operands[: len(operands) // 2 * 2 : 2]
    tracer = next((value.tracer for value in values if isinstance(value, Symbolic)), None)
    if tracer is None:
        return None
    arrays = [Like(tracer, value) for value in values]
    inputs, arrow, result = (operands[0] if has_text else _text_of(operands)).replace(" ", "").partition("->")
    if not arrow:
        result = "..." * ("..." in inputs) + "".join(x for x in sorted(set(inputs) - set(".,")) if inputs.count(x) == 1)
    sizes: dict[Any, Any] = {}
    terms = [_names(term, a.ndim) for term, a in zip(inputs.split(","), arrays, strict=True)]
    for term, a in zip(terms, arrays, strict=True):
        for name, n in zip(term, a.shape, strict=True):
            sizes[name] = broadcast(tracer, (sizes[name],), (n,))[0] if name in sizes else n
    hidden = [name for name in sizes if type(name) is int]
    wanted = _names(result, len(result.replace("...", "")) + len(hidden)) if "..." in result else list(result)
    return Subscripts(terms, wanted, sizes), arrays


@row(np.einsum)
def _einsum(*operands: Any, optimize: Any = False, dtype: Any = None, order: str = "K", casting: str = "safe") -> Any:
    found = subscripts_of(operands)
    if found is None:
        return None
    asked, arrays = found
    if len(arrays) == 1 and set(asked.result) == set(asked.sizes):
        return None  # a view
    is_array = gives_an_array(operands, asked, optimize)
    if is_array is None:
        return None
    shape = [asked.sizes[name] for name in asked.result]
    return Gives(common(*arrays) if dtype is None else np.dtype(dtype), shape, is_array=is_array)


def gives_an_array(operands: Sequence[Any], asked: Subscripts, optimize: Any) -> bool | None:
    """Whether a result without axes is an array and no number: this NumPy's product of matrices gives that. None where the
    order of the products decides."""
    if asked.result or optimize is False or len(asked.terms) == 1:
        return bool(asked.result)
    if len(asked.terms) > 2 or not isinstance(optimize, (bool, str)):  # noqa: PLR2004
        return None
    lengths = {name: 1 if n == 1 else 2 for name, n in asked.sizes.items()}  # which is a guard
    alike = [np.ones([lengths[name] for name in term]) for term in asked.terms]
    text = operands[0] if isinstance(operands[0], str) else _text_of(operands)
    return isinstance(np.einsum(text, *alike, optimize=optimize), np.ndarray)


def _names(term: str, rank: int) -> list[Any]:
    """Of the axes: letters, and numbers, counted from the last, for those of the ellipsis."""
    before, dots, behind = term.partition("...")
    count = rank - len(before) - len(behind)
    if count < 0 or (count and not dots):
        raise ValueError("einstein sum subscripts string does not fit the operand")
    return [*before, *range(-count, 0), *behind]


def _text_of(operands: Sequence[Any]) -> str:
    """einsum(a, [0, 1], b, [1, 2], [0, 2]) as "ab,bc->ac"."""

    def term(axes: Sequence[Any]) -> str:
        return "".join("..." if axis is Ellipsis else ascii_letters[26:][axis] for axis in axes)

    pairs = len(operands) // 2 * 2
    result = f"->{term(operands[-1])}" if pairs < len(operands) else ""
    return ",".join(map(term, operands[1:pairs:2])) + result
