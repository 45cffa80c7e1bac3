"""Results that Python makes of what a plan gives, in a module: lists, dicts, views of arguments and of arrays."""

from __future__ import annotations

from typing import Any

from ..errors import ExportError
from ..signatures import takes_out
from ..structure import finishing_text, is_given_by_plans
from .objects import literal

FINISH_LINES = """

import inspect as _inspect

import numpy as _numpy


def _finished(entry, finish, refuses_out):
    def call(*args, **kwargs):
        if refuses_out and kwargs.pop('out', None) is not None:
            raise TypeError(f'{entry.__name__}: its results are put together in Python, which takes no out.')
        return finish(entry(*args, **kwargs))

    call.__name__ = call.__qualname__ = entry.__name__
    call.__doc__, call.__module__ = entry.__doc__, __name__
    try:
        call.__signature__ = _inspect.signature(entry)
    except ValueError:  # a default that no text says
        pass
    return call""".splitlines()


def finish_of(function: str, traced: Any) -> str:
    """Python's text for the result, of `made`, `held` and numpy; "" where the plan gives it. Raises ExportError for objects that
    a module cannot make."""
    if is_given_by_plans(traced.results):
        return ""
    held: list[Any] = []
    text = finishing_text(traced.results, held)
    written = [literal(value) for value in held]
    if not all(written):
        raise ExportError(
            f"{function}: it returns objects of classes; functions of a module return arrays, numbers, and tuples, lists and "
            "dicts of them.",
            "Return a tuple.",
        )
    return f"lambda made, held=({''.join(f'{one}, ' for one in written)}), numpy=_numpy: {text}"


def finish_lines(entry: str, kernel: str, function: Any, finish: str) -> list[str]:
    """The lines of the module that make the function a user calls of one that gives what the plan gives."""
    return ["", f"{entry} = _finished({kernel}, {finish}, {not takes_out(function)})"]
