"""Reaction and diffusion of two chemicals (Gray and Scott). The idiom of N. P. Rougier's From Python to NumPy, written afresh."""

import numpy as np


def laplacian(Z):
    return Z[:-2, 1:-1] + Z[1:-1, :-2] - 4 * Z[1:-1, 1:-1] + Z[1:-1, 2:] + Z[2:, 1:-1]


def gray_scott(n, steps, Du=0.16, Dv=0.08, F=0.035, k=0.065, seed=0):
    rng = np.random.default_rng(seed)
    U = np.zeros((n + 2, n + 2))
    V = np.zeros((n + 2, n + 2))
    u, v = U[1:-1, 1:-1], V[1:-1, 1:-1]
    r = n // 10
    u[...] = 1.0
    U[n // 2 - r : n // 2 + r, n // 2 - r : n // 2 + r] = 0.50
    V[n // 2 - r : n // 2 + r, n // 2 - r : n // 2 + r] = 0.25
    u += 0.05 * rng.uniform(-1, +1, (n, n))
    v += 0.05 * rng.uniform(-1, +1, (n, n))
    for _ in range(steps):
        Lu = laplacian(U)
        Lv = laplacian(V)
        uvv = u * v * v
        u += Du * Lu - uvv + F * (1 - u)
        v += Dv * Lv + uvv - (F + k) * v
    return V


def make_data(small=False):
    return (24, 5) if small else (192, 200)


if __name__ == "__main__":
    print(gray_scott(*make_data()).mean())
