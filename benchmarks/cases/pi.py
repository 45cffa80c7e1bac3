"""Monte Carlo pi from ten million points: compare and count."""

import numpy as np


def estimate_pi(x, y):
    return 4.0 * np.mean(x**2 + y**2 <= 1.0)


def make_data(size=10_000_000, dtype=np.float64):
    rng = np.random.default_rng(0)
    return rng.random(size).astype(dtype), rng.random(size).astype(dtype)


if __name__ == "__main__":
    print(estimate_pi(*make_data()))
