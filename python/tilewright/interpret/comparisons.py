"""Comparisons of an interpreted function: chains of ==, <, is and in."""

from __future__ import annotations

import ast
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..ops.elementwise import apply_ufunc
from ..ops.python_numbers import python_scalar_cast
from ..symbolic.arrays import SymArray
from ..symbolic.compressed import Compressed
from ..symbolic.number import Symbolic
from ..symbolic.run_numbers import RunScalar
from ..symbolic.scalars import SymInt, SymScalar
from .branches import Branches
from .calls import Calls
from .kept_objects import KeptObject
from .staged_texts import StagedText
from .state import Part, State
from .tables import has_key, same_items

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip
_ELEMENTS = (bool, int, float, np.number, np.bool_, SymInt, SymScalar, SymArray)  # what may be in an array


class Comparisons(Part):
    """The part of the interpreter that compares."""

    def __init__(self, state: State, branches: Branches, calls: Calls, evaluate: Callable[[ast.expr], Any]) -> None:
        super().__init__(state)
        self.choose, self.negated = branches.choose, branches.negated
        self.calls, self.operators = calls, calls.operators
        self.evaluate = evaluate

    def compared_from(self, node: ast.Compare, position: int, left: Any) -> Any:
        """The comparisons of a chain from one on, whose left side is there."""
        operation = node.ops[position]
        right = self.evaluate(node.comparators[position])
        self.at(node)
        if self.operators.found(by_method := self.operators.comparison(node, operation, left, right)):
            return self._go_on(node, position, right, by_method)
        if isinstance(operation, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq, ast.In, ast.NotIn)):
            if isinstance(operation, (ast.Is, ast.IsNot)):
                same = self._is_same_object(node, left, right)
                if same is not None:
                    return self._go_on(node, position, right, same == isinstance(operation, ast.Is))
                if isinstance(left, SymArray) and isinstance(right, SymArray):
                    is_one = self._one_or_two(node, left, right)
                    return self._go_on(node, position, right, is_one == isinstance(operation, ast.Is))
            if isinstance(operation, (ast.Eq, ast.NotEq, ast.In, ast.NotIn)):
                self._refuse_own_equality(node, left, right)
            self.inputs.pin(left)
            self.inputs.pin(right)
        else:
            self.refuse_object(node, left, right)
        if isinstance(operation, (ast.Eq, ast.NotEq)):
            self._refuse_no_numbers(node, left, right)
            self._refuse_no_numbers(node, right, left)
        if isinstance(left, StagedText) or isinstance(right, StagedText):
            return self._go_on(node, position, right, self._compare_texts(node, operation, left, right))
        if isinstance(operation, (ast.In, ast.NotIn)):
            if self._says_what_it_contains(right):
                contains = self.calls.get_attribute(node, right, "__contains__")
                held = self.truth(node, self.calls.call_function(contains.__func__, [right, left], {}), "an in")
                result = held == isinstance(operation, ast.In)
                return self._go_on(node, position, right, result)
            if isinstance(right, SymArray) and right.sizes and isinstance(left, _ELEMENTS):
                found = apply_ufunc(self.tracer, np.equal, (right, left)).any()
                if isinstance(operation, ast.NotIn):
                    found = np.logical_not(found)
                return self._go_on(node, position, right, python_scalar_cast(self.tracer, bool, found))
            if (found := has_key(self.tracer, right, left)) is not NotImplemented:
                found = self.negated(node, found) if isinstance(operation, ast.NotIn) else found
                return self._go_on(node, position, right, found)
            if isinstance(left, SymArray):
                raise self.error(node, f"testing whether {ast.unparse(node.left)} is in something",
                                 "its elements are known only when the compiled function runs",
                                 "Use comparisons of arrays.")  # fmt: skip
            result = (left in right) == isinstance(operation, ast.In)
        elif (
            isinstance(operation, (ast.Eq, ast.NotEq))
            and (same := same_items(self.tracer, left, right)) is not NotImplemented
        ):
            if type(same) is bool:
                return self._go_on(node, position, right, same == isinstance(operation, ast.Eq))
            negated = self.negated(node, same)
            return self._go_on(node, position, right, same if isinstance(operation, ast.Eq) else negated)
        else:
            result = _COMPARE[type(operation)](left, right)
        return self._go_on(node, position, right, result)

    def _compare_texts(self, node: ast.Compare, operation: ast.cmpop, left: Any, right: Any) -> Any:
        """A comparison with bytes or a text that is made of elements."""
        text, other = (left, right) if isinstance(left, StagedText) else (right, left)
        if isinstance(operation, (ast.Is, ast.IsNot)) and other is None:
            return isinstance(operation, ast.IsNot)
        if not isinstance(operation, (ast.Eq, ast.NotEq)):
            raise text.refused("comparing")
        same = text.same_as(other)
        return same if isinstance(operation, ast.Eq) else self.negated(node, same)

    def _go_on(self, node: ast.Compare, position: int, right: Any, result: Any) -> Any:
        """The rest of a chain of comparisons, behind one that gave a result."""
        if position == len(node.ops) - 1:
            return result
        if self.is_of_the_run(result):
            return self.choose(node, result, lambda: self.compared_from(node, position + 1, right), lambda: result)
        if not self.truth(node, result, "a chained comparison"):
            return result
        return self.compared_from(node, position + 1, right)

    def _refuse_own_equality(self, node: ast.Compare, left: Any, right: Any) -> None:
        """`==` and `in` of objects whose class says what is equal: that code would not be followed."""
        for value in (left, right):
            held = self.inputs.objects_in(value)
            if held is not None and not isinstance(type(held).__eq__, types.WrapperDescriptorType):
                self.refuse_object(node, held)
        for operation in node.ops:
            if isinstance(operation, (ast.In, ast.NotIn)) and not self._says_what_it_contains(right):
                self.refuse_object(node, right)

    def _says_what_it_contains(self, value: Any) -> bool:
        """Whether `in` asks a method of the object's class, in Python, which is followed."""
        is_an_object = self.tracer.is_made(value) or self.inputs.is_object(value)
        return is_an_object and isinstance(getattr(type(value), "__contains__", None), types.FunctionType)

    def _refuse_no_numbers(self, node: ast.AST, array: Any, other: Any) -> None:
        """NumPy compares each element with None or a text, where Python compares the objects."""
        if isinstance(array, (SymArray, Compressed)) and (other is None or isinstance(other, (str, bytes))):
            raise self.error(node, f"{ast.unparse(node)}, an array beside a {type(other).__name__}",
                             "only numbers are compared in compiled code", "Use is None, or compare numbers.")  # fmt: skip

    def _is_same_object(self, node: ast.AST, left: Any, right: Any) -> bool | None:
        """Whether a number is the other object; None where Python itself tells."""
        for kept, other in ((left, right), (right, left)):
            if isinstance(kept, KeptObject) and isinstance(other, (KeptObject, SymArray)) and kept is not other:
                raise kept.refused()
        for number, other in ((left, right), (right, left)):
            if not isinstance(number, Symbolic) or isinstance(number, (SymArray, Compressed)) or number is other:
                continue
            if not isinstance(other, (Symbolic, bool, int, float, complex, np.generic)):
                return False
            kind = int if isinstance(number, SymInt) else type(getattr(number, "hint", None))
            if isinstance(other, bool) and not getattr(number, "kinds", None):
                if kind is not bool:
                    return False
                if isinstance(number, SymScalar) and not isinstance(number, RunScalar):
                    return number.concrete() is other
            raise self.error(node, f"{ast.unparse(node)}, the identity of numbers",
                             "equal numbers need not be one object", "Compare with ==.")  # fmt: skip
        self.inputs.tell_apart(left, right)
        return None

    def _one_or_two(self, node: ast.AST, left: SymArray, right: SymArray) -> bool:
        """Whether two arrays are one object."""
        is_one = self.inputs.is_one(left, right)
        if is_one is None:
            raise self.error(node, f"{ast.unparse(node)}, the identity of two arrays",
                             "whether they are one object differs from call to call",
                             "Decide it at the caller.")  # fmt: skip
        return is_one
