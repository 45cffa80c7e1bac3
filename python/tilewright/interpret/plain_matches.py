"""`match` statements of plain values, as the chains of `if` that they are: what they mean is followed as those are."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

_BLOCKS = ("body", "orelse", "finalbody")
_SUBJECT = "__tilewright_subject_{}_{}__"


def with_matches_as_ifs(tree: ast.Module) -> ast.Module:
    """match x.ndim: case 1: A; case 2 | 3: B; case _: C   ->   s = x.ndim; if s == 1: A; elif s == 2 or s == 3: B; else: C

    Statements with other patterns than values, alternatives of them and `_` stay as they are.
    """
    for one in ast.walk(
        tree
    ):  # the cases of a statement that was replaced are gone through too, whose blocks the ifs have
        for block in (getattr(one, name, None) for name in _BLOCKS):
            if isinstance(block, list) and any(isinstance(item, ast.Match) for item in block):
                block[:] = [new for item in block for new in _as_ifs(item)]
    return tree


def _as_ifs(item: ast.stmt) -> Sequence[ast.stmt]:
    if not isinstance(item, ast.Match):
        return [item]
    name = item.subject.id if isinstance(item.subject, ast.Name) else _SUBJECT.format(item.lineno, item.col_offset)
    chain: list[ast.stmt] = []
    for case in reversed(item.cases):
        is_last = not chain and case.guard is None
        if is_last and isinstance(case.pattern, ast.MatchAs) and case.pattern.name is None:
            chain = case.body
            continue
        test = _test(name, case.pattern)
        if test is None or any(isinstance(part, ast.NamedExpr) for part in ast.walk(case.guard or test)):
            return [item]
        if case.guard is not None:
            test = ast.copy_location(ast.BoolOp(ast.And(), [test, case.guard]), case.pattern)
        made = ast.copy_location(ast.If(test, case.body, chain), case.pattern)
        made.end_lineno, made.end_col_offset = item.end_lineno, item.end_col_offset
        chain = [made]
    if isinstance(item.subject, ast.Name):
        return chain
    target = ast.copy_location(ast.Name(name, ast.Store()), item.subject)
    return [ast.copy_location(ast.Assign([target], item.subject), item.subject), *chain]


def _test(name: str, pattern: ast.pattern) -> ast.expr | None:
    """The condition under which it matches; None where that is more than a comparison."""
    if isinstance(pattern, ast.MatchOr):
        tests = [_test(name, one) for one in pattern.patterns]
        found = [one for one in tests if one is not None]
        return ast.copy_location(ast.BoolOp(ast.Or(), found), pattern) if len(found) == len(tests) else None
    subject = ast.copy_location(ast.Name(name, ast.Load()), pattern)
    if isinstance(pattern, ast.MatchValue):
        return ast.copy_location(ast.Compare(subject, [ast.Eq()], [copy.deepcopy(pattern.value)]), pattern)
    if isinstance(pattern, ast.MatchSingleton):
        value = ast.copy_location(ast.Constant(pattern.value), pattern)
        return ast.copy_location(ast.Compare(subject, [ast.Is()], [value]), pattern)
    return None
