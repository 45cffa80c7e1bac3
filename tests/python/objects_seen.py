"""What can be seen of objects: values, dtypes, what is one object, and what shares memory."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

_DEEPEST = 4


@dataclass(eq=False)
class Seen:
    """`form`: all but the numbers, which are in `floats`."""

    form: Any
    floats: list[np.ndarray]

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        """Elementary functions and sums are NumPy's but for some ULP."""
        return (
            isinstance(other, Seen)
            and self.form == other.form
            and all(
                np.allclose(a, b, rtol=1e-6 if a.dtype == np.float32 else 1e-12, atol=1e-12, equal_nan=True)
                for a, b in zip(self.floats, other.floats, strict=True)
            )
        )


def seen(value: Any) -> Seen:
    """Each object has a number, in the order in which it is met."""
    numbers: dict[int, int] = {}
    arrays: list[np.ndarray] = []
    floats: list[np.ndarray] = []

    def told(value: Any, depth: int) -> Any:
        if isinstance(value, np.ndarray):
            number = numbers.setdefault(id(value), len(numbers))
            arrays.append(value)
            if value.dtype.kind not in "biufc":
                return number, value.dtype.str, value.tolist()
            floats.append(value.copy())
            return number, value.dtype.str, value.shape
        if isinstance(value, (float, np.floating)):
            floats.append(np.array(value))
            return type(value).__name__
        if isinstance(value, (np.generic, bool, int, str, type(None))):
            return type(value).__name__, repr(value)
        if isinstance(value, (list, tuple)):
            return type(value).__name__, [told(one, depth) for one in value]
        if isinstance(value, dict):
            return [(key, told(one, depth)) for key, one in value.items()]
        if isinstance(value, np.random.Generator):
            return str(value.bit_generator.state)
        number = numbers.setdefault(id(value), len(numbers))
        return number, type(value).__name__, told(vars(value), depth + 1) if depth < _DEEPEST else None

    form = told(value, 0)
    return Seen((form, [np.shares_memory(a, b) for a, b in itertools.combinations(arrays, 2)]), floats)
