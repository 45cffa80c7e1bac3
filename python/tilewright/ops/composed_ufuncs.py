"""Ufuncs that are written in terms of others, in the place of a kernel of their own: formulas over arrays.

A formula takes the operands in the dtype in which NumPy computes. Floats of less than 64 bits are computed in float64 and
rounded once. Sources: NumPy's npy_math_internal.h.src (logaddexp, heaviside, modf); for the inverse hyperbolic functions
log1p of an argument without cancellation, as fdlibm's s_asinh.c, e_acosh.c and e_atanh.c have it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..symbolic.arrays import SymArray

_LN2 = 0.6931471805599453
_LOG2E = 1.4426950408889634
_BIG = 2.0**60  # beside it one is nothing, and its square is far from infinity


def _heaviside(x: Any, at_zero: Any) -> Any:
    above = np.where(x == 0.0, at_zero, np.where(x < 0.0, 0.0, 1.0))
    return np.where(np.isnan(x), x, above)


def _logaddexp(x: Any, y: Any) -> Any:
    # Of equal infinities the difference is no number.
    apart = np.where(x == y, 0.0, np.absolute(x - y))
    return np.maximum(x, y) + np.log1p(np.exp(-apart))


def _logaddexp2(x: Any, y: Any) -> Any:
    apart = np.where(x == y, 0.0, np.absolute(x - y))
    return np.maximum(x, y) + np.log1p(np.exp2(-apart)) * _LOG2E


def _arcsinh(x: Any) -> Any:
    size = np.absolute(x)
    is_big = size > _BIG
    square = size * size
    inner = np.where(is_big, size, size + square / (1.0 + np.sqrt(square + 1.0)))
    return np.copysign(np.log1p(inner) + np.where(is_big, _LN2, 0.0), x)


def _arccosh(x: Any) -> Any:
    above = x - 1.0
    is_big = x > _BIG
    inner = np.where(is_big, x, above + np.sqrt(2.0 * above + above * above))
    return np.where(x < 1.0, np.nan, np.log1p(inner) + np.where(is_big, _LN2, 0.0))


def _arctanh(x: Any) -> Any:
    size = np.absolute(x)
    twice = size + size
    # Of small numbers the quotient alone would be rounded twice.
    inner = np.where(size < 0.5, twice + twice * size / (1.0 - size), twice / (1.0 - size))
    return np.copysign(0.5 * np.log1p(inner), x)


def _modf(x: Any) -> tuple[Any, Any]:
    whole = np.trunc(x)
    return np.copysign(np.where(np.isinf(x), 0.0, x - whole), x), whole


def _bitwise_count(x: Any) -> Any:
    """Bits of the absolute value, in pairs, in fours and in bytes, whose sum is the top byte of a product."""
    unsigned = np.dtype(f"u{x.dtype.itemsize}")  # the lowest integer is its own absolute value
    pairs = np.absolute(x).astype(unsigned).astype(np.uint64)
    pairs = pairs - ((pairs >> 1) & 0x5555555555555555)
    fours = (pairs & 0x3333333333333333) + ((pairs >> 2) & 0x3333333333333333)
    return (((fours + (fours >> 4)) & 0x0F0F0F0F0F0F0F0F) * 0x0101010101010101) >> 56


_FORMULAS: dict[str, tuple[str, Callable[..., Any]]] = {
    "heaviside": ("f", _heaviside),
    "logaddexp": ("f", _logaddexp),
    "logaddexp2": ("f", _logaddexp2),
    "arcsinh": ("f", _arcsinh),
    "arccosh": ("f", _arccosh),
    "arctanh": ("f", _arctanh),
    "modf": ("f", _modf),
    "bitwise_count": ("iu", _bitwise_count),
}  # name: kinds of dtypes, and the formula


def formula_of(name: str, loop: np.dtype[Any]) -> Callable[..., Any] | None:
    """What computes the ufunc from operands of this dtype: a function of arrays; None where none does."""
    kinds, formula = _FORMULAS.get(name, ("", None))
    return formula if loop.kind in kinds else None


def computed(formula: Callable[..., Any], operands: list[SymArray], given: list[np.dtype[Any]]) -> list[SymArray]:
    """The results, of the dtypes that NumPy gives."""
    if operands[0].dtype.kind == "f":
        operands = [x.astype(np.float64, copy=False) for x in operands]
    results = formula(*operands)
    return [
        x.astype(dtype, copy=False)
        for x, dtype in zip(results if type(results) is tuple else [results], given, strict=True)
    ]
