"""How far a right result may be from NumPy's: nothing where the contract promises bits, else what NumPy's own answer moves."""

from __future__ import annotations

import copy
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from . import datasets, rounding
from .operations import with_trait
from .program import Program

# Operations after which NumPy's own result is one of several good ones (python/results.md).
_ROUNDED = with_trait("rounds")
# Of complex numbers NumPy rounds these as the machine's vector units suit it: with fused multiply-add or without.
_ROUNDED_COMPLEX = with_trait("complex_rounds")
_NARROW = (np.float16, np.float32)
_ITERATED_INDEX_FRACTION = 1e-3  # of integers and bools that loops over rounded values make


class Tolerance:
    """How far a right result may be from NumPy's. Zero where the contract promises NumPy's bits.

    For sums and elementary functions: what a change of the inputs in their last place does to NumPy's own answer, what
    another order of its sums and another rounding of its functions does (rounding.py), each times a margin, and how far
    NumPy's float32 answer is from its float64 one (BLAS adds long float32 vectors in few accumulators: 5e-5 off at 20
    million; of float16 NumPy rounds each step of sums along some axes). That follows the user's function, where a fixed number would not.

    Loops may carry a difference in the last place to any size (orbits at the edge of the Mandelbrot set). Where NumPy's
    own answer does so, elements may differ relative to their size as nine of ten of NumPy's own do, and as many more may
    differ by any amount as do there, twice each.
    """

    def __init__(self, program: Program, expected: datasets.Answer) -> None:
        operations = {v.operation for v in program.values if v.dtype.startswith(("float", "complex"))}
        complex_values = {v.name for v in program.values if v.dtype.startswith("complex")}
        complex_values |= {a.name for a in program.arguments if a.dtype.startswith("complex")}
        of_complex = {
            v.operation for v in program.values if v.name in complex_values or complex_values & set(v.operands)
        }
        self._rounds = bool(operations & _ROUNDED or of_complex & _ROUNDED_COMPLEX)
        self._iterates = self._rounds and bool(operations & {"for", "while"})
        of_results = [float(np.finfo(result.dtype).eps) for result in expected.arrays if result.dtype.kind in "fc"]
        self._scalar_eps = max(of_results, default=float(np.finfo(np.float64).eps)) if self._iterates else 0.0
        floats = [result.dtype for result in expected.arrays if self._rounds and result.dtype.kind in "fc"]
        self._rtol = max((64 * float(np.finfo(dtype).eps) for dtype in floats), default=0.0)
        self._atol = 0.0
        self._index_fraction = _ITERATED_INDEX_FRACTION if self._iterates else 1e-4
        self._float_fraction = 0.0

    def widen(self, reference: datasets.Reference, call: datasets.Call, answer: datasets.Answer) -> None:
        """Look at the conditioning on one data set."""
        if not self._rounds or call.kind == "special" or not any(a.dtype.kind in "fc" for a in answer.arrays):
            return
        eps = self._scalar_eps
        self._compare(reference.nudged(eps), call, answer, lambda value: _nudge(value, eps), 16)
        self._compare(reference, call, answer, rounding.wrapped, 4)
        if any(a.dtype in _NARROW for a in answer.arrays):
            self._compare(reference, call, answer, _widened, 2)

    def _compare(
        self,
        reference: datasets.Reference,
        call: datasets.Call,
        answer: datasets.Answer,
        change_value: Callable[[Any], Any],
        margin: int,
    ) -> None:
        memo: dict[int, Any] = {}
        try:
            args = tuple(_changed(one, change_value, memo) for one in call.args)
            changed = datasets.Call(
                call.kind, args, {k: _changed(v, change_value, memo) for k, v in call.kwargs.items()}
            )
            moved = reference.answer(changed, limit_s=3 + 3e-9 * answer.ns)
        except (Exception, datasets.TookTooLong):  # the user's function refuses: nothing to learn here
            return
        for before, after in zip(answer.arrays, moved.arrays, strict=False):
            if before.shape != after.shape or not before.size:
                continue
            if before.dtype.kind not in "fc":
                if self._iterates:
                    self._index_fraction = max(self._index_fraction, float(np.mean(before != after)))
                continue
            with np.errstate(all="ignore"):
                change = np.abs(after - before)
                usable = np.isfinite(change)
                if not usable.any():
                    continue
                largest = margin * float(change[usable].max(initial=0.0))
                if self._iterates and not largest <= 1e-3 * float(np.median(np.abs(before[usable]))):
                    self._widen_for_orbits(before, after)
                else:
                    self._atol = max(self._atol, largest)

    def _widen_for_orbits(self, before: np.ndarray[Any, Any], after: np.ndarray[Any, Any]) -> None:
        is_same = (before == after) | (np.isnan(before) & np.isnan(after))
        relative = np.where(is_same, 0.0, np.abs(after - before) / np.abs(before))
        relative[np.isnan(relative)] = np.inf
        nine_of_ten = float(np.quantile(relative, 0.9, method="lower"))
        if np.isfinite(nine_of_ten):
            self._rtol = max(self._rtol, 2 * nine_of_ten)
        self._float_fraction = max(self._float_fraction, 1e-3, 2 * float(np.mean(relative > self._rtol)))

    def as_job(self) -> dict[str, float]:
        # An index or a bool may differ where a rounded value decides a tie.
        return {
            "rtol": self._rtol,
            "atol": self._atol,
            "index_mismatch_fraction": self._index_fraction if self._rounds else 0.0,
            "float_mismatch_fraction": self._float_fraction,
        }


def _changed(value: Any, change: Callable[[Any], Any], memo: dict[int, Any]) -> Any:
    """A value with its arrays and numbers changed, those of containers and objects too, which are copies then."""
    kind = type(value)
    if kind in (list, tuple):
        return kind(_changed(one, change, memo) for one in value)
    if kind is dict:
        return {key: _changed(one, change, memo) for key, one in value.items()}
    attributes = getattr(value, "__dict__", None)
    if isinstance(value, (np.ndarray, type, types.FunctionType, types.MethodType, types.ModuleType)) or not attributes:
        return change(value)
    if id(value) not in memo:
        memo[id(value)] = made = copy.copy(value)
        for name, one in attributes.items():
            made.__dict__[name] = _changed(one, change, memo)
    return memo[id(value)]


def _widened(value: Any) -> Any:
    is_narrow = isinstance(value, np.ndarray) and value.dtype in _NARROW
    return value.astype(np.float64) if is_narrow else value


def _nudge(value: Any, scalar_eps: float = 0.0) -> Any:
    if isinstance(value, (float, np.floating)):
        return type(value)(value * (1 + scalar_eps))
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fc":
        return value
    sign = np.where(np.arange(value.size).reshape(value.shape) % 3 == 0, 1, -1)
    with np.errstate(all="ignore"):
        return (value * (1 + sign * np.finfo(value.dtype).eps)).astype(value.dtype)
