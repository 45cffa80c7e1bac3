"""One step of k-means: the nearest mean of each of twenty million points, two blobs of ten million."""

import sys

import numpy as np


def get_labels(X, means):
    return np.argmin(np.linalg.norm(X - means[:, None], axis=2), axis=0)


def make_data(points=20_000_000, dtype=np.float64, means=2, dimensions=2, order="C"):
    rng = np.random.default_rng(0)
    centers = 5.0 * np.arange(1, means + 1)[:, None] * np.ones(dimensions)
    X = np.empty((points, dimensions), dtype, order=order)
    for blob, rows in enumerate(np.array_split(np.arange(points), means)):
        block = slice(rows[0], rows[-1] + 1) if len(rows) else slice(0, 0)
        X[block] = centers[blob] + rng.standard_normal((len(rows), dimensions))
    return X, centers.astype(dtype)


if __name__ == "__main__":
    X, means = make_data(dtype=sys.argv[1] if sys.argv[1:] else np.float64)
    labels = get_labels(X, means)
    print(np.bincount(labels))
