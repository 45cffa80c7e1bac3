"""Distances from one vertex, a level at a time, on a graph in compressed rows. The usual frontier, written afresh."""

import numpy as np


def bfs_levels(indptr, indices, source):
    n = len(indptr) - 1
    if not 0 <= source < n:
        raise IndexError(f"source is from 0 to {n - 1}, not {source}")
    level = np.full(n, -1)
    level[source] = 0
    frontier = np.array([source])
    depth = 0
    while frontier.size > 0:
        depth += 1
        counts = indptr[frontier + 1] - indptr[frontier]
        # all neighbours of the frontier, without a loop over it
        offsets = np.repeat(indptr[frontier] - np.concatenate(([0], np.cumsum(counts)[:-1])), counts)
        neighbours = indices[offsets + np.arange(counts.sum())]
        frontier = np.unique(neighbours[level[neighbours] < 0])
        level[frontier] = depth
    sizes = np.bincount(level[level >= 0])
    return level, sizes


def make_data(small=False):
    n, degree = (60, 3) if small else (60_000, 8)
    rng = np.random.default_rng(28)
    edges = n * degree // 2
    a = rng.integers(0, n, edges)
    b = (a + rng.integers(1, n // 20 + 2, edges)) % n
    src, dst = np.concatenate([a, b]), np.concatenate([b, a])
    order = np.lexsort((dst, src))
    return np.concatenate(([0], np.cumsum(np.bincount(src, minlength=n)))), dst[order], 0


if __name__ == "__main__":
    print(bfs_levels(*make_data())[1])
