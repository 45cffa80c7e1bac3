"""Numba, parallel, with the loops written out by hand; fastmath where a user would switch it on."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np


def version() -> str:
    import numba

    return str(numba.__version__)


def _kernels() -> dict[str, Any]:
    from numba import njit, prange

    def kmeans(points, means):
        n, dims = points.shape
        count = means.shape[0]
        labels = np.empty(n, np.int64)
        for i in prange(n):
            best = 0
            best_distance = np.inf
            for k in range(count):
                distance = 0.0
                for d in range(dims):
                    difference = points[i, d] - means[k, d]
                    distance += difference * difference
                if distance < best_distance:
                    best_distance = distance
                    best = k
            labels[i] = best
        return labels

    @njit(parallel=True, fastmath=True)
    def trig(x, y, a):
        out = np.empty_like(x)
        for i in prange(x.size):
            out[i] = math.exp(a * math.sin(x[i]) + math.cos(y[i]))
        return out

    @njit(parallel=True, fastmath=True)
    def softmax(x):
        rows, columns = x.shape
        out = np.empty_like(x)
        for i in prange(rows):
            largest = x[i, 0]
            for j in range(1, columns):
                largest = max(largest, x[i, j])
            total = x.dtype.type(0)
            for j in range(columns):
                value = math.exp(x[i, j] - largest)
                out[i, j] = value
                total += value
            for j in range(columns):
                out[i, j] /= total
        return out

    @njit(parallel=True, fastmath=True)
    def l2norm(x):
        total = x.dtype.type(0)
        for i in prange(x.size):
            total += x[i] * x[i]
        return math.sqrt(total)

    @njit(parallel=True, fastmath=True)
    def sum_of_squares(x):
        rows, columns = x.shape
        out = np.empty(rows, x.dtype)
        for i in prange(rows):
            total = 0.0
            for j in range(columns):
                total += x[i, j] * x[i, j]
            out[i] = total
        return out

    @njit(parallel=True, fastmath=True)
    def squared_difference(a, b):
        out = np.empty_like(a)
        for i in prange(a.size):
            difference = a[i] - b[i]
            out[i] = difference * difference
        return out

    @njit(parallel=True, fastmath=True)
    def pi(x, y):
        inside = 0
        for i in prange(x.size):
            if x[i] * x[i] + y[i] * y[i] <= 1.0:
                inside += 1
        return 4.0 * inside / x.size

    @njit(fastmath=True)
    def matmul_softmax(a, b):
        scores = a @ b
        rows, columns = scores.shape
        for i in range(rows):
            largest = scores[i, 0]
            for j in range(1, columns):
                largest = max(largest, scores[i, j])
            total = scores.dtype.type(0)
            for j in range(columns):
                value = math.exp(scores[i, j] - largest)
                scores[i, j] = value
                total += value
            for j in range(columns):
                scores[i, j] /= total
        return scores

    return {
        "kmeans": njit(parallel=True, fastmath=True)(kmeans),
        "kmeans_100": njit(fastmath=True)(kmeans),  # prange is range without parallel
        "trig": trig,
        "softmax": softmax,
        "l2norm": l2norm,
        "sum_of_squares": sum_of_squares,
        "squared_difference": squared_difference,
        "pi": pi,
        "matmul_softmax": matmul_softmax,
    }


def prepare(case: Any, arguments: tuple[Any, ...]) -> Callable[[], Any] | dict[str, Callable[[], Any]]:
    kernels = _kernels()
    kernel = kernels.get(case.name) or kernels.get(case.script)
    if kernel is None:
        from loops import with_numba

        return {name: partial(function, *arguments) for name, function in with_numba.variants(case).items()}
    arguments = tuple(arguments[0].dtype.type(value) if isinstance(value, float) else value for value in arguments)
    return lambda: kernel(*arguments)
