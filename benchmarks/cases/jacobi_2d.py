"""NPBench's jacobi_2d: two stencils in turn (driver). The program and its initializer as they stand there (BSD-3, LICENSE.npbench)."""

# ruff: noqa
# fmt: off
import sys

import numpy as np


def kernel(TSTEPS, A, B):

    for t in range(1, TSTEPS):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] +
                               A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] +
                               B[2:, 1:-1] + B[:-2, 1:-1])


def initialize(N, datatype=np.float64):
    A = np.fromfunction(lambda i, j: i * (j + 2) / N, (N, N), dtype=datatype)
    B = np.fromfunction(lambda i, j: i * (j + 3) / N, (N, N), dtype=datatype)

    return A, B


# fmt: on
SIZES = {
    "S": {"TSTEPS": 50, "N": 150},
    "M": {"TSTEPS": 80, "N": 350},
    "L": {"TSTEPS": 200, "N": 700},
}


def make_data(size="S"):
    n = SIZES[size]
    A, B = initialize(n["N"])
    rng = np.random.default_rng(7)  # as shipped, a kernel that does nothing or little looks right
    for field in (A, B):
        field += 0.1 * (np.std(field) or 1e-2) * rng.standard_normal(field.shape)
    return n["TSTEPS"], A, B


if __name__ == "__main__":
    kernel(*make_data(*sys.argv[1:]))
