"""The functions that jitted ones were made of."""

from __future__ import annotations

import types
from typing import Any

from ._face import Dispatcher

# The last step of a path to a function that may be jitted: a guard of its code holds whether or not it is.
ORIGINAL = ("original", "")
RECORDED = "__tilewright_recorded__"  # of a function that reports its calls: the user's own


def original_of(function: Any) -> Any:
    """The function that a jitted one was made of, or one that reports its calls; all else is itself."""
    if isinstance(function, types.FunctionType):
        return function.__dict__.get(RECORDED, function)
    return function.__wrapped__ if isinstance(function, Dispatcher) else function  # type: ignore[attr-defined]
