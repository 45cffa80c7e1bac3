"""What a function calls by names, as its text says: functions and classes of the user's, which may be compiled by themselves."""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
import types
from collections.abc import Iterator
from typing import Any

from ..pure_functions import is_pure
from .inner_loops import is_loop
from .inner_objects import is_users_class, may_be_run
from .pure import is_numpys, module_of
from .source import source_of

PREFIX = "__tilewright_inner_"


def text_of(function: types.FunctionType) -> Any:
    return getattr(function, "__tilewright_node__", None) or source_of(function)


def has_levels(function: types.FunctionType) -> bool:
    """Whether there may be something in it that is worth a compilation of its own: loops, functions of the user's."""
    node = text_of(function)
    loops = sum(isinstance(one, (ast.For, ast.While)) for one in ast.walk(node)) if node is not None else 0
    return loops > is_loop(function) or (node is not None and any(called_in(function, node)))


def called_in(function: types.FunctionType, node: ast.AST) -> Iterator[tuple[str, Any]]:
    """The functions and classes that it calls by names which are not its own variables, those of modules too: `module.f`."""
    code = function.__code__
    own = {*code.co_varnames, *code.co_cellvars}
    names, bound = set(), set()
    for item in ast.walk(node):  # once: there may be thousands of them
        if isinstance(item, ast.Name):
            if not isinstance(item.ctx, ast.Load):
                bound.add(item.id)
        elif isinstance(item, ast.Call):
            if (name := _dotted(item.func)) is not None:
                names.add(name)
        elif isinstance(item, ast.arg):
            bound.add(item.arg)
        elif isinstance(item, ast.Global | ast.Nonlocal):
            bound.update(item.names)
    for name in sorted(names):
        if name.partition(".")[0] in own or name.partition(".")[0] in bound:
            continue
        found = looked_up(function, name)
        if not name.startswith("__tilewright") and (_can_be_compiled(found) or _makes_objects(found)):
            yield name, found


def _dotted(node: ast.expr) -> str | None:
    """`f`, `module.f`; None where it is no name, or one of what an expression gives."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def looked_up(function: types.FunctionType, name: str) -> Any:
    """What a name of it means, or one in a module; None where it means nothing there."""
    name, *attributes = name.split(".")
    found = _looked_up(function, name)
    for attribute in attributes:
        if type(found) is not types.ModuleType:
            return None
        found = vars(found).get(attribute)
    return found


def _looked_up(function: types.FunctionType, name: str) -> Any:
    if name in function.__code__.co_freevars:
        cell = (function.__closure__ or ())[function.__code__.co_freevars.index(name)]
        return cell.cell_contents if cell != types.CellType() else None
    return function.__globals__.get(name, getattr(builtins, name, None))


def _makes_objects(kind: Any) -> bool:
    return is_users_class(kind) and may_be_run(vars(kind).get("__init__"))


def _can_be_compiled(function: Any) -> bool:
    if not isinstance(function, types.FunctionType) or is_numpys(function) or is_pure(function):
        return False
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function) or _changes_others(function):
        return False
    return module_of(function).split(".")[0] not in sys.stdlib_module_names


def _changes_others(function: types.FunctionType) -> bool:
    """Whether the text of a function says that it changes what is not its own: variables and items from outside of it."""
    node, code = source_of(function), function.__code__
    if not isinstance(node, ast.FunctionDef):
        return True
    known = _changes.get(id(code))
    if known is None or known[0] is not code or known[1] is not node:
        if len(_changes) > _MOST_KNOWN:
            _changes.clear()
        known = _changes[id(code)] = code, node, _says_changes(node, code)
    return known[2]


# Of functions that others call, by their code, which is kept with it: many call the same ones.
_changes: dict[int, tuple[types.CodeType, ast.FunctionDef, bool]] = {}
_MOST_KNOWN = 4096


def _says_changes(node: ast.FunctionDef, code: types.CodeType) -> bool:
    own = {*code.co_varnames, *code.co_cellvars}

    def is_outside(part: ast.AST) -> bool:
        while isinstance(part, (ast.Attribute, ast.Subscript)):
            part = part.value
        return isinstance(part, ast.Name) and part.id not in own

    for item in ast.walk(node):
        if isinstance(item, (ast.Global, ast.Nonlocal)):
            return True
        if isinstance(item, (ast.Attribute, ast.Subscript)) and not isinstance(item.ctx, ast.Load) and is_outside(item):
            return True
        is_method = isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute)
        if is_method and item.func.attr in _CHANGING and is_outside(item.func.value):  # type: ignore[attr-defined]
            return True
    return False


_CHANGING = frozenset(
    [
        "append", "extend", "insert", "pop", "remove", "clear", "add", "discard", "update", "setdefault", "popitem", "appendleft",
        "sort", "reverse", "write", "fill", "put", "resize",
    ]
)  # fmt: skip


class Renamed(ast.NodeTransformer):
    """`f(x)` as `__tilewright_inner_f(x)`, `module.f(x)` as what is called `__tilewright_inner_module.f`."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        if (name := _dotted(node.func)) in self.names:
            node.func = ast.copy_location(ast.Name(f"{PREFIX}{name}", ast.Load()), node.func)
        return node
