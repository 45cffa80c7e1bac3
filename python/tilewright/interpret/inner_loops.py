"""Loops of a function that Python runs, each as a function of its own: it is handed what the loop reads and sets, and gives
what the loop leaves in variables."""

from __future__ import annotations

import ast
import builtins
import copy
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..taken_ways import Site
from .inner_objects import is_users_class
from .outlined import in_closure, names_variables, outline_in, part_site, read_first
from .source import inside, made_from, site_of

_IS_LOOP = "__tilewright_loop__"


@dataclass(frozen=True)
class InnerLoop:
    """`names`: of the variables that it is handed, in order. `gives`: those that it returns, as a tuple; one as it is, and None
    where there is none. `attributes`: of objects among those, (position, attribute); the function is handed what they are in
    place of the objects, before all else. `plain`: the function that is handed the variables themselves."""

    statement: ast.stmt
    function: types.FunctionType
    plain: types.FunctionType
    names: tuple[str, ...]
    gives: tuple[str, ...]
    attributes: tuple[tuple[int, str], ...]

    @property
    def name(self) -> str:
        return self.plain.__name__

    def called(self, name: str) -> ast.stmt:
        """A statement that stands for the loop, in which it is called by that name."""
        call = ast.Call(ast.Name(name, ast.Load()), [ast.Name(one, ast.Load()) for one in self.names], [])
        if not self.gives:
            return self._placed(ast.Expr(call))
        targets = [ast.Name(one, ast.Store()) for one in self.gives]
        return self._placed(ast.Assign([targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())], call))

    def _placed(self, node: ast.stmt) -> ast.stmt:
        return ast.fix_missing_locations(ast.copy_location(node, self.statement))

    def with_attributes(self, cell: types.CellType) -> Callable[..., Any]:
        """What is called in place of the loop: the function in the cell, where the objects have such attributes of their own
        and nothing else is called where those are read."""
        owners = {position for position, _ in self.attributes}

        def call(*args: Any) -> Any:
            held = []
            for position, name in self.attributes:
                owner = args[position]
                if not is_users_class(type(owner)) or hasattr(type(owner), name):
                    return self.plain(*args)
                value = getattr(owner, "__dict__", {}).get(name)
                if type(value) is not np.ndarray and not isinstance(value, (int, float, np.generic)):
                    return self.plain(*args)
                held.append(value)
            return cell.cell_contents(*held, *(one for k, one in enumerate(args) if k not in owners))

        return call


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
    plain = _as_function(function, loop, names, outline.gives)
    attributes = tuple(sorted((names.index(owner), name) for owner, name in _attributes_of(function, loop, names, outline.gives)))
    if not attributes:
        return InnerLoop(loop, plain, plain, names, outline.gives, ())
    owners = {names[position] for position, _ in attributes}
    held = {(names[position], name): f"{names[position]}_{name}" for position, name in attributes}
    if len({*held.values(), *_names_in(loop)}) < len(held) + len(_names_in(loop)):
        return InnerLoop(loop, plain, plain, names, outline.gives, ())
    parameters = (*held.values(), *(one for one in names if one not in owners))
    alone = _Held(held).visit(copy.deepcopy(loop))
    return InnerLoop(loop, _as_function(function, alone, parameters, outline.gives), plain, names, outline.gives, attributes)


def _names_in(loop: ast.stmt) -> set[str]:
    return {item.id for item in ast.walk(loop) if isinstance(item, ast.Name)}


def _attributes_of(
    function: types.FunctionType, loop: ast.stmt, names: Sequence[str], gives: Sequence[str]
) -> set[tuple[str, str]]:
    """Attributes of objects of which the loop does nothing but read those, and nothing that it calls can set one."""
    if any(isinstance(item, ast.Call) and not _is_of_no_user(function, item.func) for item in ast.walk(loop)):
        return set()
    called = {id(item.func) for item in ast.walk(loop) if isinstance(item, ast.Call)}
    found = {
        id(item.value): (item.value.id, item.attr)
        for item in ast.walk(loop)
        if isinstance(item, ast.Attribute) and isinstance(item.value, ast.Name) and isinstance(item.ctx, ast.Load)
        if id(item) not in called and not hasattr(np.ndarray, item.attr) and item.value.id in names
    }
    others = {item.id for item in ast.walk(loop) if isinstance(item, ast.Name) and id(item) not in found}
    return {(owner, name) for owner, name in found.values() if owner not in others and owner not in gives}


def _is_of_no_user(function: types.FunctionType, called: ast.expr) -> bool:
    """Whether it is a builtin, or an attribute: of a module, or of what the loop is handed, which are arrays and numbers."""
    if isinstance(called, ast.Attribute):
        return True
    code = function.__code__
    is_free = isinstance(called, ast.Name) and called.id not in (*code.co_varnames, *code.co_cellvars, *code.co_freevars)
    return is_free and called.id not in function.__globals__ and hasattr(builtins, called.id)  # type: ignore[attr-defined]


class _Held(ast.NodeTransformer):
    """Attributes as variables."""

    def __init__(self, held: Mapping[tuple[str, str], str]) -> None:
        self.held = held

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        name = self.held.get((node.value.id, node.attr)) if isinstance(node.value, ast.Name) else None
        return node if name is None else ast.copy_location(ast.Name(name, ast.Load()), node)


def _as_function(
    function: types.FunctionType, loop: ast.stmt, names: Sequence[str], gives: Sequence[str]
) -> types.FunctionType:
    loads = [ast.Name(one, ast.Load()) for one in gives]
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
    return made


class LoopsByCells(ast.NodeTransformer):
    """Loops as calls of what they were made into."""

    def __init__(self, loops: Mapping[Site, InnerLoop], prefix: str) -> None:
        self.loops, self.prefix = loops, prefix

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, (ast.For, ast.While)) and (loop := self.loops.get(site_of(node))) is not None:
            return loop.called(self.prefix + loop.name)
        return super().generic_visit(node)
