"""`f(x, a if c else None)` where data decide c: nothing is a number or None by what they decide, so the call is made both ways."""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Iterator
from typing import NamedTuple

# What runs code of its own, so that it stays where it is in the order of evaluation.
_DOES_MORE = (ast.Call, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
_IN_ORDER = (
    ast.Call, ast.keyword, ast.Starred, ast.Tuple, ast.List, ast.BinOp, ast.UnaryOp, ast.Attribute, ast.Subscript,
)  # fmt: skip


class BothWays(NamedTuple):
    """Statements that stand for one with such an argument, and the variables that they add; the branch is the first."""

    instead: list[ast.stmt]
    names: set[str]
    before: list[ast.expr]  # what is evaluated before the condition

    @property
    def test(self) -> ast.expr:
        branch = self.instead[0]
        assert isinstance(branch, ast.If)
        return branch.test


@functools.lru_cache(maxsize=8192)
def made_both_ways(statement: ast.stmt) -> BothWays | None:
    """None of statements without such an argument."""
    field = "test" if isinstance(statement, ast.If) else "value"
    if not isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.If)):
        return None
    expression = getattr(statement, field)
    choice = None if expression is None else _argument_of(expression)
    if choice is None:
        return None
    before = list(_earlier(expression, choice))
    if isinstance(statement, ast.AugAssign):  # whose place is found first
        if _does_more(statement.target):
            return None
        before.insert(0, statement.target)
    ways: list[list[ast.stmt]] = []
    truth = f" truth {choice.lineno} {choice.col_offset}"
    for arm in (choice.body, choice.orelse):
        way: ast.stmt = (
            ast.Assign([ast.Name(truth, ast.Store())], expression) if field == "test" else copy.copy(statement)
        )
        setattr(way, "value", _Instead(choice, arm).visit(copy.deepcopy(expression, {id(choice): choice})))  # noqa: B010
        # Statements are known by where they stand.
        ways.append([ast.fix_missing_locations(ast.copy_location(way, arm))])
    branch: ast.stmt = ast.copy_location(ast.If(choice.test, *ways), choice)
    if not isinstance(statement, ast.If):
        return BothWays([branch], set(), before)
    behind = ast.If(ast.Name(truth, ast.Load()), statement.body, statement.orelse)
    return BothWays([branch, ast.fix_missing_locations(ast.copy_location(behind, statement))], {truth}, before)


def _argument_of(expression: ast.expr) -> ast.IfExp | None:
    found = _found_in_order(expression, False)
    return found if isinstance(found, ast.IfExp) else None


def _found_in_order(node: ast.AST, is_argument: bool) -> ast.IfExp | bool:
    """The one that is evaluated before all that does more than to read; else whether what is evaluated behind may still be that."""
    if isinstance(node, ast.IfExp):
        nones = [isinstance(arm, ast.Constant) and arm.value is None for arm in (node.body, node.orelse)]
        return node if is_argument and sum(nones) == 1 and not _does_more(node.test) else False
    if not any(isinstance(one, ast.IfExp) for one in ast.walk(node)):
        return not _does_more(node)
    if not isinstance(node, _IN_ORDER) and not (isinstance(node, ast.Compare) and len(node.ops) == 1):
        return False
    for child in ast.iter_child_nodes(node):
        found = _found_in_order(child, isinstance(node, (ast.Call, ast.keyword)))
        if found is not True:
            return found
    return not isinstance(node, _DOES_MORE)


def _earlier(node: ast.AST, choice: ast.IfExp) -> Iterator[ast.expr]:
    """What is evaluated in a node before the choice in it."""
    for child in ast.iter_child_nodes(node):
        if any(one is choice for one in ast.walk(child)):
            yield from _earlier(child, choice)
            return
        if isinstance(child, ast.expr):
            yield child
        elif isinstance(child, ast.keyword):
            yield child.value


def _does_more(node: ast.AST) -> bool:
    return any(isinstance(one, _DOES_MORE) for one in ast.walk(node))


class _Instead(ast.NodeTransformer):
    def __init__(self, choice: ast.IfExp, arm: ast.expr) -> None:
        self._choice, self._arm = choice, arm

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        return self._arm if node is self._choice else node
