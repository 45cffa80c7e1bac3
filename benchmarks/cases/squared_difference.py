"""(a - b) ** 2 of ten million pairs: as much arithmetic as memory traffic allows for free."""

import numpy as np


def squared_difference(a, b):
    return (a - b) ** 2


def make_data(size=10_000_000, dtype=np.float32):
    rng = np.random.default_rng(0)
    return rng.random(size).astype(dtype), rng.random(size).astype(dtype)


if __name__ == "__main__":
    print(squared_difference(*make_data()).mean())
