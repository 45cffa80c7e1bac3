"""Functions that a function was handed when it was traced: a module computes what they did, and takes no others."""

from __future__ import annotations

import hashlib
import inspect
import textwrap
import types
from collections.abc import Mapping
from typing import Any

from ..errors import ExportError

# Stands in the module. Its digest of a source is `_digest` below; a source is read once a function.
_CHECK = """

def _made_for(entry, handed):
    import functools
    import hashlib
    import inspect
    import textwrap
    import weakref

    known = weakref.WeakKeyDictionary()

    def digest(function):
        try:
            source = inspect.getsource(inspect.unwrap(function))
        except (OSError, TypeError):
            return ''
        return hashlib.sha256(textwrap.dedent(source).strip().encode()).hexdigest()

    missing = object()

    @functools.wraps(entry)
    def call(*args, **kwargs):
        for place, parameter, name, wanted in handed:
            function = args[place] if place < len(args) else kwargs.get(parameter, missing)
            if function is missing:
                continue
            try:
                found = known.get(function)
                if found is None:
                    found = known[function] = digest(function)
            except TypeError:
                found = ''
            if found != wanted:
                raise TypeError(
                    f'{entry.__name__}: {parameter} is {function!r}, but this module was made for the function {name} '
                    f'as it was then. Tune the function with that one too.'
                )
        return entry(*args, **kwargs)

    return call
"""


def handed_functions(traced: Any, name: str) -> dict[str, types.CodeType]:
    """Parameter -> the function that was passed. Raises ExportError for one whose source a module could not tell."""
    found = {
        guard.path[0][1]: guard.value
        for guard in traced.guards
        if guard.kind == "code" and guard.path[0][0] == "parameter" and len(guard.path) == 1
    }
    for parameter, code in found.items():
        if not _digest(code):
            raise ExportError(
                f"{name}: the source of {code.co_name}, which is passed as {parameter}, cannot be read, so that a "
                "module could not tell it from others.",
                "Call it by its name instead of passing it.",
            )
    return found


def check_lines() -> list[str]:
    """The definition that `made_for` uses."""
    return _CHECK.splitlines()


def made_for(entry: str, functions: Mapping[str, types.CodeType], parameters: list[inspect.Parameter]) -> str:
    """The line that makes an entry of a module refuse other functions than these."""
    places = [p.name for p in parameters]
    handed = [
        (places.index(parameter), parameter, code.co_name, _digest(code)) for parameter, code in functions.items()
    ]
    return f"{entry} = _made_for({entry}, {handed!r})"


def _digest(code: types.CodeType) -> str:
    try:
        source = inspect.getsource(code)
    except (OSError, TypeError):
        return ""
    return hashlib.sha256(textwrap.dedent(source).strip().encode()).hexdigest()
