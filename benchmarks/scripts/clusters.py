"""k-means until convergence, for several k, with k-means++ and silhouettes. The idiom of from-scratch tutorials (after Arthur and Vassilvitskii, 2007), written afresh.

Settings are constants below; `python clusters.py --small` takes few points.
"""

import sys

import numpy as np

SMALL = len(sys.argv) > 1 and sys.argv[1] == "--small"
N = 600 if SMALL else 12_000
DIM = 4
TRUE_K = 6
K_RANGE = range(2, 5) if SMALL else range(2, 10)
RESTARTS = 2 if SMALL else 3
MAX_ITER = 300
TOL = 1e-5
SEED = 42


def make_blobs(rng, n, k, dim):
    centers = rng.uniform(-10, 10, size=(k, dim))
    sizes = rng.multinomial(n, rng.dirichlet(np.full(k, 5.0)))
    points, labels = [], []
    for i, size in enumerate(sizes):
        spread = rng.uniform(0.8, 2.0)
        points.append(centers[i] + spread * rng.standard_normal((size, dim)))
        labels.extend([i] * size)
    order = rng.permutation(n)
    return np.vstack(points)[order], np.array(labels)[order], centers


def euclidean(a, b):
    return np.sqrt(((a - b) ** 2).sum(axis=-1))


def init_plus_plus(X, k, rng):
    """The next centre is drawn with a chance that grows with the squared distance from those there are."""
    centroids = [X[rng.integers(len(X))]]
    for _ in range(1, k):
        d2 = np.min([((X - c) ** 2).sum(axis=1) for c in centroids], axis=0)
        probs = d2 / d2.sum()
        centroids.append(X[rng.choice(len(X), p=probs)])
    return np.array(centroids)


def assign(X, centroids):
    distances = np.linalg.norm(X[:, np.newaxis, :] - centroids[np.newaxis, :, :], axis=2)
    return np.argmin(distances, axis=1), distances.min(axis=1)


def update(X, labels, centroids, rng):
    new = np.empty_like(centroids)
    for j in range(len(centroids)):
        members = X[labels == j]
        if len(members) == 0:
            # an empty cluster starts anew from a point
            new[j] = X[rng.integers(len(X))]
        else:
            new[j] = members.mean(axis=0)
    return new


def silhouette(X, labels, k):
    """The simplified silhouette, on a sample: distances between all pairs of it."""
    D = np.sqrt(np.maximum(((X[:, None, :] - X[None, :, :]) ** 2).sum(-1), 0))
    n = len(X)
    sums = np.zeros((n, k))
    counts = np.zeros(k)
    for j in range(k):
        mask = labels == j
        counts[j] = mask.sum()
        sums[:, j] = D[:, mask].sum(axis=1)
    scores = np.zeros(n)
    for i in range(n):
        own = labels[i]
        if counts[own] <= 1:
            continue
        a = sums[i, own] / (counts[own] - 1)
        b = np.inf
        for j in range(k):
            if j != own and counts[j] > 0:
                b = min(b, sums[i, j] / counts[j])
        scores[i] = (b - a) / max(a, b)
    return scores


def davies_bouldin(X, labels, centroids):
    k = len(centroids)
    scatter = np.array([euclidean(X[labels == j], centroids[j]).mean() for j in range(k)])
    worst = []
    for i in range(k):
        ratios = [(scatter[i] + scatter[j]) / euclidean(centroids[i], centroids[j]) for j in range(k) if j != i]
        worst.append(max(ratios))
    return np.mean(worst)


# ------------------------------------------------------------------ data
rng = np.random.default_rng(SEED)
X, truth, true_centers = make_blobs(rng, N, TRUE_K, DIM)
mean, std = X.mean(axis=0), X.std(axis=0)
X = (X - mean) / std
sample = rng.choice(N, size=min(N, 800), replace=False)
print(f"{N} points in {DIM} dimensions, {TRUE_K} blobs")

# ------------------------------------------------------------------ k-means for each k
results = {}
for k in K_RANGE:
    best = None
    for restart in range(RESTARTS):
        centroids = init_plus_plus(X, k, rng)
        iteration = 0
        while True:
            labels, dist = assign(X, centroids)
            new_centroids = update(X, labels, centroids, rng)
            shift = np.linalg.norm(new_centroids - centroids)
            centroids = new_centroids
            iteration += 1
            if shift < TOL:
                break
            if iteration >= MAX_ITER:
                print(f"  k={k}: no convergence after {MAX_ITER} iterations")
                break
        inertia = (dist**2).sum()
        if best is None or inertia < best["inertia"]:
            best = {
                "inertia": inertia,
                "labels": labels,
                "centroids": centroids,
                "iterations": iteration,
                "restart": restart,
            }

    s = silhouette(X[sample], best["labels"][sample], k)
    best["silhouette"] = s.mean()
    best["negative"] = (s < 0).sum()
    best["db"] = davies_bouldin(X, best["labels"], best["centroids"])
    results[k] = best
    print(
        f"k={k}: inertia {best['inertia']:.3f} after {best['iterations']} iterations (restart {best['restart']}), "
        f"silhouette {best['silhouette']:.6f}, Davies-Bouldin {best['db']:.6f}"
    )

# ------------------------------------------------------------------ which k?
by_silhouette = max(results, key=lambda k: results[k]["silhouette"])
by_db = min(results, key=lambda k: results[k]["db"])
print(f"best k by silhouette: {by_silhouette}, by Davies-Bouldin: {by_db}")

ks = np.array(list(results))
log_inertia = np.log([results[k]["inertia"] for k in results])
bend = np.diff(log_inertia, 2)
if len(bend) > 0:
    print(f"the curve of inertia bends most at k = {ks[1 + np.argmax(bend)]}")

# ------------------------------------------------------------------ the chosen clustering beside the truth
chosen = results[by_silhouette]
table = np.zeros((by_silhouette, TRUE_K), dtype=int)
for a, b in zip(chosen["labels"], truth):
    table[a, b] += 1
purity = table.max(axis=1).sum() / N
print("clusters (rows) against blobs (columns):")
for row in table[np.argsort(-table.sum(axis=1), kind="stable")]:
    print("  " + " ".join(f"{count:6d}" for count in row))

n_pairs = N * (N - 1) / 2
same_both = (table * (table - 1) / 2).sum()
same_rows = (table.sum(axis=1) * (table.sum(axis=1) - 1) / 2).sum()
same_cols = (table.sum(axis=0) * (table.sum(axis=0) - 1) / 2).sum()
expected = same_rows * same_cols / n_pairs
ari = (same_both - expected) / (0.5 * (same_rows + same_cols) - expected)
print(f"purity {purity:.6f}, adjusted Rand index {ari:.6f}")

centers = chosen["centroids"] * std + mean
nearest = [float(euclidean(true_centers, c).min()) for c in centers]
print(f"centres are off by {np.mean(nearest):.6f} on average, {max(nearest):.6f} at most")
