"""The error for a call whose trace raises an exception that the function does not raise in NumPy."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from .errors import TraceError


def raised_while_tracing(error: Exception, function: Callable[..., Any]) -> TraceError:
    """The error for a call whose trace raises where NumPy does not."""
    code: types.CodeType = function.__code__  # type: ignore[attr-defined]
    file, line, name = getattr(error, "traced_at", (code.co_filename, code.co_firstlineno, code.co_name))
    return TraceError(
        f"{file}:{line}, in {name}: tracing the call raised {text_of(error)}; NumPy raises nothing there.",
        "Leave the line out of the compiled function.",
        file=file,
        line=line,
    )


def text_of(error: Exception) -> str:
    """What is raised with traced values has no text."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001
        return type(error).__name__
