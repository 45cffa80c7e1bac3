"""The parameters that a function's own code has, whatever it shows to people."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any


def own_signature(function: Callable[..., Any]) -> inspect.Signature:
    """What a call binds to. functools.wraps() and `__signature__` show parameters of another function, perhaps with other
    names, defaults, or in another order."""
    if isinstance(function, types.FunctionType) and function.__dict__:
        bare = types.FunctionType(
            function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
        )
        bare.__kwdefaults__ = function.__kwdefaults__
        bare.__annotations__ = function.__annotations__
        function = bare
    return inspect.signature(function, follow_wrapped=False)


def wrapped_chain(function: Any) -> list[Any]:
    """The function and those that functools.wraps() says it stands for: inspect.signature() shows the last one's."""
    chain = [function]
    while (wrapped := getattr(chain[-1], "__wrapped__", None)) is not None and wrapped not in chain:
        chain.append(wrapped)
    return chain


def takes_out(function: Callable[..., Any]) -> bool:
    """Whether a function takes `out` itself, among its keywords too: a wrapper does where what it wraps does."""
    own = own_signature(function).parameters
    if "out" in own or not any(p.kind is p.VAR_KEYWORD for p in own.values()):
        return "out" in own
    shown = inspect.signature(function).parameters
    return "out" in shown or any(p.kind is p.VAR_KEYWORD for p in shown.values())


def parts_of(function: Callable[..., Any]) -> tuple[Any, ...]:
    """What a function is made of, by identity: each may be replaced in it."""
    keywords = function.__kwdefaults__  # type: ignore[attr-defined]
    parts = (function.__code__, function.__defaults__, keywords, *(keywords or {}).values())  # type: ignore[attr-defined]
    return tuple(map(id, parts))
