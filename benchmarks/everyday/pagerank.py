"""PageRank of a graph of edges by power iteration (Page and others, 1999). The usual loop until it rests, written afresh."""

import numpy as np


def pagerank(src, dst, n, alpha=0.85, max_iter=100, tol=1e-8):
    if src.shape != dst.shape:
        raise ValueError("src and dst have one entry for each edge")
    out_degree = np.bincount(src, minlength=n)
    dangling = out_degree == 0
    share = np.zeros(n)
    share[~dangling] = 1.0 / out_degree[~dangling]
    rank = np.full(n, 1.0 / n)
    for _iteration in range(max_iter):
        previous = rank
        incoming = np.bincount(dst, weights=(previous * share)[src], minlength=n)
        rank = alpha * (incoming + previous[dangling].sum() / n) + (1 - alpha) / n
        if np.abs(rank - previous).sum() < n * tol:
            break
    else:
        raise RuntimeError(f"pagerank: no convergence in {max_iter} iterations")
    best = np.argsort(-rank, kind="stable")[:10]
    return rank, best


def make_data(small=False):
    n, edges = (50, 200) if small else (50_000, 400_000)
    rng = np.random.default_rng(27)
    return rng.integers(0, n, edges), (n * rng.random(edges) ** 2).astype(int), n


if __name__ == "__main__":
    print(pagerank(*make_data())[1])
