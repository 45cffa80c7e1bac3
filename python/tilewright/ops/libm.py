"""Functions of the C library, to the bit, which NumPy's normal draws are made with: np.log and its like are within 2 ULP of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..symbolic.arrays import SymArray
from ..symbolic.graph import FLOAT64
from ..symbolic.registry import rule
from ..symbolic.tracer import Tracer
from .shapes import as_array


def libm_exp(x: Any) -> Any:
    return math.exp(x)


def libm_log(x: Any) -> Any:
    return math.log(x)


def libm_log1p(x: Any) -> Any:
    return math.log1p(x)


def _register(function: Callable[[Any], Any]) -> None:
    @rule(function)
    def call(tracer: Tracer, x: Any) -> SymArray:
        value = tracer.cast(as_array(tracer, x).read(), FLOAT64)
        return SymArray.fresh(tracer, tracer.add(function.__name__, (value,), {}, FLOAT64, ()), is_scalar=True)


for _one in (libm_exp, libm_log, libm_log1p):
    _register(_one)
