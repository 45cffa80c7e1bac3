"""NPBench's spmv: a sparse matrix times a vector (reduction over rows that data bound). The program and its initializer as they stand there (BSD-3, LICENSE.npbench)."""

# ruff: noqa
# fmt: off
# Sparse Matrix-Vector Multiplication (SpMV)
import sys

import numpy as np


# Matrix-Vector Multiplication with the matrix given in Compressed Sparse Row
# (CSR) format
def spmv(A_row, A_col, A_val, x):
    y = np.empty(A_row.size - 1, A_val.dtype)

    for i in range(A_row.size - 1):
        cols = A_col[A_row[i]:A_row[i + 1]]
        vals = A_val[A_row[i]:A_row[i + 1]]
        y[i] = vals @ x[cols]

    return y


def initialize(M, N, nnz):
    from numpy.random import default_rng
    rng = default_rng(42)

    x = rng.random((N, ))

    from scipy.sparse import random

    matrix = random(M,
                    N,
                    density=nnz / (M * N),
                    format='csr',
                    dtype=np.float64,
                    random_state=rng)
    rows = np.uint32(matrix.indptr)
    cols = np.uint32(matrix.indices)
    vals = matrix.data

    return rows, cols, vals, x


# fmt: on
SIZES = {
    "S": {"M": 4096, "N": 4096, "nnz": 8192},
    "M": {"M": 32768, "N": 32768, "nnz": 65536},
}


def make_data(size="S"):
    n = SIZES[size]
    A_row, A_col, A_val, x = initialize(n["M"], n["N"], n["nnz"])
    return A_row, A_col, A_val, x


if __name__ == "__main__":
    spmv(*make_data(*sys.argv[1:]))
