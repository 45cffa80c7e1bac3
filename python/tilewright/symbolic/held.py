"""What the functions of stages call by name. A module has a copy: NumPy is all that it may import."""

from __future__ import annotations

from typing import Any

import numpy as np

_PLAIN = frozenset([bool, int, float, complex, str, bytes, type(None)])


def hold(held: dict[str, Any], name: str, result: Any) -> Any:
    """Keeps a result until the call ends, under a name. What views of operands it has are copied: the plan's memory is
    used again before."""
    held[name] = kept = _own(result)
    return kept


def _own(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value if value.flags.owndata else value.copy()
    if type(value) is dict:
        return {key: _own(item) for key, item in value.items()}
    if type(value) is list and _PLAIN.issuperset(map(type, value)):
        return value.copy()
    if isinstance(value, (tuple, list)):
        items = map(_own, value)
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def joined(real: Any, imag: Any) -> Any:
    """Complex numbers of their halves, bit by bit: `real + 1j * imag` changes zeros and infinities."""
    made = np.empty(np.shape(real), np.result_type(real, np.complex64))
    made.real, made.imag = real, imag
    return made[()]
