"""Operators of users' classes, on objects of the caller or made by the function: their methods are followed as any others are."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable
from typing import Any

from ..originals import original_of
from .state import Part, State

_COMPARE = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
_SWAPPED = {"eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
_NONE: Any = object()


class ObjectOperators(Part):
    """The part of the interpreter that finds the methods behind operators."""

    def __init__(self, state: State, call: Callable[..., Any]) -> None:
        """`call` is Calls.call."""
        super().__init__(state)
        self._call = call

    def has(self, value: Any, name: str) -> bool:
        """Whether it is an object, of the caller or made by the function, whose class has that method in Python."""
        is_one = self.tracer.is_made(value) or self.inputs.is_object(value)
        held = inspect.getattr_static(type(value), name, None) if is_one else None
        return isinstance(original_of(held), types.FunctionType)

    def call(self, node: ast.AST, owner: Any, name: str, *args: Any) -> Any:
        method = self.inputs.of_class(type(owner), name)
        return self._call(node, method, [owner, *args], {})

    def binary(self, node: ast.AST, name: str, left: Any, right: Any, in_place: bool = False) -> Any:
        """`left + right` of `name` add, as Python finds it; _NONE (see `found`) where no method is an object's of the function."""
        if in_place and self.has(left, f"__i{name}__"):
            result = self.call(node, left, f"__i{name}__", right)
            if result is not NotImplemented:
                return result
        return self._first(node, left, right, f"__{name}__", f"__r{name}__")

    def comparison(self, node: ast.AST, operation: ast.cmpop, left: Any, right: Any) -> Any:
        name = _COMPARE.get(type(operation))
        return _NONE if name is None else self._first(node, left, right, f"__{name}__", f"__{_SWAPPED[name]}__")

    def _first(self, node: ast.AST, left: Any, right: Any, name: str, swapped: str) -> Any:
        ways = [(left, name, right), (right, swapped, left)]
        is_heir = type(left) is not type(right) and isinstance(right, type(left))
        if is_heir and getattr(type(right), swapped, None) is not getattr(type(left), swapped, None):
            ways.reverse()  # the method of the class that is derived comes first
        # A number or an array beside it: numbers of Python's leave it to the object, NumPy's arrays take it for an element.
        # What methods of C make of it, nobody knows.
        of_c = getattr(type(left), name, None) if not self.has(left, name) else None
        is_of_c = self.inputs.is_object(left) and of_c not in (None, getattr(object, name, None))
        if not self.tracer.is_made(left) and (hasattr(left, "dtype") or is_of_c):
            return _NONE
        tried = False
        for owner, method, other in ways:
            if type(left) is type(right) and method == swapped and name != swapped and method[2] == "r":
                break  # of one class, the other one's is not asked
            if self.has(owner, method):
                result = self.call(node, owner, method, other)
                if result is not NotImplemented:
                    return result
                tried = True
        if tried:
            raise TypeError(
                f"unsupported operand type(s) for {name}: '{type(left).__name__}' and '{type(right).__name__}'"
            )
        return _NONE

    @staticmethod
    def found(result: Any) -> bool:
        return result is not _NONE
