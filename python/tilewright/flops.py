"""How many floating-point operations a call does at least: what its speed is compared with, beside its bytes.

They are counted on the program, so that every schedule and every library stage is measured by the same number: 2mnk for
a matrix product, whoever computes it. What may not run (branches, loops that the data end) counts nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import numpy as np

from .operations import ELEMENTARY, with_trait
from .program import Program, evaluate, split_sizes

_OPENS = re.compile(r"\{\s*$")
_FOR = re.compile(r"= for (\w+) in range\((.*?)\)(?= carry|\s*\{|,)")
_VALUE = re.compile(r"^(%?\w+): (\w+)\[(.*?)\] = (\w+)\((.*)$")
_TYPED = re.compile(r"(%?\w+): (\w+)\[(.*?)\](?:, | =|\)|$)")

_ONE = with_trait("one_flop")
# Fewer than any formula of theirs that gives the last digits; hypot's may be that of two squares and a root.
_ELEMENTARY = 10
_ELEMENTARIES = (ELEMENTARY - {"hypot"}) | {"power"}
_OF_OPERAND = {"sum", "prod"}


def flops_of(program: Program, sizes: Mapping[str, int]) -> dict[str, float]:
    """Operations by width, those of matrix products apart; a multiply-add is two."""
    found = dict.fromkeys(("float32", "float64", "float32_products", "float64_products"), 0.0)
    types = {argument.name: argument.shape for argument in program.arrays}
    known = dict(sizes)
    iterations = [1.0]  # of each block that is open
    for line in program.text.splitlines():
        text = line.strip()
        while text.startswith("}"):
            if len(iterations) > 1:
                iterations.pop()
            text = text[1:].lstrip()
        opens = _OPENS.search(text) is not None
        if opens:
            iterations.append(iterations[-1] * _iterations(text, known))
            types |= {m[1]: split_sizes(m[3]) for m in _TYPED.finditer(text)}
        elif match := _VALUE.match(text):
            name, dtype, shape, operation = match[1], match[2], split_sizes(match[3]), match[4]
            types[name] = shape
            element = np.dtype(dtype)
            parts = 2 if element.kind == "c" else 1
            width = element.type(0).real.dtype.name
            if width in found and iterations[-1]:
                operands = split_sizes(match[5].partition(")")[0])
                count = _count(operation, shape, [types.get(operand, ()) for operand in operands], known)
                kind = f"{width}_products" if operation == "matmul" else width
                # A product of complex numbers is four of real ones, anything else of them at least two operations.
                found[kind] += iterations[-1] * count * (parts * parts if operation == "matmul" else parts)
    return found


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


def _iterations(opening: str, sizes: dict[str, int]) -> float:
    """How often the block of a line runs at least. The index of a loop becomes its middle value, so that sizes that
    grow with it are counted right in the sum."""
    match = _FOR.search(opening)
    if match is None:
        return 1.0 if "=" not in opening.split("{", maxsplit=1)[0] and not opening.startswith(("else", "do")) else 0.0
    try:
        start, stop, step = (evaluate(limit, sizes) for limit in split_sizes(match[2]))
        iterations = len(range(start, stop, step))
    except (KeyError, ValueError, ZeroDivisionError):
        return 0.0
    sizes[match[1]] = start + step * max(0, iterations - 1) // 2
    return float(iterations)
