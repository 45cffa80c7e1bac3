"""Tracing: a call of a NumPy function becomes a program (translator/program_text.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..guards import PythonGuard
from ..symbolic.argument import Argument
from ..symbolic.size_guards import SizeGuard
from .traced import Result, Traced, root_function

if TYPE_CHECKING:
    from .tracing import Begun, trace

__all__ = ["Argument", "Begun", "PythonGuard", "Result", "SizeGuard", "Traced", "root_function", "trace"]


def __getattr__(name: str) -> Any:
    """What follows calls is the slowest import of all, and a process that finds its traces on disk needs none of it."""
    if name in ("Begun", "trace"):
        from . import tracing  # noqa: PLC0415

        return getattr(tracing, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
