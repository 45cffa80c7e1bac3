"""A 1024 x 1024 float32 matrix product: NumPy's BLAS is the measure."""

import numpy as np


def gemm(a, b):
    return a @ b


def make_data(size=1024, dtype=np.float32):
    rng = np.random.default_rng(0)
    return rng.standard_normal((size, size)).astype(dtype), rng.standard_normal((size, size)).astype(dtype)


if __name__ == "__main__":
    a, b = make_data()
    for _ in range(10):
        c = gemm(a, b)
    print(c.sum())
