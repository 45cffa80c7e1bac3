"""The sum of squares of each of a million short rows."""

import numpy as np


def sum_of_squares(x):
    return np.sum(x**2, axis=1)


def make_data(rows=1_000_000, columns=4, dtype=np.float64):
    rng = np.random.default_rng(0)
    return (rng.standard_normal((rows, columns)).astype(dtype),)


if __name__ == "__main__":
    print(sum_of_squares(*make_data()).mean())
