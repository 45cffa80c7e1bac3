"""A return inside of a loop, as a break and a return behind the loop: the same function, whose loop may stay one."""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .source import DEFINITIONS, inside

RETURNED = " returned"
VALUE = " value"


@functools.lru_cache(maxsize=8192)
def has_return(node: ast.stmt) -> bool:
    """Whether a return is in a loop's body."""
    return isinstance(node, (ast.For, ast.While)) and bool(_returns(node.body))


def behind_the_loop(loop: ast.For | ast.While, others: Sequence[ast.Return] = ()) -> tuple[list[ast.stmt], set[str]]:
    """The statements that stand for a loop with returns in it, and the variables that they add. `others`: returns of the function
    that are not in the loop."""
    returns, is_same = _returns([loop]), False
    lengths = {len(r.value.elts) if isinstance(r.value, ast.Tuple) else None for r in returns}
    (length,) = lengths if len(lengths) == 1 else (None,)
    values = [VALUE] if length is None else [f"{VALUE} {k}" for k in range(length)]
    if all(map(gives_none, returns)) or (is_same := _give_the_same(loop, returns)):
        values = []
    nones = [_nones_of(r) for r in returns]

    def target(context: ast.expr_context) -> ast.expr:
        names: list[ast.expr] = [ast.Name(name, context) for name in values]
        return names[0] if length is None else ast.Tuple(names, context)

    def leaving(node: ast.Return) -> list[ast.stmt]:
        is_none_alone = gives_none(node) and not all(map(gives_none, others))
        if is_none_alone or (values and any(_nones_of(node) - other for other in nones)):
            return _placed([NoneBesideOthers()], node)
        given = [ast.Assign([target(ast.Store())], node.value or ast.Constant(None))] if values else []
        return _placed([*given, _set(RETURNED, True), ast.Break()], node)

    def inner(node: ast.For | ast.While) -> Any:
        leaves_both = ast.If(ast.Name(RETURNED, ast.Load()), [ast.Break()], [])
        return [blocks.generic_visit(node), *_placed([leaves_both], node)] if has_return(node) else node

    blocks = _Blocks(Return=leaving, For=inner, While=inner)
    given_behind = copy.deepcopy(returns[0].value) if is_same else ast.Constant(None)
    returned = ast.Return(target(ast.Load()) if values else given_behind)
    back: ast.stmt = ast.If(ast.Name(RETURNED, ast.Load()), [returned], [])
    if isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant) and loop.test.value and not has_break(loop):
        back = returned  # it is left by a return alone
    changed = _loop_of(loop, blocks.block(loop.body), loop.orelse)
    return _placed([_set(RETURNED, False), changed, back], loop), {RETURNED, *values}


def _give_the_same(loop: ast.For | ast.While, returns: list[ast.Return]) -> bool:
    """Whether all give the same variables, which the loop does not bind anew: they are read behind it, as what they are there."""
    if len({ast.dump(one.value) if one.value is not None else "" for one in returns}) != 1 or returns[0].value is None:
        return False
    names = {item.id for item in ast.walk(returns[0].value) if isinstance(item, ast.Name)}
    if not all(isinstance(item, _READ_ALIKE) for item in ast.walk(returns[0].value)) or not names:
        return False
    within = list(inside([loop]))
    in_place = {id(item.target) for item in within if isinstance(item, ast.AugAssign)}
    bound = {
        item.id
        for item in within
        if isinstance(item, ast.Name) and not isinstance(item.ctx, ast.Load) and id(item) not in in_place
    }
    may_bind = any(isinstance(item, (ast.Try, ast.With, *DEFINITIONS, ast.Import, ast.ImportFrom)) for item in within)
    return not (names & bound or may_bind)


_READ_ALIKE = (ast.Name, ast.Constant, ast.Tuple, ast.expr_context)


class NoneBesideOthers(ast.stmt):
    """A return in a loop that gives None where another one gives a value: what is carried out of a loop is one thing."""

    _fields = ()


def gives_none(node: ast.Return) -> bool:
    return node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)


def _nones_of(node: ast.Return) -> set[int]:
    """Where in the tuple that it gives None stands; -1 where it gives nothing else."""
    if gives_none(node):
        return {-1}
    items = node.value.elts if isinstance(node.value, ast.Tuple) else []
    return {k for k, item in enumerate(items) if isinstance(item, ast.Constant) and item.value is None}


@functools.lru_cache(maxsize=8192)
def has_break(loop: ast.For | ast.While) -> bool:
    """Whether a break of this very loop is in its body."""
    return any(isinstance(item, ast.Break) for item in _of_this_loop(loop.body))


@functools.lru_cache(maxsize=8192)
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

    def leaving(node: ast.Break) -> list[ast.stmt]:
        return [*_placed([_set(broken, True)], node), node]

    def inner(node: ast.For | ast.While) -> ast.stmt:
        return _loop_of(node, node.body, blocks.block(node.orelse))

    blocks = _Blocks(Break=leaving, For=inner, While=inner)
    changed = _loop_of(loop, blocks.block(loop.body), [])
    behind = ast.If(ast.UnaryOp(ast.Not(), ast.Name(broken, ast.Load())), loop.orelse, [])
    return _placed([_set(broken, False), changed, behind], loop), {broken}


def _loop_of(loop: ast.For | ast.While, body: list[ast.stmt], orelse: list[ast.stmt]) -> ast.For | ast.While:
    """The loop with other blocks."""
    new = copy.copy(loop)
    new.body, new.orelse = body, orelse
    return new


def _set(name: str, value: bool) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value))


def _placed(statements: list[ast.stmt], at: ast.stmt) -> list[ast.stmt]:
    return [ast.fix_missing_locations(ast.copy_location(one, at)) for one in statements]


class _Blocks(ast.NodeTransformer):
    """Statements that are changed in copies of what they are in. A function in it leaves and breaks by itself."""

    def __init__(self, **changes: Callable[[Any], Any]) -> None:
        """`changes`: what stands for statements, by their kind."""
        vars(self).update({f"visit_{kind}": change for kind, change in changes.items()})

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, (ast.expr, *DEFINITIONS)):
            return node
        new = copy.copy(node)
        for field, value in ast.iter_fields(node):
            if isinstance(value, list):
                setattr(new, field, [*value])
        return super().generic_visit(new)

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        changed: Any = self.generic_visit(ast.Module(statements, []))
        return changed.body  # type: ignore[no-any-return]


def returns_beside(loop: ast.stmt, body: Sequence[ast.stmt]) -> list[ast.Return]:
    """Those of a function that are not in the loop."""
    within = set(map(id, _returns([loop])))
    return [one for one in _returns(body) if id(one) not in within]


def _returns(statements: Sequence[ast.stmt]) -> list[ast.Return]:
    return [item for item in inside(statements, ast.FunctionDef, ast.Lambda) if isinstance(item, ast.Return)]


def test_as_break(loop: ast.While) -> ast.While:
    """A while whose condition does more than to read: `while True`, with the condition in its body."""
    choice = ast.If(loop.test, loop.body, [*loop.orelse, ast.Break()])
    return ast.fix_missing_locations(ast.copy_location(ast.While(ast.Constant(True), [choice], []), loop))
