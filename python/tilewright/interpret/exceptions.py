"""Exceptions: which a function raises in each call, and which of its own it catches."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable

import numpy as np

from ..errors import TraceError
from ..symbolic.located import pushed
from .carried import CarryNeeded, TestWrites
from .expressions import Expressions
from .frame import Control
from .state import Part, State


class Exceptions(Part):
    """`raise` and `try`."""

    def __init__(self, state: State, expressions: Expressions, block: Callable[[Iterable[ast.stmt]], None]) -> None:
        super().__init__(state)
        self.evaluate, self.block = expressions.evaluate, block

    def run_raise(self, node: ast.Raise) -> None:
        if node.exc is None and self.state.handled:
            raise self.state.handled[-1]
        if node.exc is None:
            raise self.error(node, "a raise without an exception", "except clauses are not compiled")
        exception = self.evaluate(node.exc)
        # The recorded call ends here, with the user's own exception, or where the function catches it.
        if isinstance(exception, type) and issubclass(exception, BaseException):
            exception = exception()
        if isinstance(exception, Exception):
            self.state.raised.append(exception)
        raise exception

    def run_try(self, node: ast.Try) -> None:
        try:
            self._try_body(node)
        except (TraceError, CarryNeeded, TestWrites):
            raise  # the trace ends here, or begins again: what follows is no matter
        except Exception:
            self.block(node.finalbody)
            raise
        self.block(node.finalbody)

    def _try_body(self, node: ast.Try) -> None:
        try:
            with self.frame.trying():
                self.block(node.body)
        except (TraceError, Control):
            raise
        except Exception as error:
            handler = self._handler_of(node, error)
            if handler is not None:
                self._handle(handler, error)
                return
            if not node.handlers:
                raise
            raise self.error(
                node,
                f"try/except as control flow ({type(error).__name__}: {error})",
                "whether a compiled function raises is decided when it runs",
                "Test the condition with an if on sizes, or leave it out of the compiled function.",
            ) from None
        self.block(node.orelse)

    def _handler_of(self, node: ast.Try, error: Exception) -> ast.ExceptHandler | None:
        """The except clause that takes an error of Python around the numbers: it is raised in each call, since nothing that
        differs from call to call decides it."""
        if not any(error is one for one in self.state.raised) and not _is_of_python(error):
            return None
        for handler in node.handlers:
            kinds = BaseException if handler.type is None else self.evaluate(handler.type)
            if isinstance(error, kinds):
                return handler
        raise error

    def _handle(self, handler: ast.ExceptHandler, error: Exception) -> None:
        if handler.name:
            self.frame.variables[handler.name] = error
        with pushed(self.state.handled, error):
            self.block(handler.body)
        if handler.name:
            self.frame.variables.pop(handler.name, None)


# Errors that sizes do not decide, and the names of what stands for values: where they are in an error, it may be ours.
_OF_PYTHON = (KeyError, AttributeError, TypeError, ImportError, ModuleNotFoundError, NameError)
_STAND_INS = ("Sym", "Run", "Staged", "Compressed", "Traced", "Sequence", "Lent")
_NUMBER = r"'(?:SymInt|SymScalar|RunScalar)'"
_AS_OF_NUMBERS = re.compile(rf"object of type {_NUMBER} has no len\(\)|{_NUMBER} object is not iterable")
_AS_OF_ARRAYS = re.compile(r"'numpy\.ndarray' object has no attribute '(\w+)'")


def _is_of_python(error: Exception) -> bool:
    """Whether Python itself raises it, with NumPy's arrays and its own numbers as with what stands for them."""
    text = str(error)
    if isinstance(error, np.exceptions.ComplexWarning):
        return True  # dtypes decide it
    if isinstance(error, ImportError) or (isinstance(error, TypeError) and _AS_OF_NUMBERS.fullmatch(text)):
        return True
    if isinstance(error, AttributeError) and (found := _AS_OF_ARRAYS.fullmatch(text)):
        return not hasattr(np.ndarray, found[1])
    if type(error) not in _OF_PYTHON or any(name in text for name in _STAND_INS):
        return False
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    of_interpreter = __name__.rpartition(".")[0]
    return place is not None and str(place.tb_frame.f_globals.get("__name__")).rpartition(".")[0] == of_interpreter
