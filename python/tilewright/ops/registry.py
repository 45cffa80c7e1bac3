"""The list of NumPy functions and array methods that have a rule: one decorator a rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Rule = Callable[..., Any]

FUNCTIONS: dict[Any, Rule] = {}
METHODS: dict[str, Rule] = {}


def rule(*functions: Any, method: str | None = None) -> Callable[[Rule], Rule]:
    """Register `handler(tracer, *args, **kwargs)` for NumPy functions, and as an array method."""

    def register(handler: Rule) -> Rule:
        for function in functions:
            FUNCTIONS[function] = handler
        if method is not None:
            METHODS[method] = handler
        return handler

    return register
