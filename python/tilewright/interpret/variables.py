"""Names of an interpreted function: what they mean, and what is assigned to them and to other targets."""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..ops.layouts import Flags
from ..ops.operands import is_symbolic
from ..symbolic.arrays import SymArray
from ..symbolic.graph import PLAIN_OPERATIONS
from ..symbolic.number import Symbolic
from .array_lists import refuse_plain
from .carried_attributes import is_same
from .frame import Frame, Pending
from .object_operators import ObjectOperators
from .plain_arrays import WrittenWithTraced, place_of
from .pure import is_numpys
from .state import Part, State


class Variables(Part):
    """The part of the interpreter that reads and assigns variables."""

    def __init__(
        self,
        state: State,
        evaluate: Callable[[ast.expr], Any],
        set_attribute: Callable[[ast.Attribute, Any, Any], None],
        operators: ObjectOperators,
    ) -> None:
        """`set_attribute` is MadeObjects.set."""
        super().__init__(state)
        self.operators = operators
        self.evaluate = evaluate
        self.set_attribute = set_attribute

    def load(self, node: ast.Name) -> Any:
        name = node.id
        frame: Frame | None = self.frame
        first = frame
        while frame is not None:
            if name in frame.variables and name not in frame.globals:
                held = frame.variables[name]
                return held.read() if isinstance(held, Pending) else held
            if frame is first and name in frame.locals:
                raise UnboundLocalError(
                    f"cannot access local variable '{name}' where it is not associated with a value"
                )
            function = frame.function
            if function is not None:
                return self.load_outer(function, name)
            frame = frame.parent
        raise NameError(f"name '{name}' is not defined")

    def load_outer(self, function: types.FunctionType, name: str) -> Any:
        """A variable of a closure, a global or a builtin."""
        if name in function.__code__.co_freevars:
            cell = (function.__closure__ or ())[function.__code__.co_freevars.index(name)]
            try:
                contents = cell.cell_contents
            except ValueError:
                raise NameError(f"cannot access free variable '{name}'") from None
            self.tracer.reads_outside((id(cell), name), cell)
            if function is self.tracer.cache.get("function"):
                return self.inputs.outside((("closure", name),), contents)
            return self.inputs.outside((*self.inputs.path_of_function(function), ("cell", name)), contents)
        if is_numpys(function):
            return function.__globals__[name] if name in function.__globals__ else getattr(builtins, name)
        if name in function.__globals__:
            namespace = function.__globals__
            self.tracer.reads_outside((id(namespace), name), (namespace, name))
            return self.inputs.outside(self.inputs.global_path(function, name), function.__globals__[name])
        if hasattr(builtins, name):
            return self.inputs.builtin(function, name, getattr(builtins, name))
        raise NameError(f"name '{name}' is not defined")

    def assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.name_value(target.id, value)
            self.store(target, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value)
        elif isinstance(target, ast.Subscript):
            owner = self.evaluate(target.value)
            key = self.evaluate(target.slice)
            if self.operators.has(owner, "__setitem__"):
                self.operators.call(target, owner, "__setitem__", key, value)
                return
            self.refuse_plain(owner, key)
            asked = f"assigning an item of {ast.unparse(target.value)}"
            is_own = self.is_own_item(owner, key)
            if not is_own and not self.sets_items(owner, key):
                self.changes_outer(target, owner, asked)
            self.refuse_object(target, *self.in_key(owner, key), value if isinstance(owner, SymArray) else None)
            self.refuse_traced_in_plain(target, owner, key, value)
            if is_own:
                self.set_own_item(target, owner, key, value, asked)
                return
            owner[key] = value
            if isinstance(target.value, ast.Name):
                self.name_value(target.value.id, owner)
        elif isinstance(target, ast.Attribute):
            owner = self.evaluate(target.value)
            if isinstance(owner, SymArray) and target.attr in ("real", "imag", "flat") and not owner.is_scalar:
                if target.attr == "imag" and owner.dtype.kind != "c":
                    np.zeros(1, owner.dtype).imag = 0  # NumPy's own error
                getattr(owner, target.attr)[slice(None) if target.attr == "flat" else ...] = value
                return
            if isinstance(owner, SymArray) and target.attr == "shape" and self._is_reshaped(owner, value):
                return
            if isinstance(owner, SymArray):
                raise self.error(target, f"assigning the attribute {target.attr} of an array",
                                 "there is no rule for it", "Use reshape or astype.")  # fmt: skip
            if isinstance(owner, Flags) and target.attr == "writeable":
                owner.writeable = value
                return
            self.set_attribute(target, owner, value)
        else:
            raise self.error(target, f"assigning to {ast.unparse(target)}", "there is no rule for it",
                             "Assign to plain names.")  # fmt: skip

    def set_own_item(self, node: ast.AST, owner: dict[Any, Any], key: Any, value: Any, asked: str) -> None:
        if is_same(owner[key], value):
            return
        self.carry_in_regions(owner, key, True, lambda: self.refuse_in_region(node, owner, asked))
        owner[key] = value

    def _is_reshaped(self, owner: SymArray, shape: Any) -> bool:
        """Gives an array that the function made another shape in place, where that is a view for certain."""
        is_of_the_caller = owner.storage.argument is not None and not owner.chain
        if owner.is_scalar or is_of_the_caller or len(self.tracer.blocks) > 1:
            return False
        made = owner.reshape(shape)
        if made.storage is not owner.storage or made.may_be_a_copy():
            return False
        owner.take_form_of(made)
        return True

    def refuse_plain(self, owner: Any, key: Any) -> None:
        """Where an item is written of a list that has to lie in an array, the trace begins again."""
        refuse_plain(self.tracer, owner, key, any(id(owner) in held for held in self.state.containers))

    def refuse_traced_in_plain(self, node: ast.AST, owner: Any, key: Any, value: Any) -> None:
        """An array of plain values holds no traced ones: where its call is known, the trace begins again."""
        if not isinstance(owner, np.ndarray) or not (
            isinstance(value, Symbolic) or is_symbolic(self.in_key(owner, key))
        ):
            return
        self.at(node)
        refusal = self.tracer.error_of(
            WrittenWithTraced,
            "storing a traced value in an array of plain values; the array was made by a call that is not traced.",
            "Make it with np.zeros or np.empty inside of the function.",
        )
        refusal.place = place_of(self.tracer, [owner])
        raise refusal

    def name_value(self, name: str, value: Any) -> None:
        """A variable names the value that was computed for it."""
        if isinstance(value, SymArray) and value.storage.argument is None and not value.chain:
            held = value.storage.value
            if not held.user_name and held.operation not in PLAIN_OPERATIONS and name.strip("_"):
                held.user_name = name

    def _unpack(self, target: ast.Tuple | ast.List, value: Any) -> None:
        self.refuse_object(target, value)
        if isinstance(value, SymArray):
            if any(isinstance(element, ast.Starred) for element in target.elts):
                items = list(value)
            else:
                wanted = len(target.elts)
                if value.ndim == 0:
                    raise TypeError("cannot unpack non-iterable scalar")
                message = f"unpacking {wanted} values"
                self.tracer.require("==", value.sizes[0], wanted, message, ValueError)
                items = [value[k] for k in range(wanted)]
        else:
            items = list(value)
        starred = [k for k, element in enumerate(target.elts) if isinstance(element, ast.Starred)]
        if starred:
            k = starred[0]
            after = len(target.elts) - k - 1
            if len(items) < len(target.elts) - 1:
                raise ValueError(
                    f"not enough values to unpack (expected at least {len(target.elts) - 1}, got {len(items)})"
                )
            middle = items[k : len(items) - after]
            items = [*items[:k], middle, *items[len(items) - after :]]
        if len(items) < len(target.elts):
            raise ValueError(f"not enough values to unpack (expected {len(target.elts)}, got {len(items)})")
        if len(items) > len(target.elts):
            raise ValueError(f"too many values to unpack (expected {len(target.elts)})")
        for element, item in zip(target.elts, items, strict=True):
            self.assign(element.value if isinstance(element, ast.Starred) else element, item)

    def store(self, target: ast.Name, value: Any) -> None:
        frame: Frame | None = self.frame
        assert frame is not None
        if target.id in frame.globals:
            raise self.error(target, f"assigning the global {target.id}", "it would happen only once, while tracing",
                             "Return the value, and assign it at the caller.")  # fmt: skip
        if target.id in frame.nonlocals:
            frame = frame.parent
            while frame is not None and target.id not in frame.locals:
                frame = frame.parent
            if frame is not None and frame.block is not self.tracer.blocks[-1]:
                raise self.error(target, f"loops: assigning the outer variable {target.id} in a run-time loop or branch",
                                 "only the variables of the function that the loop is in are carried",
                                 "Return the value, and assign it in the loop.")  # fmt: skip
            if frame is None:
                raise self.error(target, f"assigning the outer variable {target.id}",
                                 "it would happen only once, while tracing",
                                 "Return the value, and assign it at the caller.")  # fmt: skip
        frame.variables[target.id] = value

    @staticmethod
    def in_key(owner: Any, key: Any) -> tuple[Any, ...]:
        """What is asked for a number where items are found by it; the keys of a dict are themselves."""
        return () if isinstance(owner, dict) else key if type(key) is tuple else (key,)
