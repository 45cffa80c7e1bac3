"""The inspect module: what it says of a function is known while tracing."""

from __future__ import annotations

import inspect
import types
from typing import Any

import numpy as np

from ..signatures import wrapped_chain
from .arguments import Inputs

_TELLS = (inspect.signature, inspect.getfullargspec)
# Their methods keep what they are handed, and do not look at it.
SIGNATURES = (inspect.Signature, inspect.Parameter, inspect.BoundArguments)
_OF_C = (type(np.sum), np.ufunc, types.BuiltinFunctionType)
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type)


def tells_of(function: Any, args: list[Any]) -> bool:
    """Whether a call asks for the parameters of a Python function whose defaults are plain, or of one of C, which stay."""
    if not any(function is one for one in _TELLS) or len(args) != 1:
        return False
    if isinstance(args[0], _OF_C):
        return True
    if not isinstance(args[0], types.FunctionType):
        return False
    return all(
        isinstance(one, types.FunctionType)
        and "__signature__" not in one.__dict__
        and all(map(_is_plain, [*(one.__defaults__ or ()), *(one.__kwdefaults__ or {}).values()]))
        for one in wrapped_chain(args[0])
    )


def told(inputs: Inputs, function: Any, asked: Any) -> Any:
    """What the call gives, under guards: the code and the defaults of the function, and of those that it wraps."""
    if isinstance(asked, _OF_C):
        return function(asked)
    for one in wrapped_chain(asked):
        inputs.path_of_function(one)
        for k in range(len(one.__defaults__ or ())):
            inputs.default(one, "__defaults__", k)
        for name in one.__kwdefaults__ or {}:
            inputs.default(one, "__kwdefaults__", name)
    return function(asked)


def _is_plain(value: Any) -> bool:
    return type(value) in _PLAIN or (type(value) in (tuple, list) and all(map(_is_plain, value)))
