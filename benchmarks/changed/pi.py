"""The changed Monte Carlo pi: a ball in three dimensions, single precision."""

import numpy as np


def estimate_pi(x, y, z):
    return 6.0 * np.mean(x**2 + y**2 + z**2 <= 1.0)


def make_data(size=10_000_000):
    rng = np.random.default_rng(0)
    return tuple(rng.random(size, dtype=np.float32) for _ in range(3))


if __name__ == "__main__":
    print(estimate_pi(*make_data()))
