"""Loops over all indices of several axes, as loops inside of one another, which may stay loops.

    for i, j in np.ndindex(n, m):         for a in range(n):
        …                            ->       for b in range(m):
                                                  i, j = a, b
                                                  …

So are those over `np.ndenumerate(x)`, and over `itertools.product` of ranges and arrays.
"""

from __future__ import annotations

import ast
import copy
import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..symbolic.arrays import SymArray
from ..symbolic.scalars import SymInt
from .early_return import has_break
from .sequences import SymRange
from .source import DEFINITIONS
from .state import Part

_NAMES = ("ndindex", "ndenumerate", "product")
_MOST_AXES = 4  # as many columns as `for ` has stand for the places of the loops


class IndexLoops(Part):
    """The part of the interpreter that makes such loops of one."""

    def over(self, node: ast.For, evaluate: Any) -> list[ast.stmt] | None:
        """The statements that stand for the loop; None where Python's own iterator is gone through."""
        call = node.iter
        if not isinstance(call, ast.Call) or node.orelse:
            return None
        if getattr(call.func, "attr", getattr(call.func, "id", None)) not in _NAMES or call.keywords or not call.args:
            return None
        if has_break(node) and self._is_read_behind(node):
            return None  # which indices they are depends on whether a break came
        undo = self.undoing()
        function = evaluate(call.func)
        is_known = any(function is one for one in (np.ndindex, np.ndenumerate, itertools.product))
        axes = _axes_of(function, _arguments(call, evaluate)) if is_known else None
        if axes is None or not 1 < len(axes) <= _MOST_AXES or self.tracer.checked is None:
            undo()
            return None
        loop, stopped, held = _nested(node, len(axes), function is np.ndenumerate)
        for k, axis in enumerate(axes):
            self.frame.variables[_axis(node, k)] = axis
        if held:
            self.frame.variables[held] = evaluate(call.args[0])  # once more: what it reads is as it was
        if stopped:
            self.frame.variables[stopped] = False
            self.frame.locals |= {stopped}
        return [loop]

    def _is_read_behind(self, node: ast.For) -> bool:
        """Whether the function reads the indices outside of the loop."""
        names = {one.id for one in ast.walk(node.target) if isinstance(one, ast.Name)}
        return any(
            isinstance(one, ast.Name) and one.id in names and isinstance(one.ctx, ast.Load)
            and not node.lineno <= one.lineno <= (node.end_lineno or node.lineno)
            for one in ast.walk(self.frame.node)
        )  # fmt: skip


def _arguments(call: ast.Call, evaluate: Any) -> list[Any]:
    given: list[Any] = []
    for one in call.args:
        held = evaluate(one.value if isinstance(one, ast.Starred) else one)
        given += held if isinstance(one, ast.Starred) and type(held) is tuple else (held,)
    return given


def _axes_of(function: Any, args: Sequence[Any]) -> list[Any] | None:
    """What each of the loops goes through."""
    if function is itertools.product:
        if not all(isinstance(one, (range, SymRange, SymArray, np.ndarray)) for one in args):
            return None
        return [one.copy() if isinstance(one, (SymArray, np.ndarray)) else one for one in args]  # as they are now
    if function is np.ndenumerate:
        array = args[0] if len(args) == 1 else None
        limits = array.shape if isinstance(array, SymArray) and not array.is_scalar else None
    else:
        limits = args[0] if len(args) == 1 and type(args[0]) is tuple else tuple(args)
    if limits is None or not all(isinstance(one, (int, SymInt)) and not isinstance(one, bool) for one in limits):
        return None
    return [SymRange(0, one, 1) if isinstance(one, SymInt) else range(one) for one in limits]


def _axis(node: ast.For, k: int) -> str:
    return f" axis {k} of line {node.lineno}"


@functools.lru_cache(maxsize=4096)
def _nested(node: ast.For, axes: int, with_items: bool) -> tuple[ast.For, str, str]:
    """The loops, the variable that says whether a break has ended them, and the one of the array whose items they go through;
    "" where there is none."""
    stopped = f" break of the axes of line {node.lineno}" if has_break(node) else ""
    held = f" array of line {node.lineno}" if with_items else ""
    at = [f" index {k} of line {node.lineno}" for k in range(axes)]
    index: ast.expr = ast.Tuple([ast.Name(one, ast.Load()) for one in at], ast.Load())
    if with_items:
        index = ast.Tuple(
            [index, ast.Subscript(ast.Name(held, ast.Load()), copy.deepcopy(index), ast.Load())], ast.Load()
        )
    body = [_Breaks(stopped).visit(copy.deepcopy(one)) for one in node.body] if stopped else node.body
    inner: list[ast.stmt] = [ast.copy_location(ast.Assign([node.target], index), node), *_flat(body)]
    for k in reversed(range(axes)):
        iterated = ast.Name(_axis(node, k), ast.Load())
        loop = ast.copy_location(ast.For(ast.Name(at[k], ast.Store()), iterated, inner, []), node)
        loop.col_offset += k
        ends = ast.If(ast.Name(stopped, ast.Load()), [ast.Break()], [])
        inner = [loop, *([ast.copy_location(ends, node)] if stopped else [])]
    return ast.fix_missing_locations(loop), stopped, held


def _flat(statements: Sequence[Any]) -> Iterator[ast.stmt]:
    for one in statements:
        yield from one if isinstance(one, list) else (one,)


class _Breaks(ast.NodeTransformer):
    """`stopped = True; break` for each break of the loop itself."""

    def __init__(self, stopped: str) -> None:
        self.stopped = stopped

    def visit_Break(self, node: ast.Break) -> Any:  # noqa: N802
        says = ast.Assign([ast.Name(self.stopped, ast.Store())], ast.Constant(True))
        return [ast.copy_location(says, node), node]

    def generic_visit(self, node: ast.AST) -> ast.AST:
        return node if isinstance(node, (ast.For, ast.While, *DEFINITIONS)) else super().generic_visit(node)
