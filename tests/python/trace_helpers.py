"""A module that traced functions call into: helpers, globals, an object with attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

SCALE = 2.5
WEIGHTS = np.array([1.0, 2.0, 3.0])
COLLECTED: list[Any] = []


def scaled(x: Any) -> Any:
    result = x * SCALE
    return result


def weighted(x: Any, *, power: int = 1) -> Any:
    return (x * WEIGHTS) ** power


def recursive(x: Any, n: int) -> Any:
    return x if n == 0 else recursive(x + 1, n - 1)


class Model:
    def __init__(self, weights: Any, bias: float, size: int = 3) -> None:
        self.weights = weights
        self.bias = bias
        self.size = size
        self.history: list[Any] = []
        self.names = {"first": 1.5}

    def predict(self, x: Any) -> Any:
        return self._linear(x) + self.bias * self.names["first"]

    def _linear(self, x: Any) -> Any:
        return (x[:, None] * self.weights).sum(axis=1) * self.size

    def remember(self, x: Any) -> Any:
        self.history.insert(0, x)
        return x + 1

    def change(self, x: Any) -> Any:
        self.bias = 3.0
        return x + 1


def normalized(x: Any, mode: str = "rows") -> Any:
    assert x.ndim == 2, f"{x.ndim} axes"
    with np.errstate(divide="ignore"):
        try:
            y = x / x.sum(axis=0 if mode == "rows" else 1)
        finally:
            pass
    if not isinstance(y, np.ndarray) or mode not in ("rows", "columns"):
        raise ValueError(f"mode {mode!r}")
    return y
