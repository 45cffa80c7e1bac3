"""exp(a sin x + cos y) over ten million points: elementary functions, element by element."""

import sys

import numpy as np


def trig(x, y, a):
    return np.exp(a * np.sin(x) + np.cos(y))


def make_data(size=10_000_000, dtype=np.float64):
    rng = np.random.default_rng(0)
    x = rng.uniform(-10, 10, size).astype(dtype)
    y = rng.uniform(-10, 10, size).astype(dtype)
    return x, y, 0.5


if __name__ == "__main__":
    result = trig(*make_data(dtype=sys.argv[1] if sys.argv[1:] else np.float64))
    print(result.mean())
