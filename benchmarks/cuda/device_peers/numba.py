"""numba.cuda: kernels as its users write them, a thread an element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def prepare(case: Any, arguments: tuple[Any, ...]) -> tuple[dict[str, Callable[[], Any]], Callable[[], None]]:
    if not hasattr(np, "row_stack"):  # numba-cuda asks for a name that NumPy 2.5 took away
        np.row_stack = np.vstack
    from numba import cuda

    @cuda.jit(fastmath=True)
    def kmeans(points, means, labels):
        i = cuda.grid(1)
        if i < points.shape[0]:
            best, best_distance = 0, np.inf
            for k in range(means.shape[0]):
                distance = 0.0
                for d in range(points.shape[1]):
                    difference = points[i, d] - means[k, d]
                    distance += difference * difference
                if distance < best_distance:
                    best, best_distance = k, distance
            labels[i] = best

    @cuda.jit(fastmath=True)
    def trig(x, y, a, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = math.exp(a * math.sin(x[i]) + math.cos(y[i]))

    @cuda.jit(fastmath=True)
    def squared_difference(a, b, out):
        i = cuda.grid(1)
        if i < a.size:
            out[i] = (a[i] - b[i]) ** 2

    @cuda.jit(fastmath=True)
    def sum_of_squares(x, out):
        i = cuda.grid(1)
        if i < x.shape[0]:
            total = 0.0
            for j in range(x.shape[1]):
                total += x[i, j] * x[i, j]
            out[i] = total

    kernels = {
        "kmeans": kmeans,
        "trig": trig,
        "squared_difference": squared_difference,
        "sum_of_squares": sum_of_squares,
    }
    if case.script not in kernels:
        raise NotImplementedError("no kernel of it is written here")
    kernel = kernels[case.script]
    arrays = [cuda.to_device(a) if isinstance(a, np.ndarray) else arguments[0].dtype.type(a) for a in arguments]
    count = arguments[0].shape[0]
    dtype = np.int64 if case.script == "kmeans" else arguments[0].dtype

    def call() -> Any:
        out = cuda.device_array(count, dtype)
        kernel[(count + 255) // 256, 256](*arrays, out)
        return out

    return {"by hand": call}, cuda.synchronize
