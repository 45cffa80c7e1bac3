"""Functions that raise or warn where data say so. Not in a test file, whose asserts pytest rewrites."""

from __future__ import annotations

import warnings

import numpy as np


def raises_behind_data(x):
    x[0] = 7.0
    if x.sum() > 100:
        x[1] = 8.0
        raise ValueError(f"too large: {x.max()}")
    return x * 2


def asserts(x):
    x[0] = 7.0
    assert np.isfinite(x).all(), "not finite"
    return x * 2


def asserts_in_a_try(x):
    try:
        assert x.sum() < 100
    except AssertionError:
        x[0] = -1.0
        return x - 1
    return x * 2


def raises_in_a_loop(x):
    total = 0.0
    for i in range(len(x)):
        x[i] += 1
        if x[i] > 50:
            raise RuntimeError(i)
        total += x[i]
    return total


def warns_behind_data(x):
    if x.max() > 50:
        warnings.warn("large", RuntimeWarning, stacklevel=1)
        x[0] = 3.0
    return x + 1


def raises_on_either_way(x):
    if x.max() > 50:
        raise ValueError("large")
    elif x.max() < -50:
        raise IndexError("small")
    return x[x > 0]
