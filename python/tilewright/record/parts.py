"""Functions that are not compiled as a whole: what is array code in them between the rest, as functions of their own.

Loops that run once have such parts from the start (regions.py); a function that runs time and again has them when it is known that it
is refused as a whole, and from its first call on in later processes.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import os
import re
import types
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from ..interpret.source import FUTURE, inside, node_made_from, source_of
from .left_alone import looks_at_frames
from .regions import REGION, Region, regions_of
from .script_text import ScriptText


def in_parts(
    function: types.FunctionType, take: Callable[[Region, types.FunctionType], None], why: str = ""
) -> types.FunctionType | None:
    """A function that does the same and calls its regions; None where it has none. `take`: of each, before it is called by its name
    among the builtins. `why`: it is refused as a whole, with the line where."""
    code = function.__code__
    node = None if code.co_freevars or node_made_from(function) is not None else source_of(function)
    text = _text_of(code.co_filename) if isinstance(node, ast.FunctionDef) else None
    if not isinstance(node, ast.FunctionDef) or text is None or getattr(node, "type_params", None):
        return None
    changed = copy.deepcopy(node)
    changed.decorator_list = []
    regions = regions_of(changed, text, _prefix_of(code), _line_in(why, code.co_filename, node))
    if not regions:
        return None
    flags = code.co_flags & FUTURE
    module = compile(ast.Module([changed], []), code.co_filename, "exec", flags, dont_inherit=True)
    new = next(one for one in module.co_consts if isinstance(one, types.CodeType) and one.co_name == changed.name)
    made = types.FunctionType(_named(new, code), function.__globals__, function.__name__, function.__defaults__)
    made.__kwdefaults__, made.__qualname__ = function.__kwdefaults__, function.__qualname__
    for one in regions:
        take(one, function)
    return made


def _line_in(why: str, file: str, node: ast.FunctionDef) -> int:
    """The line of a function that a refusal names; 0 where that is one of another function."""
    found = (int(one.group(1)) for one in re.finditer(rf"{re.escape(file)}:(\d+)\b", why))
    return next((line for line in found if node.lineno <= line <= (node.end_lineno or 0)), 0)


def _prefix_of(code: types.CodeType) -> str:
    """Of the names of its regions: the same in each process, since traces of regions are kept by what these call."""
    place = f"{os.path.realpath(code.co_filename)} {code.co_qualname} {code.co_firstlineno}"
    return f"{REGION}of_{hashlib.sha256(place.encode()).hexdigest()[:16]}_"


def _named(new: types.CodeType, code: types.CodeType) -> types.CodeType:
    """The code of a function, named as that is where it was written, as are functions and classes inside of it."""

    def of(one: types.CodeType) -> types.CodeType:
        consts = tuple(of(const) if isinstance(const, types.CodeType) else const for const in one.co_consts)
        qualname = code.co_qualname + one.co_qualname.removeprefix(new.co_qualname)
        return one.replace(co_consts=consts, co_qualname=qualname)

    return of(new).replace(co_name=code.co_name)


@lru_cache(maxsize=64)
def _text_of(file: str) -> ScriptText | None:
    """What the text of a file says; None where its code is looked at while it runs."""
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None
    has_own = any(isinstance(one, ast.Name) and one.id.startswith(REGION) for one in inside([tree]))
    return None if has_own or looks_at_frames(tree) else ScriptText(tree)
