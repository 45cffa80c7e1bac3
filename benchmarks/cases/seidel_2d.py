"""NPBench's seidel_2d: a Gauss-Seidel stencil (wavefront). The program and its initializer as they stand there (BSD-3, LICENSE.npbench)."""

# ruff: noqa
# fmt: off
import sys

import numpy as np


def kernel(TSTEPS, N, A):

    for t in range(0, TSTEPS - 1):
        for i in range(1, N - 1):
            A[i, 1:-1] += (A[i - 1, :-2] + A[i - 1, 1:-1] + A[i - 1, 2:] +
                           A[i, 2:] + A[i + 1, :-2] + A[i + 1, 1:-1] +
                           A[i + 1, 2:])
            for j in range(1, N - 1):
                A[i, j] += A[i, j - 1]
                A[i, j] /= 9.0


def initialize(N, datatype=np.float64):
    A = np.fromfunction(lambda i, j: (i * (j + 2) + 2) / N, (N, N),
                        dtype=datatype)

    return A


# fmt: on
SIZES = {
    "S": {"TSTEPS": 8, "N": 50},
    "M": {"TSTEPS": 15, "N": 100},
}


def make_data(size="S"):
    n = SIZES[size]
    A = initialize(n["N"])
    rng = np.random.default_rng(7)  # as shipped, a kernel that does nothing or little looks right
    for field in (A,):
        field += 0.1 * (np.std(field) or 1e-2) * rng.standard_normal(field.shape)
    return n["TSTEPS"], n["N"], A


if __name__ == "__main__":
    kernel(*make_data(*sys.argv[1:]))
