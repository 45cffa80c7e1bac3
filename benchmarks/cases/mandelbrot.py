"""The Mandelbrot set as NumPy tutorials write it: masks on complex arrays, every point in step. The function is the tutorial's, to the letter."""

# ruff: noqa
import sys

import numpy as np


# fmt: off
# from Chap 4.3, https://www.labri.fr/perso/nrougier/from-python-to-numpy/#temporal-vectorization
def mandelbrot_numpy(xmin, xmax, ymin, ymax, nx, ny, maxiter, horizon=2.0):   
    X = np.linspace(xmin, xmax, nx, dtype=np.float32)
    Y = np.linspace(ymin, ymax, ny, dtype=np.float32)
    C = X + Y[:, None]*1j
    N = np.zeros(C.shape, dtype=int)
    Z = np.zeros(C.shape, dtype=np.complex64)
    for n in range(maxiter):
        I = np.abs(Z) < horizon
        N[I] = n
        Z[I] = Z[I]**2 + C[I]
    N[N == maxiter-1] = 0
    return Z, N


# fmt: on
def make_data(maxiter=200, nx=3000 // 3, ny=2500 // 3, horizon=2.0**40):
    return -2.25, +0.75, -1.25, +1.25, nx, ny, maxiter, horizon


if __name__ == "__main__":
    Z, N = mandelbrot_numpy(*make_data(*map(int, sys.argv[1:])))
    print(np.bincount(N.ravel())[:10])
