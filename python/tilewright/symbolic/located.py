"""Where a trace is in the user's source, in words: what an error says."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np

from ..errors import TraceError
from ..outside_values import Places, Variable
from .argument import Argument
from .decided import Decided
from .refusals import LayoutNeeded, OperandError, SetsAttribute

_NO_USERS = tuple(os.path.join(folder, "") for folder in (os.path.dirname(np.__file__), Path(__file__).parents[1]))
_USERS_WORDS = {"SymArray": "ndarray", "SymGenerator": "Generator", "SymInt": "int", "SymScalar": "float"}
T = TypeVar("T")
Refusal = TypeVar("Refusal", bound=TraceError)
NO_RULE = "there is no rule for it"
PYTHON_KEEPS_IT = "Python keeps the list"
LEAVE_IT_OUT = "Leave it out of the compiled function."


class Located(Decided):
    """Where in the user's source a trace is at the moment, and what it reads and refuses there."""

    def __init__(self, function_name: str, file: str, decided: Decided | None = None) -> None:
        vars(self).update(vars(decided or Decided()))
        self.function_name = function_name
        self.file = file
        # (file, function, line) of each user frame being interpreted; empty when traced by the protocols alone.
        self.frames: list[list[Any]] = []
        self.last_frame: list[Any] = [file, function_name, 0]
        self.places = Places()  # variables outside of the function that are read
        self.changed: dict[Variable, str] = {}  # those that callees change which may do anything, and which callee
        self.reaching: list[Any] = []  # callees that may write arrays which they find outside of themselves
        self.made_objects: dict[int, Any] = {}  # of users' classes, by identity
        self.stand_ins: list[Any] = []  # of the caller's objects whose attributes are set, as set_objects.py has them
        self.composites: list[str] = []
        self.arguments: list[Argument] = []

    def location(self) -> tuple[str, int, str]:
        """File, line and function of the innermost user frame."""
        for file, function, line in reversed(self.frames):
            # A place inside of NumPy, or of what stands for its functions, helps nobody: the user's call does.
            if not file.startswith(_NO_USERS):
                return file, line, function
        frame: Any = sys._getframe(1)
        while frame is not None:
            module = frame.f_globals.get("__name__", "")
            if not module.startswith(("tilewright.", "numpy.")) and module not in ("tilewright", "numpy"):
                return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
            frame = frame.f_back
        return self.file, 0, self.function_name

    def root_line(self) -> int:
        return self.frames[0][2] if self.frames else self.location()[1]

    def error(self, asked: str, why: str = NO_RULE, what_to_do: str = LEAVE_IT_OUT) -> TraceError:
        return self.error_of(TraceError, f"{asked}; {why}.", what_to_do)

    def error_of(self, kind: type[Refusal], what: str, what_to_do: str) -> Refusal:
        file, line, function = self.location()
        error = kind(f"{where(file, line, function)}: {what}", what_to_do, file=file, line=line)
        error.what = what
        return error

    def in_users_words(self, error: TypeError) -> Exception:
        """Python's complaint about operands names our classes: an OperandError names what the user gave, and NumPy then
        raises the error that it has for that."""
        text = str(error)
        if not any(ours in text for ours in _USERS_WORDS):
            return error
        for ours, theirs in _USERS_WORDS.items():
            text = text.replace(ours, theirs)
        return self.error_of(OperandError, f"{text}.", "Pass numbers and arrays of numbers.")

    def reads_outside(self, variable: Variable, place: Any) -> None:
        """`place`: as outside_values.Places has it."""
        self.places.found[variable] = place
        if variable in self.changed:
            self._refuse_change(variable)

    def changes_outside(self, callee: str, variable: Variable) -> None:
        self.changed[variable] = callee
        if variable in self.places.found:
            self._refuse_change(variable)

    def _refuse_change(self, variable: Variable) -> NoReturn:
        raise self.error(
            f"{self.changed[variable]}()",
            f"it is no stage between kernels, for it changes {variable[1]}, which is read beside it",
        )

    def is_made(self, value: Any) -> bool:
        """Whether it is an object of a user's class that the function makes."""
        return self.made_objects.get(id(value), self) is value

    def need_stand_ins(self, path: tuple[Any, ...]) -> None:
        """Regions carry what variables of the function lead to: not through objects of the caller, but through what stands for
        one. Where a region changes what is found at a path, the trace begins again with stand-ins on the way there."""
        for k, (step, name) in enumerate(path):
            if step == "attribute" and name not in self.set_objects.get(path[:k], ()):
                raise SetsAttribute(path[:k], {name})

    def composite(self, name: str) -> AbstractContextManager[None]:
        """Values made inside take the name of the NumPy call that the user wrote."""
        return pushed(self.composites, name)

    def refuse_dtype(self, dtype: np.dtype[Any], asked: str) -> None:
        """TraceError for a dtype that no program holds."""
        if not dtype.isnative:
            raise self.error(asked, "byte-swapped arrays are not compiled", LEAVE_IT_OUT)
        if dtype.kind in "biufc" and dtype not in (np.longdouble, np.clongdouble):
            return
        why = "only booleans, integers, floats of up to 64 bits and complex numbers of two such are compiled"
        if dtype.kind == "O":
            why = "it holds Python objects, which only Python can work on"
        # A cast helps only where numbers stay what they are.
        leave = "or leave it out of the compiled function."
        casts = {
            "c": f"Pass its real and imaginary parts, {leave}",
            "f": f"Convert it with astype(np.float64), {leave}",
            "O": f"Make it an array of numbers where it is made, {leave}",
        }
        raise self.error(asked, why, casts.get(dtype.kind, LEAVE_IT_OUT))

    def need_layout(self, argument: Argument | None) -> None:
        """Where a view and a copy differ: of an argument, or of what is computed from all of them (None)."""
        arrays = [argument] if argument is not None else self.arguments
        names = frozenset(
            a.name for a in arrays if a.kind in ("array", "hidden") and a.path[-1][0] not in ("pcg64", "column")
        )
        if names - self.layouts:
            raise LayoutNeeded(names)


@contextmanager
def pushed(stack: list[T], item: T) -> Iterator[None]:
    """The item is the last of the list for a while."""
    stack.append(item)
    try:
        yield
    finally:
        stack.pop()


def where(file: str, line: int, function: str) -> str:
    return f"{file}:{line}, in {function}" if line else file or function
