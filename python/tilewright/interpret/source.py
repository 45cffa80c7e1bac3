"""Finds the source of a function and makes sure that it is the source of the code that runs."""

from __future__ import annotations
import __future__

import ast
import functools
import linecache
import operator
import os
import types
from collections.abc import Iterable, Iterator
from typing import Any

from ..taken_ways import Site
from .plain_matches import with_matches_as_ifs

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)

# Where a function begins, decorators too, and its name.
_Start = tuple[int, str]
# (file, text, flags) -> what begins where in a module: nodes and code objects, since one file often has many traced functions.
_ByStart = dict[_Start, tuple[list[FunctionNode], list[types.CodeType]]]
_MODULES: dict[tuple[str, int, int, bool], _ByStart] = {}
# Of code: what `from __future__ import` sets, also where the code that compiles it has that.
# The flag of nested_scopes, which Python has always, says of code that it is a nested function.
FUTURE = functools.reduce(
    operator.or_,
    (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names if name != "nested_scopes"),
)


# id of a code object -> itself (kept alive), the lines of its file and its node: searching a long module takes milliseconds.
_FOUND: dict[int, tuple[types.CodeType, list[str], FunctionNode | None]] = {}


_MOST_FOUND, _MOST_MODULES = 8192, 128  # of each some kilobytes, or some megabytes for a long module


def children(node: ast.AST) -> list[ast.AST]:
    """ast.iter_child_nodes() in a third of its time, which the start of a script is made of."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            found.append(value)
        elif type(value) is list:
            found += [one for one in value if isinstance(one, ast.AST)]
    return found


def walk(node: ast.AST) -> list[ast.AST]:
    """ast.walk() likewise, in its order."""
    found = [node]
    for one in found:  # which grows meanwhile
        found += children(one)
    return found


def inside(nodes: Iterable[ast.AST], *closed: type[ast.AST]) -> Iterator[ast.AST]:
    """Nodes and what is in them; of nodes of the kinds `closed`, only themselves."""
    pending = list(nodes)
    while pending:
        item = pending.pop()
        yield item
        if not isinstance(item, closed):
            pending += children(item)


@functools.lru_cache(maxsize=16384)
def first_in(node: ast.AST, *kinds: type[ast.AST]) -> ast.AST | None:
    """A node of these kinds in a statement, an expression or the body of a function, but in no function or class inside."""
    parts: Any = [node] if not isinstance(node, FUNCTIONS) else node.body
    parts = parts if isinstance(parts, list) else [parts]  # of a lambda it is an expression
    return next((one for one in inside(parts, *FUNCTIONS, ast.ClassDef) if isinstance(one, kinds)), None)


@functools.lru_cache(maxsize=4096)
def is_read_by_others(node: FunctionNode, name: str) -> bool:
    """Whether a function that is defined in this one reads the variable, and has none of that name itself."""
    body: list[Any] = node.body if isinstance(node.body, list) else [node.body]
    for one in inside(body):
        if isinstance(one, (*DEFINITIONS, ast.Lambda)):
            names = [part for part in ast.walk(one) if isinstance(part, ast.Name) and part.id == name]
            own = [part for part in ast.walk(one) if isinstance(part, ast.arg) and part.arg == name]
            if names and not own and all(isinstance(part.ctx, ast.Load) for part in names):
                return True
    return False


# Lines from which on a file is long; what begins the lines inside of a function at the top level.
_LONG_FILE, _INSIDE = 1000, (" ", "\t", "\n", "\r", "#", ")", "]", "}", "")
_MADE_FROM, _WRITTEN = "__tilewright_made_from__", "__tilewright_written__"


def made_from(function: types.FunctionType, node: FunctionNode) -> None:
    """Says of a function that no file has what it was made of."""
    setattr(function, _MADE_FROM, (function.__code__, node))


def typed_as(function: types.FunctionType, text: str) -> None:
    """Says the same of a function that was typed at Python's prompt, where `text` is what was typed."""
    code = function.__code__
    nodes, codes = (_functions_in(text, code) or {}).get((code.co_firstlineno, code.co_name), ([], []))
    if len(nodes) == len(codes) == 1 and _same_code(codes[0], code) and _same_place(codes[0], code):
        made_from(function, nodes[0])


def node_made_from(function: types.FunctionType) -> FunctionNode | None:
    """What a function was made of, where that was said of it."""
    made = getattr(function, _MADE_FROM, None)
    return made[1] if made is not None and made[0] is function.__code__ else None


def as_written(function: Any) -> Any:
    """A function that was made of a node as that is, without the calls of ours that stand in its code; any other one is itself."""
    node = node_made_from(function) if isinstance(function, types.FunctionType) else None
    if node is None or isinstance(node, ast.Lambda):
        return function
    flags = function.__code__.co_flags & FUTURE
    module = compile(ast.Module([node], []), function.__code__.co_filename, "exec", flags, dont_inherit=True)
    code = next(one for one in module.co_consts if isinstance(one, types.CodeType) and one.co_name == node.name)
    made = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def source_of(function: types.FunctionType) -> FunctionNode | None:
    """The syntax tree of `function`, or None: no source, or the file has changed since it was imported."""
    code = function.__code__
    if (made_of := node_made_from(function)) is not None:
        return made_of
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        linecache.checkcache(code.co_filename)
        lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        return None
    known = _FOUND.get(id(code))
    if known is not None and (known[1] is lines or known[1] == lines):
        return known[2]
    if len(_FOUND) > _MOST_FOUND:
        _FOUND.clear()
    node = _find_alone(code, lines) or _find(code, "".join(lines))
    _FOUND[id(code)] = (code, lines, node)
    return node


def _find_alone(code: types.CodeType, lines: list[str]) -> FunctionNode | None:
    """Of a long file only the lines of a function at its top level: to parse all of NumPy's takes a tenth of a second a file."""
    first = code.co_firstlineno - 1
    if len(lines) < _LONG_FILE or code.co_qualname != code.co_name or lines[first][:1].isspace():
        return None
    begin = next((k for k in range(first, len(lines)) if lines[k].startswith("def ")), first)
    ends = (k for k in range(begin + 1, len(lines)) if lines[k][:1] not in _INSIDE)
    text = "\n" * first + "".join(lines[first : next(ends, len(lines))])
    functions = _functions_in(text, code)  # None where a text of several lines begins one of them, say
    nodes, codes = (functions or {}).get((code.co_firstlineno, code.co_name), ([], []))
    is_it = len(nodes) == len(codes) == 1 and _same_code(codes[0], code) and _same_place(codes[0], code)
    return nodes[0] if is_it else None


def _find(code: types.CodeType, text: str) -> FunctionNode | None:
    found = _find_in(code, text, is_of_cell=False)
    if found is None and not os.path.exists(code.co_filename):
        return _find_in(code, text, is_of_cell=True)
    return found


def _find_in(code: types.CodeType, text: str, *, is_of_cell: bool) -> FunctionNode | None:
    flags = code.co_flags & FUTURE
    key = (code.co_filename, hash(text), flags, is_of_cell)
    if key not in _MODULES:
        if (functions := _functions_in(text, code, is_of_cell)) is None:
            return None
        if len(_MODULES) > _MOST_MODULES:
            _MODULES.clear()
        _MODULES[key] = functions
    nodes, codes = _MODULES[key].get((code.co_firstlineno, code.co_name), ([], []))
    if len(nodes) != len(codes):
        return None
    # `def f(): pass` in one line has no columns; where it is alone in its line, none are needed.
    for node, candidate in _pairs(nodes, codes) if len(nodes) > 1 else zip(nodes, codes, strict=True):
        if _same_code(candidate, code) and (len(nodes) == 1 or _same_place(candidate, code)):
            return node
    return None


def _functions_in(text: str, code: types.CodeType, is_of_cell: bool = False) -> _ByStart | None:
    """Those of a text that is compiled as `code` was; None where it does not parse. IPython compiles each statement of a cell by itself,
    and Python's code for `np.sin(x)` is another one beside `import numpy as np`."""
    try:
        tree = with_matches_as_ifs(with_spelt_names(ast.parse(text)))
        parts: list[Any] = [ast.Module([one], []) for one in ast.parse(text).body] if is_of_cell else [text]
        flags = code.co_flags & FUTURE
        codes = [compile(one, code.co_filename, "exec", flags, dont_inherit=True) for one in parts]
    except (SyntaxError, ValueError):
        return None
    return _by_start(tree, codes)


def is_private(name: str) -> bool:
    return name.startswith("__") and not name.endswith("__") and "." not in name


def with_spelt_names(tree: ast.Module) -> ast.Module:
    """The tree, in which private names of classes (`self.__x`) are spelt as Python spells them in code (`self._Class__x`)."""
    for one in ast.walk(tree):
        if isinstance(one, ast.ClassDef) and (name := one.name.lstrip("_")):
            methods = set(map(id, one.body))
            for item in inside(one.body, ast.ClassDef):
                if id(item) not in methods:
                    _spell(item, f"_{name}")
    return tree


def _spell(item: ast.AST, prefix: str) -> None:
    """Where it stands for a variable or an attribute. The code of a function is called as it is written."""
    if isinstance(item, DEFINITIONS) and is_private(item.name):
        item.__dict__[_WRITTEN], item.name = item.name, prefix + item.name
    if isinstance(item, (ast.Global, ast.Nonlocal)):
        item.names = [prefix + name if is_private(name) else name for name in item.names]
    kinds = {ast.Name: "id", ast.Attribute: "attr", ast.arg: "arg", ast.ExceptHandler: "name"}
    field = kinds.get(type(item))
    if field is not None and is_private(getattr(item, field) or ""):
        setattr(item, field, prefix + getattr(item, field))


def _by_start(tree: ast.Module, module_codes: Iterable[types.CodeType]) -> _ByStart:
    found: _ByStart = {}
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS):
            found.setdefault((_first_line(node), _name(node)), ([], []))[0].append(node)
    for code in (one for each in module_codes for one in code_objects(each)):
        found.setdefault((code.co_firstlineno, code.co_name), ([], []))[1].append(code)
    return found


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
    return "<lambda>" if isinstance(node, ast.Lambda) else getattr(node, _WRITTEN, node.name)


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
