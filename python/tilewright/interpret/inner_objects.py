"""Objects of the user's classes in what Python runs: where their methods take long, what is in those is compiled by itself."""

from __future__ import annotations

import ast
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, Protocol

_METHOD = "method_"


class Run(Protocol):
    """What runs a function."""

    @property
    def was_called(self) -> bool: ...

    @property
    def runs(self) -> list[Any]:
        """What runs its calls, where that is not Python alone."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


Runs = Callable[[types.FunctionType], Run]


def is_users_class(kind: Any) -> bool:
    """Whether Python makes and reads objects of a class as it does by default."""
    if type(kind) is not type or str(kind.__module__).split(".")[0] in _OF_OTHERS:
        return False
    return kind.__getattribute__ is object.__getattribute__ and kind.__new__ is object.__new__


_OF_OTHERS = frozenset([*sys.stdlib_module_names, "numpy", "scipy", "tilewright"])


class MadeBy:
    """A class that is called by a name of the module: its `__init__` is run by what `run` makes of it."""

    def __init__(self, kind: type, run: Runs) -> None:
        self.kind = kind
        self.init = kind.__init__  # type: ignore[misc]
        self._run = run(self.init)
        self.cell = types.CellType(self._made)

    @property
    def runs(self) -> list[Any]:
        return self._run.runs

    @property
    def was_called(self) -> bool:
        return self._run.was_called

    def _made(self, *args: Any, **kwargs: Any) -> Any:
        if self.kind.__init__ is not self.init or not is_users_class(self.kind):  # type: ignore[misc]
            return self.kind(*args, **kwargs)
        made: Any = object.__new__(self.kind)
        given = self._run(made, *args, **kwargs)
        if given is not None:
            raise TypeError(f"__init__() should return None, not '{type(given).__name__}'")
        return made


class Method:
    """A name by which methods are called: those of users' classes are run by what `run` makes of them."""

    def __init__(self, name: str, run: Runs) -> None:
        self.name, self._run = _METHOD + name, run
        self._attribute = name
        self._known: dict[type, tuple[Any, Run] | None] = {}
        self.cell = types.CellType(self._of)

    @property
    def runs(self) -> list[Any]:
        """What runs the calls of those that were seen, where that is not Python alone; itself before any was."""
        return (
            [run for one in self._known.values() if one is not None for run in one[1].runs] if self._known else [self]
        )

    @property
    def was_called(self) -> bool:
        return bool(self._known)

    def _of(self, owner: Any) -> Any:
        kind = type(owner)
        if kind not in self._known:
            found = inspect.getattr_static(kind, self._attribute, None)
            is_users = is_users_class(kind) and may_be_run(found)
            self._known[kind] = (found, self._run(found)) if is_users and found is not None else None
        known = self._known[kind]
        if known is None or getattr(kind, self._attribute, None) is not known[0]:
            return getattr(owner, self._attribute)
        # Of a class, all but how it reads attributes is as it was when it was first seen.
        if kind.__getattribute__ is not object.__getattribute__ or self._attribute in getattr(owner, "__dict__", ()):
            return getattr(owner, self._attribute)
        return types.MethodType(known[1], owner)


def may_be_run(function: Any) -> bool:
    """Whether it is a plain function whose statements can stand in another one."""
    if type(function) is not types.FunctionType or "__class__" in function.__code__.co_freevars:
        return False
    return not (inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function))


def methods_called(function: types.FunctionType, node: ast.AST) -> Iterator[str]:
    """Names of methods of the module's classes that are called in it."""
    classes = [one for one in list(function.__globals__.values()) if isinstance(one, type) and is_users_class(one)]
    named = {
        name
        for one in classes
        for base in one.__mro__
        for name, value in vars(base).items()
        if type(value) is types.FunctionType and not name.startswith("__")
    }
    called = {
        item.func.attr for item in ast.walk(node) if isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute)
    }
    yield from sorted(called & named)


class MethodsByCells(ast.NodeTransformer):
    """`x.f(y)` as `prefix_method_f(x)(y)`."""

    def __init__(self, names: set[str], prefix: str) -> None:
        self.names, self.prefix = names, prefix

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in self.names:
            bound = ast.Call(ast.Name(self.prefix + _METHOD + node.func.attr, ast.Load()), [node.func.value], [])
            node.func = ast.fix_missing_locations(ast.copy_location(bound, node.func))
        return node
