"""A mixture of Gaussians by expectation and maximization. The textbook's (Bishop, chapter 9), written afresh."""

import numpy as np


def log_gaussian(X, mean, cov):
    d = X.shape[1]
    diff = X - mean
    _, logdet = np.linalg.slogdet(cov)
    mahalanobis = np.einsum("ij,jk,ik->i", diff, np.linalg.inv(cov), diff)
    return -0.5 * (d * np.log(2 * np.pi) + logdet + mahalanobis)


def logsumexp(a, axis):
    m = a.max(axis=axis, keepdims=True)
    return (m + np.log(np.exp(a - m).sum(axis=axis, keepdims=True))).squeeze(axis)


def fit_gmm(X, k, max_iter=40, tol=1e-6, seed=0):
    n, d = X.shape
    rng = np.random.default_rng(seed)
    means = X[rng.choice(n, k, replace=False)]
    covs = np.array([np.cov(X.T) for _ in range(k)])
    weights = np.full(k, 1 / k)
    history = [-np.inf]
    for _ in range(max_iter):
        logp = np.column_stack([np.log(weights[j]) + log_gaussian(X, means[j], covs[j]) for j in range(k)])
        total = logsumexp(logp, axis=1)
        resp = np.exp(logp - total[:, None])
        nk = resp.sum(axis=0)
        weights = nk / n
        means = resp.T @ X / nk[:, None]
        for j in range(k):
            diff = X - means[j]
            covs[j] = (resp[:, j, None] * diff).T @ diff / nk[j] + 1e-6 * np.eye(d)
        history.append(total.mean())
        if history[-1] - history[-2] < tol:
            break
    return {"weights": weights, "means": means, "covs": covs, "log_likelihood": np.array(history[1:])}


def make_data(small=False):
    n = 200 if small else 8000
    rng = np.random.default_rng(23)
    means = np.array([[0.0, 0, 0], [4, 4, 0], [-4, 3, 2]])
    return means[rng.integers(0, 3, n)] + rng.standard_normal((n, 3)) * [1.0, 0.7, 1.5], 3


if __name__ == "__main__":
    print(fit_gmm(*make_data())["means"])
