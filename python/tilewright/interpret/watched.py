"""Runs a function as plain Python, and looks at what the functions give that it calls."""

from __future__ import annotations

import ast
import copy
import types
from collections.abc import Callable
from typing import Any

from ..callees import is_decided_by_data, is_pure, watching
from .pure import is_numpys
from .source import FUTURE, source_of

_NAME = "__tilewright_watch__"
_INNER = "__tilewright_watched__"


def run_watched(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return _watch(function)(*args, **kwargs)


def _watch(function: Any) -> Any:
    """What stands for a function that is about to be called: itself, where nothing is to be seen."""
    if is_pure(function) or is_decided_by_data(function):
        return watching(function)
    if isinstance(function, types.MethodType) and isinstance(function.__func__, types.FunctionType):
        watched = _watch(function.__func__)
        return function if watched is function.__func__ else types.MethodType(watched, function.__self__)
    if isinstance(function, types.FunctionType) and not is_numpys(function):
        return _copy_that_watches(function) or function
    return function


class _Calls(ast.NodeTransformer):
    """`f(x)` as `watch(f)(x)`."""

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        watched = ast.Call(ast.Name(_NAME, ast.Load()), [node.func], [])
        node.func = ast.copy_location(watched, node.func)
        ast.copy_location(watched.func, node.func)
        return node


def _copy_that_watches(function: types.FunctionType) -> Callable[..., Any] | None:
    """The function with each call looked at; None without source."""
    node = source_of(function)
    if node is None or isinstance(node, ast.AsyncFunctionDef):
        return None
    code = function.__code__
    made = _Calls().visit(copy.deepcopy(node))
    if isinstance(made, ast.FunctionDef):
        made.decorator_list = []
        made.name = _INNER  # its own name stays the global that a recursive call reads
        body: list[ast.stmt] = [made]
    else:
        body = [ast.copy_location(ast.Expr(made), made)]
    # Variables of functions around it stay those.
    names = [*code.co_freevars, _NAME]
    arguments = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
    around = ast.copy_location(ast.FunctionDef("around", arguments, body, [], None), node)
    module = ast.fix_missing_locations(ast.Module([around], []))
    compiled = compile(module, code.co_filename, "exec", code.co_flags & FUTURE, dont_inherit=True)
    outer = next(one for one in compiled.co_consts if isinstance(one, types.CodeType))
    inner = next(
        (one for one in outer.co_consts if isinstance(one, types.CodeType) and one.co_name in (_INNER, code.co_name)),
        None,
    )
    if inner is None or not set(code.co_names) <= {*inner.co_names}:
        return None  # names of a class, which another place would spell in another way
    inner = inner.replace(co_name=code.co_name, co_qualname=code.co_qualname)
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    cells[_NAME] = types.CellType(_watch)
    closure = tuple(cells[name] for name in inner.co_freevars)
    copied = types.FunctionType(inner, function.__globals__, function.__name__, function.__defaults__, closure)
    copied.__kwdefaults__ = function.__kwdefaults__
    copied.__qualname__, copied.__module__, copied.__dict__ = (
        function.__qualname__,
        function.__module__,
        function.__dict__,
    )
    return copied
