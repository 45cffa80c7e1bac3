"""Exceptions that come out of a trace and are no errors of ours: the function's own, or a defect of the trace."""

from __future__ import annotations

import linecache
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .errors import TraceError

_OUR_FOLDER = str(Path(__file__).parent)
# What a statement of our own code raises by mistake. Rules raise NumPy's errors by `raise`, in NumPy's words.
_DEFECTS = (AttributeError, LookupError, NameError, AssertionError, RecursionError, StopIteration, SystemError)


def is_of_the_trace(error: Exception) -> bool:
    """Whether a statement of the trace's own code went wrong. Anything else is what the function raises for the call."""
    frame, line = None, 0
    traceback = error.__traceback__
    while traceback is not None:
        frame, line, traceback = traceback.tb_frame, traceback.tb_lineno, traceback.tb_next
    if frame is None or not frame.f_code.co_filename.startswith(_OUR_FOLDER):
        return False
    statement = linecache.getline(frame.f_code.co_filename, line).strip()
    return isinstance(error, _DEFECTS) and not statement.startswith("raise")


def raised_while_tracing(error: Exception, function: Callable[..., Any]) -> TraceError:
    """What a call is told whose trace raised what NumPy does not."""
    code: types.CodeType = function.__code__  # type: ignore[attr-defined]
    file, line, name = getattr(error, "traced_at", (code.co_filename, code.co_firstlineno, code.co_name))
    return TraceError(
        f"{file}:{line}, in {name}: tracing the call raised {type(error).__name__}: {error}; NumPy raises nothing there.",
        "Leave the line out of the compiled function.",
        file=file,
        line=line,
    )


__all__ = ["is_of_the_trace", "raised_while_tracing"]
