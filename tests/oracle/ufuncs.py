"""NumPy's functions that programs have as operations, out of translator/ir/operations.def: a new row is tested wherever
one of these lists is."""

from __future__ import annotations

import numpy as np
from tilewright._face import operations


def _ufuncs(operands: int, rounds: bool) -> list[str]:
    return [
        name
        for name, kind, its_operands, traits, _ in operations()
        if kind in ("elementwise", "elementary")
        and its_operands == operands
        and "ufunc" in traits
        and ("rounds" in traits) == rounds
    ]


EXACT_UNARY, EXACT_BINARY = _ufuncs(1, rounds=False), _ufuncs(2, rounds=False)  # NumPy's bits
ROUNDED_UNARY, ROUNDED_BINARY = _ufuncs(1, rounds=True), _ufuncs(2, rounds=True)  # within 2 ULP
REDUCTIONS = [name for name, kind, *_ in operations() if kind in ("reduction", "search")]


def loop_of(name: str, dtype: str, arity: int) -> str | None:
    """The result's dtype where NumPy has a loop that takes `dtype` as it is."""
    try:
        resolved = getattr(np, name).resolve_dtypes((np.dtype(dtype),) * arity + (None,))
    except TypeError:
        return None
    if any(loop != np.dtype(dtype) for loop in resolved[:-1]):
        return None
    return str(resolved[-1])
