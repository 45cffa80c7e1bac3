"""The changed elementary functions: two arrays more, a logarithm and a tangent."""

import numpy as np


def trig(x, y, z):
    return np.log(1.5 + np.sin(x) * np.cos(y)) * np.tanh(z)


def make_data(size=10_000_000):
    rng = np.random.default_rng(0)
    return rng.uniform(-10, 10, size), rng.uniform(-10, 10, size), rng.uniform(-3, 3, size)


if __name__ == "__main__":
    print(trig(*make_data()).mean())
