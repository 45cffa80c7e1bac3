"""Exceptions that come out of a trace: the function raises them for the call, or the trace alone does."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from typing import Any

from .errors import TraceError


def raises_in_numpy(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the function raises for this call in NumPy. It runs once, on copies of the arguments."""
    import numpy as np  # noqa: PLC0415  (only a trace that failed needs them)

    from .record.capture import copy_arguments  # noqa: PLC0415

    args, kwargs = copy_arguments(args, kwargs)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*args, **kwargs)
    except Exception:  # noqa: BLE001  (whatever the function raises)
        return True
    return False


def raised_while_tracing(error: Exception, function: Callable[..., Any]) -> TraceError:
    """The error for a call whose trace raises where NumPy does not."""
    code: types.CodeType = function.__code__  # type: ignore[attr-defined]
    file, line, name = getattr(error, "traced_at", (code.co_filename, code.co_firstlineno, code.co_name))
    return TraceError(
        f"{file}:{line}, in {name}: tracing the call raised {type(error).__name__}: {error}; NumPy raises nothing there.",
        "Leave the line out of the compiled function.",
        file=file,
        line=line,
    )
