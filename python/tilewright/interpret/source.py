"""Finds the source of a function and makes sure that it is the source of the code that runs."""

from __future__ import annotations
import __future__

import ast
import functools
import linecache
import operator
import types
from collections.abc import Iterable, Iterator
from typing import Any

from ..taken_ways import Site

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)

# (file, text, flags) -> the nodes and the code objects of a module, since one file often has several traced functions.
_MODULES: dict[tuple[str, int, int], tuple[ast.Module, types.CodeType]] = {}
# Of code: what `from __future__ import` sets, also where the code that compiles it has that.
# The flag of nested_scopes, which Python has always, says of code that it is a nested function.
FUTURE = functools.reduce(
    operator.or_,
    (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names if name != "nested_scopes"),
)


# id of a code object -> itself (kept alive), the text's hash and its node: searching a long module takes milliseconds.
_FOUND: dict[int, tuple[types.CodeType, int, FunctionNode | None]] = {}


def inside(nodes: Iterable[ast.AST], *closed: type[ast.AST]) -> Iterator[ast.AST]:
    """Nodes and what is in them; of nodes of the kinds `closed`, only themselves."""
    pending = list(nodes)
    while pending:
        item = pending.pop()
        yield item
        if not isinstance(item, closed):
            pending += ast.iter_child_nodes(item)


def source_of(function: types.FunctionType) -> FunctionNode | None:
    """The syntax tree of `function`, or None: no source, or the file has changed since it was imported."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        linecache.checkcache(code.co_filename)
        lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        return None
    text = "".join(lines)
    known = _FOUND.get(id(code))
    if known is not None and known[1] == hash(text):
        return known[2]
    if len(_FOUND) > 1024:
        _FOUND.clear()
    node = _find(code, text)
    _FOUND[id(code)] = (code, hash(text), node)
    return node


def _find(code: types.CodeType, text: str) -> FunctionNode | None:
    flags = code.co_flags & FUTURE
    key = (code.co_filename, hash(text), flags)
    if key not in _MODULES:
        try:
            tree = ast.parse(text)
            module_code = compile(text, code.co_filename, "exec", flags, dont_inherit=True)
        except (SyntaxError, ValueError):
            return None
        if len(_MODULES) > 64:
            _MODULES.clear()
        _MODULES[key] = (tree, module_code)
    tree, module_code = _MODULES[key]
    nodes = [
        node
        for node in ast.walk(tree)
        if isinstance(node, FUNCTIONS) and _first_line(node) == code.co_firstlineno and _name(node) == code.co_name
    ]
    codes = [
        found
        for found in code_objects(module_code)
        if found.co_firstlineno == code.co_firstlineno and found.co_name == code.co_name
    ]
    if len(nodes) != len(codes):
        return None
    for node, candidate in _pairs(nodes, codes):
        if _same_code(candidate, code) and (len(nodes) == 1 or _same_place(candidate, code)):
            return node
    return None


def _pairs(nodes: list[FunctionNode], codes: list[types.CodeType]) -> Iterator[tuple[FunctionNode, types.CodeType]]:
    """Each function of a line with its code: lambdas share a line."""
    placed = [code for code in codes if _code_column(code)]
    # CPython 3.12 gives no columns to the code of a constant, `lambda: 1`.
    nowhere = [code for code in codes if not _code_column(code)]
    unseen = [node for node in nodes if nowhere and _gets_no_column(node)]
    seen = [node for node in nodes if node not in unseen]
    if len(unseen) == len(nowhere):
        yield from zip(sorted(unseen, key=_column), nowhere, strict=True)
        yield from zip(sorted(seen, key=_column), sorted(placed, key=lambda c: _code_column(c) or (0, 0)), strict=True)


def _gets_no_column(node: FunctionNode) -> bool:
    if not isinstance(node, ast.Lambda):
        return False
    alone = compile(ast.Expression(node), "<lambda>", "eval")
    return all(_code_column(code) is None for code in alone.co_consts if isinstance(code, types.CodeType))


def _same_code(left: types.CodeType, right: types.CodeType) -> bool:
    """Whether two code objects do the same. Not ==: NaN as a constant is not equal to itself."""
    if (
        left.co_code != right.co_code
        or left.co_names != right.co_names
        or left.co_varnames != right.co_varnames
        or left.co_freevars != right.co_freevars
        or left.co_argcount != right.co_argcount
        or len(left.co_consts) != len(right.co_consts)
    ):
        return False
    for a, b in zip(left.co_consts, right.co_consts, strict=True):
        if isinstance(a, types.CodeType):
            if not isinstance(b, types.CodeType) or not _same_code(a, b):
                return False
        elif type(a) is not type(b) or _shown(a) != _shown(b):
            return False
    return True


def _shown(constant: object) -> object:
    """Equal for constants that no function tells apart: 1 is not True, -0.0 not 0.0. Sets have no order."""
    return sorted(map(repr, constant)) if isinstance(constant, frozenset) else repr(constant)


def _same_place(left: types.CodeType, right: types.CodeType) -> bool:
    return list(left.co_positions()) == list(right.co_positions())


def code_objects(code: types.CodeType) -> Iterator[types.CodeType]:
    """Of the functions in it."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from code_objects(constant)


def _first_line(node: FunctionNode) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _name(node: FunctionNode) -> str:
    return "<lambda>" if isinstance(node, ast.Lambda) else node.name


def _column(node: FunctionNode) -> tuple[int, int]:
    body = node.body if isinstance(node, ast.Lambda) else node.body[0]
    return body.lineno, body.col_offset


def _code_column(code: types.CodeType) -> tuple[int, int] | None:
    # RESUME has no width and stands at column 0.
    places = [(line, start) for line, _, start, end in code.co_positions() if line and start is not None and end]
    return min(places, default=None)


def site_of(node: Any) -> Site:
    """Where a call or an if stands in its file."""
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset
