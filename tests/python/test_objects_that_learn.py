"""Small classes as people write them to learn, to sample and to optimize: their methods set attributes, and write into arrays that they hold."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright
from objects_seen import seen

pytestmark = pytest.mark.compile


class LinReg:
    def __init__(self, lr=0.01, n_iter=200):
        self.lr, self.n_iter = lr, n_iter

    def fit(self, X, y):
        n, d = X.shape
        self.w = np.zeros(d)
        self.b = 0.0
        self.losses = []
        for _ in range(self.n_iter):
            pred = X @ self.w + self.b
            err = pred - y
            self.w -= self.lr * (X.T @ err) / n
            self.b -= self.lr * err.mean()
            self.losses.append((err**2).mean())
        return self

    def fit2(self, X, y):
        n, d = X.shape
        self.w = np.zeros(d)
        self.b = 0.0
        for _ in range(self.n_iter):
            err = X @ self.w + self.b - y
            self.w -= self.lr * (X.T @ err) / n
            self.b -= self.lr * err.mean()
        return self

    def predict(self, X):
        return X @ self.w + self.b


class KMeans:
    def __init__(self, k, seed=0):
        self.k = k
        self.rng = np.random.default_rng(seed)

    def fit(self, X, iters=20):
        self.centers = X[self.rng.choice(len(X), self.k, replace=False)]
        for _ in range(iters):
            d = ((X[:, None, :] - self.centers[None]) ** 2).sum(-1)
            self.labels = d.argmin(1)
            for j in range(self.k):
                m = self.labels == j
                if m.any():
                    self.centers[j] = X[m].mean(0)
        return self


class PCA:
    def __init__(self, n):
        self.n = n

    def fit(self, X):
        self.mean = X.mean(0)
        Xc = X - self.mean
        U, S, Vt = np.linalg.svd(Xc, full_matrices=False)
        self.components = Vt[: self.n]
        self.var = S[: self.n] ** 2 / (len(X) - 1)
        return self


class MLP:
    def __init__(self, sizes, seed=0):
        r = np.random.default_rng(seed)
        self.W = [r.normal(size=(a, b)) * 0.1 for a, b in zip(sizes[:-1], sizes[1:], strict=True)]
        self.b = [np.zeros(b) for b in sizes[1:]]

    def forward(self, x):
        self.acts = [x]
        for W, b in zip(self.W, self.b, strict=True):
            x = np.tanh(x @ W + b)
            self.acts.append(x)
        return x

    def train_step(self, x, y, lr=0.1):
        out = self.forward(x)
        g = (out - y) * (1 - out**2)
        for i in reversed(range(len(self.W))):
            gW = self.acts[i].T @ g
            gb = g.sum(0)
            g = (g @ self.W[i].T) * (1 - self.acts[i] ** 2)
            self.W[i] -= lr * gW
            self.b[i] -= lr * gb
        return ((out - y) ** 2).mean()


class Ising:
    def __init__(self, n, seed=0):
        self.rng = np.random.default_rng(seed)
        self.s = self.rng.choice([-1, 1], size=(n, n))
        self.energy = 0.0

    def sweep(self, beta):
        n = len(self.s)
        for _ in range(n * n):
            i, j = self.rng.integers(n), self.rng.integers(n)
            nb = self.s[(i + 1) % n, j] + self.s[i - 1, j] + self.s[i, (j + 1) % n] + self.s[i, j - 1]
            dE = 2 * self.s[i, j] * nb
            if dE <= 0 or self.rng.random() < np.exp(-beta * dE):
                self.s[i, j] *= -1
                self.energy += dE


class Adam:
    def __init__(self, lr=1e-3):
        self.lr = lr
        self.m = {}
        self.v = {}
        self.t = 0

    def step(self, params, grads):
        self.t += 1
        for k in params:
            if k not in self.m:
                self.m[k] = np.zeros_like(params[k])
                self.v[k] = np.zeros_like(params[k])
            self.m[k] = 0.9 * self.m[k] + 0.1 * grads[k]
            self.v[k] = 0.999 * self.v[k] + 0.001 * grads[k] ** 2
            mh = self.m[k] / (1 - 0.9**self.t)
            vh = self.v[k] / (1 - 0.999**self.t)
            params[k] -= self.lr * mh / (np.sqrt(vh) + 1e-8)


class Bandit:
    """Its draws read tables, which the trace comes across in a loop; that loop begins anew for each attribute that it sets."""

    def __init__(self):
        self.rng = np.random.default_rng(3)
        self.values, self.counts, self.time = np.zeros(4), np.zeros(4), 0

    def step(self, action):
        reward = self.rng.standard_normal() + action
        self.time += 1
        self.counts[action] += 1
        self.values[action] += 0.1 * (reward - self.values[action])
        return reward

    def play(self, times):
        rewards = np.zeros(times)
        for t in range(times):
            rewards[t] = self.step(np.argmax(self.values) if t > 4 else t % 4)
        return rewards


X = np.random.default_rng(1).normal(size=(60, 5))


def params():
    return {"a": np.ones(3), "b": np.zeros((2, 2))}


@pytest.mark.parametrize(
    ("method", "make"),
    [
        (LinReg.fit, lambda: (LinReg(), X, X @ np.arange(5.0) + 1)),
        (KMeans.fit, lambda: (KMeans(3), X)),
        (PCA.fit, lambda: (PCA(2), X)),
        (MLP.train_step, lambda: (MLP([5, 4, 2]), X, np.tanh(X[:, :2]))),
        (Ising.sweep, lambda: (Ising(6), 0.4)),
        (Bandit.play, lambda: (Bandit(), 100)),
        (Adam.step, lambda: (Adam(), params(), {name: one + 1.0 for name, one in params().items()})),
    ],
)
def test_they_learn_as_in_numpy(method, make) -> None:
    compiled = tilewright.jit(method, strict=True)
    ours, theirs = make(), make()
    for _ in range(3):
        mine, wanted = compiled(*ours), method(*theirs)
        assert seen([mine, list(ours)]) == seen([wanted, list(theirs)])
