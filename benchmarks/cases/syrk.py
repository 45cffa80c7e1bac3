"""NPBench's syrk: a symmetric rank-k update (map). The program and its initializer as they stand there (BSD-3, LICENSE.npbench)."""

# ruff: noqa
# fmt: off
import sys

import numpy as np


def kernel(alpha, beta, C, A):

    for i in range(A.shape[0]):
        C[i, :i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, :i + 1] += alpha * A[i, k] * A[:i + 1, k]


def initialize(M, N, datatype=np.float64):
    alpha = datatype(1.5)
    beta = datatype(1.2)
    C = np.fromfunction(lambda i, j: ((i * j + 2) % N) / M, (N, N),
                        dtype=datatype)
    A = np.fromfunction(lambda i, j: ((i * j + 1) % N) / N, (N, M),
                        dtype=datatype)

    return alpha, beta, C, A


# fmt: on
SIZES = {
    "S": {"M": 50, "N": 70},
    "M": {"M": 150, "N": 200},
}


def make_data(size="S"):
    n = SIZES[size]
    alpha, beta, C, A = initialize(n["M"], n["N"])
    return alpha, beta, C, A


if __name__ == "__main__":
    kernel(*make_data(*sys.argv[1:]))
