"""The error for a call whose trace raises an exception that the function does not raise in NumPy."""

from __future__ import annotations

import signal
import types
from collections.abc import Callable
from typing import Any

from .errors import TraceError
from .originals import original_of


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


def is_of_a_handler(error: BaseException) -> bool:
    """Whether a handler of signals has raised it, as those of time limits do: wherever that was, it is the script's to catch, and no other
    run of the call raises it."""
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    functions = [getattr(original_of(one), "__func__", original_of(one)) for one in handlers if callable(one)]
    codes = {getattr(one, "__code__", None) or getattr(type(one).__call__, "__code__", None) for one in functions}
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code in codes:
            return True
        step = step.tb_next
    return False
