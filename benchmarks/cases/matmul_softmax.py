"""softmax(a @ b) of 100 x 100 matrices: a small matrix product and rows that fit in registers."""

import numpy as np


def matmul_softmax(a, b):
    scores = a @ b
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def make_data(size=100, dtype=np.float32):
    rng = np.random.default_rng(0)
    return rng.standard_normal((size, size)).astype(dtype), rng.standard_normal((size, size)).astype(dtype)


if __name__ == "__main__":
    a, b = make_data()
    for _ in range(1000):
        result = matmul_softmax(a, b)
    print(result.sum())
