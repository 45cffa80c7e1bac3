"""Tracing: a call of a NumPy function becomes a program (translator/program_text.md)."""

from __future__ import annotations

from .traced import Result, Traced, root_function, trace
from .tracer import Argument, PythonGuard, SizeGuard

__all__ = ["Argument", "PythonGuard", "Result", "SizeGuard", "Traced", "root_function", "trace"]
