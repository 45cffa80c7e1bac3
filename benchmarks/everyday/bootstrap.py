"""Two samples compared: bootstrap intervals, a permutation test, Kolmogorov and Smirnov's distance. As statistics courses write it, afresh."""

import numpy as np


def bootstrap_ci(x, rng, n_boot, alpha=0.05):
    idx = rng.integers(0, len(x), size=(n_boot, len(x)))
    means = x[idx].mean(axis=1)
    return np.percentile(means, [100 * alpha / 2, 100 * (1 - alpha / 2)])


def permutation_test(a, b, rng, n_perm):
    observed = a.mean() - b.mean()
    pooled = np.concatenate([a, b])
    count = 0
    for _ in range(n_perm):
        rng.shuffle(pooled)
        if abs(pooled[: len(a)].mean() - pooled[len(a) :].mean()) >= abs(observed):
            count += 1
    return observed, (count + 1) / (n_perm + 1)


def ks_distance(a, b):
    both = np.sort(np.concatenate([a, b]))
    cdf_a = np.searchsorted(np.sort(a), both, side="right") / len(a)
    cdf_b = np.searchsorted(np.sort(b), both, side="right") / len(b)
    return np.max(np.abs(cdf_a - cdf_b))


def compare(a, b, n_boot=1000, n_perm=500, seed=0):
    rng = np.random.default_rng(seed)
    difference, p = permutation_test(a, b, rng, n_perm)
    return {
        "ci_a": bootstrap_ci(a, rng, n_boot),
        "ci_b": bootstrap_ci(b, rng, n_boot),
        "difference": difference,
        "p_value": p,
        "ks": ks_distance(a, b),
        "cohens_d": difference / np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2),
    }


def make_data(small=False):
    n = 40 if small else 1500
    rng = np.random.default_rng(25)
    return rng.gamma(2.0, 1.0, n), rng.gamma(2.1, 1.0, n + n // 5), *((50, 30) if small else ())


if __name__ == "__main__":
    print(compare(*make_data()))
