"""Conway's game of life with slices and masks. The idiom of N. P. Rougier's From Python to NumPy, written afresh."""

import numpy as np


def iterate(Z):
    N = (
        Z[0:-2, 0:-2] + Z[0:-2, 1:-1] + Z[0:-2, 2:] + Z[1:-1, 0:-2] + Z[1:-1, 2:]
        + Z[2:, 0:-2] + Z[2:, 1:-1] + Z[2:, 2:]
    )  # fmt: skip
    birth = (N == 3) & (Z[1:-1, 1:-1] == 0)
    survive = ((N == 2) | (N == 3)) & (Z[1:-1, 1:-1] == 1)
    Z[...] = 0
    Z[1:-1, 1:-1][birth | survive] = 1
    return Z


def life(Z, generations):
    Z = Z.copy()
    alive = []
    for _ in range(generations):
        Z = iterate(Z)
        alive.append(Z.sum())
    return Z, alive


def make_data(small=False):
    n, generations = (20, 4) if small else (256, 60)
    rng = np.random.default_rng(33)
    return rng.integers(0, 2, (n, n)), generations


if __name__ == "__main__":
    print(life(*make_data())[1][-3:])
