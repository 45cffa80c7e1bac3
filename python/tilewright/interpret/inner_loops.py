"""Loops of a function that Python runs, each as a function of its own: it is handed what the loop reads and sets, and gives
what the loop leaves in variables."""

from __future__ import annotations

import ast
import copy
import types
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from ..taken_ways import Site
from .outlined import in_closure, names_variables, outline_in, part_site, read_first
from .source import inside, made_from, site_of

_IS_LOOP = "__tilewright_loop__"


@dataclass(frozen=True)
class InnerLoop:
    """`names`: of the variables that the function is handed, in order. `gives`: those that it returns, as a tuple; one as it
    is, and None where there is none."""

    statement: ast.stmt
    function: types.FunctionType
    names: tuple[str, ...]
    gives: tuple[str, ...]

    def called(self, name: str) -> ast.stmt:
        """A statement that stands for the loop, in which it is called by that name."""
        call = ast.Call(ast.Name(name, ast.Load()), [ast.Name(one, ast.Load()) for one in self.names], [])
        if not self.gives:
            return self._placed(ast.Expr(call))
        targets = [ast.Name(one, ast.Store()) for one in self.gives]
        return self._placed(ast.Assign([targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())], call))

    def _placed(self, node: ast.stmt) -> ast.stmt:
        return ast.fix_missing_locations(ast.copy_location(node, self.statement))


def is_loop(function: types.FunctionType) -> bool:
    return getattr(function, _IS_LOOP, None) is function.__code__


def loops_of(function: types.FunctionType, node: ast.FunctionDef, left: Collection[Site]) -> Iterator[InnerLoop]:
    """Its outermost loops that can stand alone; of a function that is a loop itself, and of a loop that is `left` to Python,
    those in that."""
    arguments = node.args
    given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    known = {one.arg for one in given if one is not None}
    statements: Sequence[ast.stmt] = node.body
    if is_loop(function):
        (loop, _) = node.body
        statements = loop.body  # type: ignore[attr-defined]
        known |= _targets(loop)
    if not names_variables(node):
        yield from _loops_in(function, node, statements, known, left)


def _loops_in(
    function: types.FunctionType, node: ast.FunctionDef, statements: Sequence[ast.stmt], known: set[str], left: Collection[Site]
) -> Iterator[InnerLoop]:
    """`known`: variables that are set for certain before the statements."""
    for one in statements:
        if isinstance(one, (ast.For, ast.While)):
            found = None if site_of(one) in left else _alone(function, node, one, known)
            if found is not None:
                yield found
            else:
                yield from _loops_in(function, node, one.body, known | _targets(one), left)
        elif isinstance(one, ast.If):
            yield from _loops_in(function, node, one.body, set(known), left)
            yield from _loops_in(function, node, one.orelse, set(known), left)
        read_first([one], known)  # none that others see behind an error: in a try, in a with


def _targets(loop: ast.stmt) -> set[str]:
    """Variables that each iteration of a for sets."""
    names = ast.walk(loop.target) if isinstance(loop, ast.For) else ()
    return {item.id for item in names if isinstance(item, ast.Name)}


def _alone(
    function: types.FunctionType, node: ast.FunctionDef, loop: ast.For | ast.While, known: set[str]
) -> InnerLoop | None:
    if any(isinstance(item, (ast.Return, ast.FunctionDef, ast.Lambda)) for item in inside([loop])):
        return None
    outline = outline_in(function, node, part_site(loop, loop))
    if outline is None or not known.issuperset((*outline.reads, *outline.gives)):
        return None
    names = tuple(sorted({*outline.reads, *outline.gives}))
    loads = [ast.Name(one, ast.Load()) for one in outline.gives]
    value = None if not loads else loads[0] if len(loads) == 1 else ast.Tuple(list(loads), ast.Load())
    behind = ast.Return(value)
    for part in ast.walk(behind):  # places are what calls and results are known by
        if isinstance(part, (ast.expr, ast.stmt)):
            part.lineno = part.end_lineno = loop.end_lineno or loop.lineno
            part.col_offset = part.end_col_offset = loop.end_col_offset or 0
    parameters = ast.arguments([], [ast.arg(one) for one in names], None, [], [], None, [])
    name = f"loop_{loop.lineno}"
    alone = ast.copy_location(ast.FunctionDef(name, parameters, [copy.deepcopy(loop), behind], [], None), loop)
    made = in_closure(ast.fix_missing_locations(alone), function, {}, f"{function.__qualname__}.{name}")
    made.__defaults__ = made.__kwdefaults__ = None
    made_from(made, alone)
    setattr(made, _IS_LOOP, made.__code__)
    return InnerLoop(loop, made, names, outline.gives)
