"""Tracing: a call of a NumPy function becomes a program (translator/program_text.md)."""

from __future__ import annotations

from ..guards import PythonGuard
from ..symbolic.argument import Argument
from ..symbolic.size_guards import SizeGuard
from .traced import Result, Traced, root_function
from .tracing import Begun, trace

__all__ = ["Argument", "Begun", "PythonGuard", "Result", "SizeGuard", "Traced", "root_function", "trace"]
