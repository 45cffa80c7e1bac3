"""The Mandelbrot set over given points: what a device gets when its caller made the grid."""

import numpy as np


def mandelbrot(C, maxiter, horizon):
    N = np.zeros(C.shape, dtype=int)
    Z = np.zeros(C.shape, dtype=np.complex64)
    for n in range(maxiter):
        I = np.abs(Z) < horizon
        N[I] = n
        Z[I] = Z[I] ** 2 + C[I]
    N[maxiter - 1 == N] = 0
    return Z, N


def make_data(nx=1000, ny=833, maxiter=200, horizon=2.0**40):
    x = np.linspace(-2.25, 0.75, nx, dtype=np.float32)
    y = np.linspace(-1.25, 1.25, ny, dtype=np.float32)
    return (x + y[:, None] * 1j).astype(np.complex64), maxiter, horizon


if __name__ == "__main__":
    Z, N = mandelbrot(*make_data())
    print(np.bincount(N.ravel())[:10])
