"""Results that Python makes of what a plan gives, in a module: views of arguments and of arrays."""

from __future__ import annotations

from typing import Any

from ..errors import ExportError
from ..guards import path_text
from ..result_forms import finishing_text
from ..signatures import takes_out
from ..structure import ZERO_DIMENSIONAL, Changed, is_given_by_plans
from .objects import literal

FINISH_LINES = """

import inspect as _inspect

import numpy as _numpy


def _finished(entry, finish, refuses_out):
    def call(*args, **kwargs):
        if refuses_out and kwargs.pop('out', None) is not None:
            raise TypeError(f'{entry.__name__}: views are among its results, which take no out.')
        return finish(entry(*args, **kwargs))

    call.__name__ = call.__qualname__ = entry.__name__
    call.__doc__, call.__module__ = entry.__doc__, __name__
    try:
        call.__signature__ = _inspect.signature(entry)
    except ValueError:  # a default that no text says
        pass
    return call""".splitlines()


def finish_of(function: str, traced: Any) -> str:
    """Python's text for the result, of `made`, `held` and numpy; "" where the plan gives it. Raises ExportError for what is no
    tuple."""
    if is_given_by_plans(traced.results):
        return ""
    is_changed = isinstance(traced.results, Changed)
    changes = zip(traced.set_objects, traced.results.objects, strict=True) if is_changed else ()
    if (path := next((path for path, names in changes if names), None)) is not None:
        raise ExportError(
            f"{function}: it sets attributes or items of {path_text(path)}; functions of a module write into the "
            "arrays that they are given, and set nothing else.",
            "Return the values, and set them at the caller, or write into its arrays (self.u[:] = …).",
        )
    results = traced.results if type(traced.results) is tuple else (traced.results,)
    if type(traced.results) is list or not all(
        hasattr(leaf, "view") and leaf.kind != ZERO_DIMENSIONAL for leaf in results
    ):
        raise ExportError(
            f"{function}: it returns {'a list' if isinstance(traced.results, list) else 'more than that'}; functions of a module "
            "return arrays, numbers and tuples of them.",
            "Return a tuple.",
        )
    held: list[Any] = []
    text = finishing_text(traced.results, held)
    return f"lambda made, held=({''.join(f'{literal(one)}, ' for one in held)}), numpy=_numpy: {text}"


def finish_lines(entry: str, kernel: str, function: Any, finish: str) -> list[str]:
    """The lines of the module that make the function a user calls of one that gives what the plan gives."""
    return ["", f"{entry} = _finished({kernel}, {finish}, {not takes_out(function)})"]
