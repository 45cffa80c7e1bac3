"""k-means until the centers rest, started by distance (k-means++). The usual loop over clusters, written afresh."""

import numpy as np


def init_centers(X, k, rng):
    centers = [X[rng.integers(len(X))]]
    for _ in range(k - 1):
        d2 = np.min([np.sum((X - c) ** 2, axis=1) for c in centers], axis=0)
        cumulative = np.cumsum(d2 / d2.sum())
        centers.append(X[np.searchsorted(cumulative, rng.random())])
    return np.array(centers)


def kmeans(X, k, max_iter=50, tol=1e-6, seed=0):
    if not 1 <= k <= len(X):
        raise ValueError(f"k is from 1 to {len(X)}, not {k}")
    rng = np.random.default_rng(seed)
    centers = init_centers(X, k, rng)
    for _ in range(max_iter):
        distances = np.linalg.norm(X[:, np.newaxis, :] - centers[np.newaxis, :, :], axis=2)
        labels = np.argmin(distances, axis=1)
        new_centers = np.array([X[labels == j].mean(axis=0) if np.any(labels == j) else centers[j] for j in range(k)])
        if np.allclose(new_centers, centers, atol=tol):
            break
        centers = new_centers
    inertia = np.sum((X - centers[labels]) ** 2)
    return centers, labels, inertia


def make_data(small=False):
    n = 200 if small else 20_000
    rng = np.random.default_rng(21)
    means = rng.uniform(-10, 10, (5, 2))
    return means[rng.integers(0, 5, n)] + rng.standard_normal((n, 2)), 5


if __name__ == "__main__":
    print(kmeans(*make_data())[0])
