"""How many floating-point operations a call does at least: what its speed is compared with, beside its bytes.

They are counted on the program, so that every schedule and every library stage is measured by the same number: 2mnk for
a matrix product, whoever computes it. What may not run (branches, loops that the data end) counts nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from .operations import ELEMENTARY, with_trait
from .program import Block, Operation, Program, evaluate, split_sizes

_ONE = with_trait("one_flop")
# Fewer than any formula of theirs that gives the last digits; hypot's may be that of two squares and a root.
_ELEMENTARY = 10
_ELEMENTARIES = (ELEMENTARY - {"hypot"}) | {"power"}
_OF_OPERAND = {"sum", "prod"}


def flops_of(program: Program, sizes: Mapping[str, int]) -> dict[str, float]:
    """Operations by width, those of matrix products apart; a multiply-add is two."""
    found = dict.fromkeys(("float32", "float64", "float32_products", "float64_products"), 0.0)
    _add(found, program.body, 1.0, {array.name: array.shape for array in program.arrays}, dict(sizes))
    return found


def _add(
    found: dict[str, float], block: Block, times: float, shapes: dict[str, tuple[str, ...]], sizes: dict[str, int]
) -> None:
    """Those of a block that runs so often."""
    shapes |= {parameter.name: parameter.shape for parameter in block.parameters}
    for operation in block.operations:
        shapes |= {value.name: value.shape for value in operation.results}
        if operation.name == "for" and (iterations := _iterations(operation, sizes)):
            _add(found, operation.regions[0], times * iterations, shapes, sizes)
        if operation.regions or operation.name == "read":
            continue
        value = operation.results[0]
        element = np.dtype(value.dtype)
        parts = 2 if element.kind == "c" else 1
        width = element.type(0).real.dtype.name
        if width in found:
            operands = [shapes.get(operand, ()) for operand in operation.operands]
            count = _count(operation.name, value.shape, operands, sizes)
            kind = f"{width}_products" if operation.name == "matmul" else width
            # A product of complex numbers is four of real ones, anything else of them at least two operations.
            found[kind] += times * count * (parts * parts if operation.name == "matmul" else parts)


def _count(operation: str, shape: tuple[str, ...], operands: list[tuple[str, ...]], sizes: Mapping[str, int]) -> float:
    """Of one value, multiply and add counted each."""
    try:
        if operation == "matmul" and operands:
            return 2.0 * _elements(shape, sizes) * evaluate(operands[0][-1], sizes)
        if operation in _OF_OPERAND and operands:
            return max(0.0, _elements(operands[0], sizes) - _elements(shape, sizes))
        if operation in _ONE:
            return _elements(shape, sizes)
        if operation in _ELEMENTARIES:
            return _ELEMENTARY * _elements(shape, sizes)
    except (KeyError, IndexError, ValueError, ZeroDivisionError):
        pass  # a size that only the data know: nothing is claimed
    return 0.0


def _elements(shape: tuple[str, ...], sizes: Mapping[str, int]) -> float:
    return float(math.prod(max(0, evaluate(extent, sizes)) for extent in shape))


def _iterations(loop: Operation, sizes: dict[str, int]) -> int:
    """How often a loop runs at least. Its index becomes its middle value, so that sizes that grow with it are counted
    right in the sum."""
    try:
        start, stop, step = (evaluate(limit, sizes) for limit in split_sizes(loop.attributes["range"]))
        iterations = len(range(start, stop, step))
    except (KeyError, ValueError, ZeroDivisionError):
        return 0
    sizes[loop.attributes["variable"]] = start + step * max(0, iterations - 1) // 2
    return iterations
