"""What NumPy's answer may differ by where its terms are added in another order, or its functions round otherwise.

A function is run in NumPy on arrays that carry a rounding error through every sum, product of matrices and
elementary function, as large as another good implementation may make it:
- a sum of n terms is rounded n - 1 times, by at most eps/2 of the partial sum each. One by one, with partial sums that grow
  to sum(|terms|), that is a random walk of sqrt(n)/3 * eps/2 * sum(|terms|); the orders that variants have (pairs, lanes
  side by side, blocks) are better;
- an elementary function is off by `_ULP` units in the last place.
The magnitude of the terms counts and not that of their sum: forces that cancel, sums of signed products.

Not done here: what the error does to integers and truths (tuning.py says how many may differ), and results of functions
that take the arrays apart by themselves (np.asarray of a subclass): what follows there is NumPy's own rounding alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .operations import ELEMENTARY

_ULP = 4.0  # ours are within 2 of the truth, NumPy's within 4: half of that is usual
_SUMS = {np.add}
_ELEMENTARY = {getattr(np, name) for name in ELEMENTARY} | {np.power}  # power is products too, and no row of that kind


class Rounded(np.ndarray):
    """An array whose sums and elementary functions are off as far as another order or implementation may be."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        plain = tuple(bare(x) for x in inputs)
        if out is not None:
            options["out"] = tuple(bare(x) for x in out)
        options = {name: bare(value) for name, value in options.items()}
        result = getattr(ufunc, method)(*plain, **options)
        if result is NotImplemented or method == "at":
            return result
        if out is None:
            error = _error_of(ufunc, method, plain, options, result)
            return wrapped(_moved(result, error))
        error = _error_of(ufunc, method, plain, {k: v for k, v in options.items() if k != "out"}, result)
        for target in options["out"]:
            if target is not None and error is not None:
                target[...] = _moved(target, error)
        return out[0] if len(out) == 1 else out

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function in (np.dot, np.vdot, np.inner) and len(args) == 2 and not kwargs:
            return _product(function, *args)
        if function is np.einsum and args and isinstance(args[0], str):
            return _einsum(args, kwargs)
        if function is np.tensordot:
            return _tensordot(*bare(args), **bare(kwargs))
        if function is np.linalg.norm:  # it takes the class away by itself, and its terms have one sign
            result = function(*bare(args), **bare(kwargs))
            return _summed(result, max(2, np.size(args[0]) // max(1, np.size(result))), lambda: np.abs(result))
        return super().__array_function__(function, types, args, kwargs)

    def dot(self, other: Any, out: Any = None) -> Any:
        """As np.dot."""
        result = _product(np.dot, self, other)
        if out is None:
            return result
        out[...] = result
        return out


def bare(value: Any) -> Any:
    """Without the class, also in tuples, lists and dicts."""
    if isinstance(value, Rounded):
        return value.view(np.ndarray)
    if type(value) in (tuple, list):
        return type(value)(bare(v) for v in value)
    return {k: bare(v) for k, v in value.items()} if type(value) is dict else value


def wrapped(value: Any) -> Any:
    """Arrays of numbers with the class, integers too: np.arctan2 of uint16 is float32, and rounds. Scalars and all else as they
    are."""
    if isinstance(value, tuple):
        return tuple(wrapped(v) for v in value)
    if type(value) is np.ndarray and value.dtype.kind in "fciu":
        return value.view(Rounded)
    return value


def _error_of(ufunc: np.ufunc, method: str, inputs: Any, options: dict[str, Any], result: Any) -> Any:
    """How far each element of the result may be off, or None where NumPy's bits are promised."""
    kind = getattr(result, "dtype", None)
    if kind is None or kind.kind not in "fc":
        return None
    eps = float(np.finfo(kind).eps)
    with np.errstate(all="ignore"):
        if ufunc is np.matmul or ufunc.signature is not None:
            terms = inputs[0].shape[-1] if np.ndim(inputs[0]) else 1
            return None if ufunc is not np.matmul else _walk(terms, eps) * np.matmul(*(np.abs(x) for x in inputs))
        if ufunc in _SUMS and method in ("reduce", "accumulate", "reduceat"):
            terms = max(1, np.size(inputs[0]) // max(1, np.size(result))) if method == "reduce" else np.size(inputs[0])
            magnitude = getattr(ufunc, method)(np.abs(inputs[0]), *inputs[1:], **options)
            return _walk(terms, eps) * magnitude
        if ufunc is np.multiply and method == "reduce":
            return _walk(max(1, np.size(inputs[0]) // max(1, np.size(result))), eps) * np.abs(result)
        if ufunc in _ELEMENTARY and method in ("__call__", "outer"):
            return _ULP / 2 * eps * np.abs(result)
        if kind.kind == "c" and ufunc in (np.multiply, np.divide, np.square, np.reciprocal) and method == "__call__":
            return eps * np.abs(result)
    return None


def _walk(terms: int, eps: float) -> float:
    """The error of a sum of so many terms, relative to the sum of their magnitudes."""
    return float(np.sqrt(terms)) / 3 * eps / 2 if terms > 1 else 0.0


def _moved(value: Any, error: Any) -> Any:
    """Each element up or down by its error, in a pattern that no axis has: errors of neighbours do not cancel."""
    if error is None:
        return value
    places = np.arange(np.size(value), dtype=np.uint64).reshape(np.shape(value))
    signs = np.where((places * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(63), 1.0, -1.0)
    with np.errstate(all="ignore"):
        moved = value + signs * np.where(np.isfinite(error), error, 0.0)
    return np.asarray(moved, value.dtype)[()] if not isinstance(value, np.ndarray) else moved.astype(value.dtype)


def _product(function: Any, a: Any, b: Any) -> Any:
    a, b = bare(a), bare(b)
    result = function(a, b)
    kind = getattr(result, "dtype", np.dtype(object)).kind
    if kind not in "fc" or np.ndim(a) == 0 or np.ndim(b) == 0:
        return wrapped(result)
    terms = a.size if function is np.vdot else a.shape[-1]
    return _summed(result, terms, lambda: function(np.abs(a), np.abs(b)))


def _summed(result: Any, terms: int, magnitude: Callable[[], Any]) -> Any:
    """Sums of so many terms, with the error of another order; `magnitude` is the sum of the terms' magnitudes."""
    with np.errstate(all="ignore"):
        error = _walk(terms, float(np.finfo(result.dtype).eps)) * magnitude()
    return wrapped(_moved(result, error))


def _einsum(args: Any, kwargs: dict[str, Any]) -> Any:
    subscripts, *operands = bare(args)
    kwargs = bare(kwargs)
    result = np.einsum(subscripts, *operands, **kwargs)
    if getattr(result, "dtype", np.dtype(object)).kind not in "fc" or kwargs.get("out") is not None:
        return wrapped(result)
    sizes: dict[str, int] = {}
    inputs, _, left = subscripts.replace(" ", "").partition("->")
    for labels, operand in zip(inputs.split(","), operands, strict=False):
        shape = np.shape(operand)
        before, dots, after = labels.partition("...")
        named = [*zip(before, shape, strict=False), *(zip(after[::-1], shape[::-1], strict=False) if dots else ())]
        sizes |= {label: max(extent, sizes.get(label, 1)) for label, extent in named}
    if "->" not in subscripts:
        left = "".join(label for label in sizes if inputs.count(label) == 1)
    terms = int(np.prod([extent for label, extent in sizes.items() if label not in left], dtype=float))
    return _summed(result, terms, lambda: np.einsum(subscripts, *(np.abs(o) for o in operands)))


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    result = np.tensordot(a, b, axes)
    if result.dtype.kind not in "fc":
        return result
    # What is summed is in both, the rest in one.
    terms = int((np.size(a) * np.size(b) / max(1, np.size(result))) ** 0.5)
    return _summed(result, terms, lambda: np.tensordot(np.abs(a), np.abs(b), axes))
