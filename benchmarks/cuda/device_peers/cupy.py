"""CuPy: the case's own function with CuPy in NumPy's place, and one fused kernel where CuPy's users write one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from . import wait_of_all


def _fused(cupy: Any, case: Any) -> Callable[..., Any] | None:
    if case.script == "kmeans":
        kernel = cupy.ElementwiseKernel(
            "raw T x, raw T means, int64 count, int64 dims",
            "int64 label",
            """T best = 0; label = 0;
               for (long long k = 0; k < count; ++k) {
                 T d = 0;
                 for (long long j = 0; j < dims; ++j) { T t = x[i * dims + j] - means[k * dims + j]; d += t * t; }
                 if (k == 0 || d < best) { best = d; label = k; }
               }""",
            "labels",
        )
        return lambda x, means: kernel(x, means, means.shape[0], x.shape[1], size=x.shape[0])
    if case.script == "trig":
        return cupy.fuse(lambda x, y, a: cupy.exp(a * cupy.sin(x) + cupy.cos(y)))
    if case.script == "squared_difference":
        return cupy.fuse(lambda a, b: (a - b) ** 2)
    if case.script == "l2norm":
        squares = cupy.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")
        return squares
    if case.script == "sum_of_squares":
        rows = cupy.ReductionKernel("T x", "T y", "x * x", "a + b", "y = a", "0", "squares")
        return lambda x: rows(x, axis=1)
    return None


def prepare(case: Any, arguments: tuple[Any, ...]) -> tuple[dict[str, Callable[[], Any]], Callable[[], None]]:
    import cupy

    module = case.module()
    module.np = cupy
    function = getattr(module, case.function)
    arrays = [cupy.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]

    def as_numpy() -> Any:
        answer = function(*arrays)
        return [arrays[place] for place in case.written] or answer

    ways: dict[str, Callable[[], Any]] = {"as NumPy": as_numpy if case.written else partial(function, *arrays)}
    if fused := _fused(cupy, case):
        ways["fused"] = partial(fused, *arrays)
    return ways, wait_of_all()
