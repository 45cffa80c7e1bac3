"""The Euclidean norm of twenty million numbers: one long sum."""

import numpy as np


def l2norm(x):
    return np.linalg.norm(x)


def make_data(size=20_000_000, dtype=np.float32):
    rng = np.random.default_rng(0)
    return (rng.standard_normal(size, dtype=np.float32).astype(dtype),)


if __name__ == "__main__":
    print(l2norm(*make_data()))
