"""A return inside of a loop, as a break and a return behind the loop: the same function, whose loop may stay one."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import TypeVar

from .source import inside

_Node = TypeVar("_Node", bound=ast.AST)

RETURNED = " returned"
VALUE = " value"


def has_return(node: ast.stmt) -> bool:
    """Whether a return is in a loop's body."""
    return isinstance(node, (ast.For, ast.While)) and bool(_returns(node.body))


def behind_the_loop(loop: ast.For | ast.While) -> tuple[list[ast.stmt], set[str]]:
    """The statements that stand for a loop with returns in it, and the variables that they add."""
    lengths = {len(r.value.elts) if isinstance(r.value, ast.Tuple) else None for r in _returns([loop])}
    (length,) = lengths if len(lengths) == 1 else (None,)
    values = [VALUE] if length is None else [f"{VALUE} {k}" for k in range(length)]
    nothing = all(
        r.value is None or (isinstance(r.value, ast.Constant) and r.value.value is None) for r in _returns([loop])
    )
    if nothing:
        values = []

    def target(context: ast.expr_context) -> ast.expr:
        if nothing:
            return ast.Constant(None)
        names: list[ast.expr] = [ast.Name(name, context) for name in values]
        return names[0] if length is None else ast.Tuple(names, context)

    def changed(statements: list[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for statement in statements:
            if isinstance(statement, ast.Return):
                value = statement.value or ast.Constant(None)
                new: list[ast.stmt] = [
                    *([] if nothing else [ast.Assign([target(ast.Store())], value)]),
                    ast.Assign([ast.Name(RETURNED, ast.Store())], ast.Constant(True)),
                    ast.Break(),
                ]
            elif isinstance(statement, (ast.For, ast.While)):
                if not has_return(statement):
                    result.append(statement)
                    continue
                new = [of_loop(statement), ast.If(ast.Name(RETURNED, ast.Load()), [ast.Break()], [])]
            else:
                new = [_with_blocks(statement, changed)]
            result += [ast.copy_location(one, statement) for one in new]
        return result

    def of_loop(inner: ast.For | ast.While) -> ast.stmt:
        return _loop_of(inner, changed(inner.body), inner.orelse if inner is loop else changed(inner.orelse))

    back: ast.stmt = ast.If(ast.Name(RETURNED, ast.Load()), [ast.Return(target(ast.Load()))], [])
    if isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant) and loop.test.value and not has_break(loop):
        back = ast.Return(target(ast.Load()))  # it is left by a return alone
    start = ast.Assign([ast.Name(RETURNED, ast.Store())], ast.Constant(False))
    statements = [start, of_loop(loop), back]
    for statement in statements:
        ast.fix_missing_locations(ast.copy_location(statement, loop))
    return statements, {RETURNED, *values}


def has_break(loop: ast.For | ast.While) -> bool:
    """Whether a break of this very loop is in its body."""
    return any(isinstance(item, ast.Break) for item in _of_this_loop(loop.body))


def leaves_at_once(loop: ast.For | ast.While) -> bool:
    """Whether each way through the first iteration leaves the loop, as in one that tries again where an exception comes."""
    if any(isinstance(item, ast.Continue) for item in _of_this_loop(loop.body, ast.ExceptHandler)):
        return False
    last: ast.stmt = loop.body[-1]
    while isinstance(last, (ast.With, ast.Try)):
        last = (last.orelse or last.body)[-1] if isinstance(last, ast.Try) else last.body[-1]
    return isinstance(last, (ast.Break, ast.Return))


def _of_this_loop(body: list[ast.stmt], *skipped: type[ast.AST]) -> Iterator[ast.AST]:
    """Its nodes whose break and continue are those of the loop: not those of loops in it, but for their else."""
    pending: list[ast.AST] = list(body)
    while pending:
        item = pending.pop()
        yield item
        if isinstance(item, (ast.For, ast.While)):
            pending += item.orelse
        elif not isinstance(item, (ast.FunctionDef, ast.Lambda, *skipped)):
            pending += ast.iter_child_nodes(item)


def else_behind(loop: ast.For | ast.While) -> tuple[list[ast.stmt], set[str]]:
    """As behind_the_loop(), of a loop whose else leaves the block that it is in: an if behind it."""
    broken = f" broken {loop.lineno}"

    def changed(statements: list[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for one in statements:
            new = one
            if isinstance(one, ast.Break):
                result.append(ast.copy_location(ast.Assign([ast.Name(broken, ast.Store())], ast.Constant(True)), one))
            elif isinstance(one, (ast.For, ast.While)):
                new = _loop_of(one, one.body, changed(one.orelse))
            else:
                new = _with_blocks(one, changed)
            result.append(ast.copy_location(new, one))
        return result

    start = ast.Assign([ast.Name(broken, ast.Store())], ast.Constant(False))
    behind = ast.If(ast.UnaryOp(ast.Not(), ast.Name(broken, ast.Load())), loop.orelse, [])
    statements: list[ast.stmt] = [start, _loop_of(loop, changed(loop.body), []), behind]
    for statement in statements:
        ast.fix_missing_locations(ast.copy_location(statement, loop))
    return statements, {broken}


def _loop_of(loop: ast.For | ast.While, body: list[ast.stmt], orelse: list[ast.stmt]) -> ast.For | ast.While:
    """The loop with other blocks."""
    new = copy.copy(loop)
    new.body, new.orelse = body, orelse
    return new


def _with_blocks(node: _Node, changed: Callable[[list[ast.stmt]], list[ast.stmt]]) -> _Node:
    """A statement whose blocks are changed, of whatever kind it is: those of an if, a with, a try and its handlers, the
    cases of a match. A function in it leaves and breaks by itself."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return node
    new = copy.copy(node)
    for field, value in ast.iter_fields(node):
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
            setattr(new, field, changed(value))
        elif isinstance(value, list):
            parts = (ast.ExceptHandler, ast.match_case)
            setattr(new, field, [_with_blocks(one, changed) if isinstance(one, parts) else one for one in value])
    return new


def _returns(statements: list[ast.stmt]) -> list[ast.Return]:
    return [item for item in inside(statements, ast.FunctionDef, ast.Lambda) if isinstance(item, ast.Return)]


def test_as_break(loop: ast.While) -> ast.While:
    """A while whose condition does more than to read: `while True`, with the condition in its body."""
    choice = ast.If(loop.test, loop.body, [*loop.orelse, ast.Break()])
    return ast.fix_missing_locations(ast.copy_location(ast.While(ast.Constant(True), [choice], []), loop))
