"""The functions that jitted ones were made of."""

from __future__ import annotations

from typing import Any

from ._face import Dispatcher

# The last step of a path to a function that may be jitted: a guard of its code holds whether or not it is.
ORIGINAL = ("original", "")


def original_of(function: Any) -> Any:
    """The function that a jitted one was made of; all else is itself."""
    return function.__wrapped__ if isinstance(function, Dispatcher) else function  # type: ignore[attr-defined]
