"""with statements: what a context manager does around a block happens while tracing, where the call leaves no trace of it."""

from __future__ import annotations

import ast
import contextlib
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..errors import TraceError
from ..symbolic.located import pushed
from .expressions import Expressions
from .frame import Break, Continue, Control, Return
from .state import Part, State

# The function that contextlib.contextmanager() makes of a generator function.
_MADE_BY_CONTEXTLIB = contextlib.contextmanager(lambda: iter(())).__code__
_KEPT_BY_NUMPY = ("ignore", "warn")  # of np.errstate: compiled code raises no floating-point errors, and warns of none
# Of an object of np.errstate; None where it is not given.
_SETTINGS = ("_all", "_divide", "_over", "_under", "_invalid")


class Managers(Part):
    """The part of the interpreter that runs with statements."""

    def __init__(self, state: State, expressions: Expressions, block: Callable[..., Any]) -> None:
        """`block` is that of Interpreter."""
        super().__init__(state)
        self.evaluate, self.keywords = expressions.evaluate, expressions.keywords
        self.assign, self.call_function = expressions.variables.assign, expressions.calls.call_function
        self.block = block

    def run(self, node: ast.With, items: list[ast.withitem]) -> None:
        """The block within the managers of `items`, each in the next."""
        if not items:
            self.block(node.body)
            return
        item, made = items[0], items[0].context_expr
        function: Any = self.evaluate(made.func) if isinstance(made, ast.Call) else None
        if isinstance(made, ast.Call) and function is np.errstate and not made.args:
            self._keep_errstate(node, item, self.keywords(made))
            self.run(node, items[1:])
        elif isinstance(made, ast.Call) and function is warnings.catch_warnings and not made.args and not made.keywords:
            if item.optional_vars is not None:
                self.assign(item.optional_vars, None)
            before = self.tracer.complex_is_error
            try:
                with pushed(self.tracer.silenced, ast.unparse(made)):
                    self.run(node, items[1:])
            finally:
                self.tracer.complex_is_error = before
        elif isinstance(made, ast.Call) and getattr(function, "__code__", None) is _MADE_BY_CONTEXTLIB:
            given = self.evaluate(ast.copy_location(ast.Tuple(made.args, ast.Load()), made))
            self._run_generator(node, items, function.__wrapped__, list(given), self.keywords(made))
        else:
            # It may say in its own words why it is refused.
            self._run_object(node, items, self.evaluate(made))

    def _run_object(self, node: ast.With, items: list[ast.withitem], manager: Any) -> None:
        """A manager that the function made somewhere else, or has no generator function: those that do nothing, or what
        compiled code does anyway."""
        item = items[0]
        if type(manager) is np.errstate and not self.inputs.is_object(manager):
            settings = {name: getattr(manager, name) for name in _SETTINGS}
            self._keep_errstate(node, item, {name[1:]: kept for name, kept in settings.items() if kept is not None})
            with manager:
                pass  # a second time is NumPy's error
        elif type(manager) is contextlib.nullcontext and self.tracer.is_made(manager):
            if item.optional_vars is not None:
                self.assign(item.optional_vars, manager.enter_result)
        else:
            raise self.error(
                node,
                f"with {ast.unparse(item.context_expr)}",
                "entering and leaving it would happen only once, while tracing",
                "Move it to the caller.",
            )
        self.run(node, items[1:])

    def _keep_errstate(self, node: ast.With, item: ast.withitem, settings: dict[str, Any]) -> None:
        if any(setting not in _KEPT_BY_NUMPY for setting in settings.values()):
            raise self.error(
                node,
                f"with {ast.unparse(item.context_expr)}",
                "compiled code raises no floating-point errors",
                "Leave it out, or leave the function to NumPy.",
            )
        np.errstate(**settings)  # or NumPy's own error
        if item.optional_vars is not None:
            self.assign(item.optional_vars, None)

    def _run_generator(  # noqa: PLR0917
        self, node: ast.With, items: list[ast.withitem], function: types.FunctionType, args: list[Any], kwargs: Any
    ) -> None:
        """Follows the generator function; the block runs where that yields, in the frame of its own."""
        frame, place = self.frame, self.tracer.frames[-1] if self.tracer.frames else None
        ways_out: list[Control] = []
        yields = 0

        def at_yield(value: Any) -> None:
            nonlocal yields
            yields += 1
            if yields > 1:
                raise RuntimeError("generator didn't stop")
            inner, self.state.frame = self.state.frame, frame
            if place is not None:
                self.tracer.frames.append(place)
            try:
                if items[0].optional_vars is not None:
                    self.assign(items[0].optional_vars, value)
                self.run(node, items[1:])
            except (Return, Break, Continue) as way_out:
                ways_out.append(way_out)  # the generator goes on, and ends
            finally:
                if place is not None:
                    self.tracer.frames.pop()
                self.state.frame = inner

        with self._undoing_changes():
            self.state.at_yield = at_yield
            try:
                self.call_function(function, args, kwargs)
            finally:
                self.state.at_yield = None
        if not yields:
            raise RuntimeError("generator didn't yield")
        if ways_out:
            raise ways_out[0]

    @contextmanager
    def _undoing_changes(self) -> Iterator[None]:
        """Dicts from outside may be changed, where the manager undoes it: while tracing, the changes are made in what
        stands for them."""
        changes: dict[int, tuple[Any, Any, TraceError]] = {}
        with pushed(self.state.changes, changes):
            yield
        for owner, before, refusal in changes.values():
            if list(owner) != list(before) or any(owner[key] is not before[key] for key in before):
                raise refusal
