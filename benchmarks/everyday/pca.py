"""Principal components and how much they explain, of data with outliers cut off. The usual recipe, written afresh."""

import numpy as np


def remove_outliers(X, z=4.0):
    scores = np.abs((X - np.median(X, axis=0)) / X.std(axis=0))
    return X[np.all(scores < z, axis=1)]


def pca(X, n_components=None, explained=0.95):
    X = remove_outliers(X)
    Xc = X - X.mean(axis=0)
    cov = np.cov(Xc, rowvar=False)
    values, vectors = np.linalg.eigh(cov)
    order = np.argsort(values)[::-1]
    values, vectors = values[order], vectors[:, order]
    # signs are arbitrary: the largest entry of each vector is positive
    signs = np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(vectors.shape[1])])
    vectors = vectors * signs
    ratio = values / values.sum()
    if n_components is None:
        n_components = int(np.searchsorted(np.cumsum(ratio), explained)) + 1
    components = vectors[:, :n_components]
    projected = Xc @ components
    error = np.sqrt(np.mean((Xc - projected @ components.T) ** 2))
    return projected, ratio[:n_components], error


def make_data(small=False):
    n, d = (100, 6) if small else (20_000, 24)
    rng = np.random.default_rng(24)
    X = rng.standard_normal((n, d // 3)) @ rng.standard_normal((d // 3, d)) + 0.1 * rng.standard_normal((n, d))
    X[rng.integers(0, n, n // 50)] *= 10
    return (X,)


if __name__ == "__main__":
    print(pca(*make_data())[1])
