"""The arguments of a program: their names, their values, and arrays that can be none."""

from __future__ import annotations

import collections
import types
from typing import Any

import numpy as np

from ..guards import Path, root_text
from ..symbolic.argument import Argument
from ..symbolic.graph import Value
from ..symbolic.sizes import Size
from ..symbolic.symbols import free_name
from ..symbolic.tracer import Tracer
from .kinds_of_inputs import NUMBERS


def _name_of(value: Any) -> str:
    if isinstance(value, types.FunctionType):
        return "function"
    return value.__name__ if isinstance(value, type) else type(value).__name__


def program_name(tracer: Tracer, path: Path) -> str:
    kind, key = path[0]
    root = str(key[1]) if kind == "module" else _name_of(key.value) if kind == "object" else root_text(path)
    # No text of an object: it may have an address in it.
    steps = [(kind, str(key) if isinstance(key, (str, *NUMBERS)) else _name_of(key)) for kind, key in path[1:]]
    while any(kind == "cell" for kind, _ in steps):  # a closure's variable is named without it
        (_, root), *steps = steps
    words = [root, *(key for _, key in steps)]
    base = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in "_".join(words))
    if not base or base[0].isdigit():
        base = f"a{base}"
    taken, count = tracer.cache.get("names of arguments", ({}, 0))  # and how many arguments those are of
    taken.update((argument.name, None) for argument in tracer.arguments[count:])
    tracer.cache["names of arguments"] = taken, len(tracer.arguments)
    code = tracer.cache["function"].__code__
    own = () if kind == "parameter" else code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + 2]
    return free_name(base, collections.ChainMap(taken, dict.fromkeys(own)))


def add_argument(
    tracer: Tracer, argument: Argument, operation: str, dtype: np.dtype[Any], shape: list[Size] | tuple[()]
) -> Value:
    """An argument of the program, and its value."""
    tracer.arguments.append(argument)
    argument.program_value = value = tracer.add(operation, (), {}, dtype, shape)
    value.name = argument.name
    return value


def refuse_array(tracer: Tracer, value: np.ndarray[Any, Any], where: str) -> None:
    """TraceError for the arrays that are not plain arrays of numbers."""
    if type(value) is not np.ndarray and not isinstance(value, np.memmap):
        raise tracer.error(
            f"{where} is a {type(value).__module__}.{type(value).__qualname__}",
            "its operations are not those of a plain array",
            f"Pass np.asarray({where}).",
        )
    if not value.dtype.isnative:
        raise tracer.error(
            f"{where} is {value.dtype.str}[{', '.join(map(str, value.shape))}]",
            "byte-swapped arrays are not compiled",
            f'Pass {where}.astype({where}.dtype.newbyteorder("=")).',
        )
    tracer.refuse_dtype(value.dtype, f"{where} is {value.dtype}[{', '.join(map(str, value.shape))}]")
