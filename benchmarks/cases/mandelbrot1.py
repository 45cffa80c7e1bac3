"""NPBench's mandelbrot1: boolean masks on complex128 (pixelwise). The program and its initializer as they stand there (BSD-3, LICENSE.npbench)."""

# ruff: noqa
# fmt: off
# -----------------------------------------------------------------------------
# From Numpy to Python
# Copyright (2017) Nicolas P. Rougier - BSD license
# More information at https://github.com/rougier/numpy-book
# -----------------------------------------------------------------------------
import sys

import numpy as np


def mandelbrot(xmin, xmax, ymin, ymax, xn, yn, maxiter, horizon=2.0):
    # Adapted from https://www.ibm.com/developerworks/community/blogs/jfp/...
    #              .../entry/How_To_Compute_Mandelbrodt_Set_Quickly?lang=en
    X = np.linspace(xmin, xmax, xn, dtype=np.float64)
    Y = np.linspace(ymin, ymax, yn, dtype=np.float64)
    C = X + Y[:, None] * 1j
    N = np.zeros(C.shape, dtype=np.int64)
    Z = np.zeros(C.shape, dtype=np.complex128)
    for n in range(maxiter):
        I = np.less(abs(Z), horizon)
        N[I] = n
        Z[I] = Z[I]**2 + C[I]
    N[N == maxiter - 1] = 0
    return Z, N


# No initialization needed


# fmt: on
SIZES = {
    "S": {"xmin": -1.75, "xmax": 0.25, "XN": 125, "ymin": -1.0, "ymax": 1.0, "YN": 125, "maxiter": 60, "horizon": 2.0},
    "M": {"xmin": -1.75, "xmax": 0.25, "XN": 250, "ymin": -1.0, "ymax": 1.0, "YN": 250, "maxiter": 150, "horizon": 2.0},
}


def make_data(size="S"):
    n = SIZES[size]
    return n["xmin"], n["xmax"], n["ymin"], n["ymax"], n["XN"], n["YN"], n["maxiter"], n["horizon"]


if __name__ == "__main__":
    mandelbrot(*make_data(*sys.argv[1:]))
