"""Shortest paths between all pairs of vertices, with the way back (Floyd and Warshall). The usual row by column, written afresh."""

import numpy as np


def floyd_warshall(weights):
    """weights[i, j]: length of the edge, np.inf where there is none."""
    n = weights.shape[0]
    if weights.ndim != 2 or weights.shape[1] != n:
        raise ValueError("weights must be a square matrix")
    dist = weights.copy()
    np.fill_diagonal(dist, 0)
    predecessors = np.where(np.isfinite(weights), np.arange(n)[:, None], -9999)
    np.fill_diagonal(predecessors, -9999)
    for k in range(n):
        through = dist[:, k, np.newaxis] + dist[np.newaxis, k, :]
        shorter = through < dist
        dist[shorter] = through[shorter]
        predecessors = np.where(shorter, predecessors[k], predecessors)
    if (np.diag(dist) < 0).any():
        raise ValueError("the graph has a cycle of negative length")
    reachable = np.isfinite(dist)
    return dist, predecessors, dist[reachable].max()


def make_data(small=False):
    n = 15 if small else 180
    rng = np.random.default_rng(29)
    weights = rng.integers(1, 100, (n, n)).astype(float)
    weights[rng.random((n, n)) < 0.9] = np.inf
    return (weights,)


if __name__ == "__main__":
    print(floyd_warshall(*make_data())[2])
