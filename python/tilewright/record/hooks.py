"""Calls of ours behind the statements of a script's or a cell's top level that bind functions. Its names stay in its module's own
dictionary, which Python reads at full speed: in loops at the top level every name is looked up there."""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Callable
from typing import Any

_BOUND = "__tilewright_bound__"  # among the builtins: the script's own names stay its own
_STATEMENTS = ("body", "orelse", "finalbody", "handlers", "cases")


def with_hooks(
    source: bytes, file: str, bound: Callable[[str], None], changed: Callable[[ast.Module], None]
) -> types.CodeType:
    """The code of a script that calls `bound` with the name of each function, class, and result of a call outside of loops, as
    soon as its top level has bound it. `changed`: what else changes its tree, where that is not nested too deep for it."""
    call_back(bound)
    tree = ast.parse(source, file)
    try:
        changed(tree)
    except RecursionError:
        tree = ast.parse(source, file)
    tree = _Hooks(_BOUND).visit(tree)
    code: types.CodeType = compile(tree, file, "exec", dont_inherit=True)
    return code


def call_back(bound: Callable[[str], None]) -> None:
    """The function that code with hooks calls."""
    setattr(builtins, _BOUND, bound)


def hook_cell(tree: ast.Module, bound: str) -> None:
    """The same in a cell, of whose last statement IPython shows what it gives: there is none behind that. `bound`: what the
    function is called among the builtins."""
    count = len(tree.body)
    _Hooks(bound).visit(tree)
    if len(tree.body) > count and _is_call_of(tree.body[-1], bound):
        del tree.body[-1]


def _is_call_of(node: ast.stmt, name: str) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == name


class _Hooks(ast.NodeTransformer):
    def __init__(self, bound: str) -> None:
        self._bound = bound
        self._loops = 0

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Of statements alone: what expressions bind are no functions of the module's."""
        is_loop = isinstance(node, (ast.For, ast.While, ast.AsyncFor))
        self._loops += is_loop
        for name in _STATEMENTS:
            held = getattr(node, name, None)
            if isinstance(held, list):
                setattr(node, name, [new for one in held for new in self._visited(one)])
        self._loops -= is_loop
        return node

    def _visited(self, node: ast.AST) -> list[ast.AST]:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return [node, self._hook(node, node.name)]
        if (
            isinstance(node, ast.Assign)
            and not self._loops
            and isinstance(node.value, (ast.Call, ast.Lambda, ast.Name))
        ):
            return [node, *(self._hook(node, one.id) for one in node.targets if isinstance(one, ast.Name))]
        return [self.generic_visit(node)]

    def _hook(self, node: Any, name: str) -> ast.AST:
        hook = ast.Expr(ast.Call(ast.Name(self._bound, ast.Load()), [ast.Constant(name)], []))
        for one in ast.walk(hook):
            if isinstance(one, (ast.expr, ast.stmt)):
                one.lineno = one.end_lineno = node.end_lineno
                one.col_offset = one.end_col_offset = node.end_col_offset
        return hook
