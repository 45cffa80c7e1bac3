"""Compare three toy classifiers on synthetic blobs, as in a first course."""
import sys
import time
from collections import Counter, defaultdict

import numpy as np

CONFIG = {"n": 1200, "dim": 16, "classes": 4, "k": 7, "epochs": 12, "metrics": ["l2", "l1", "cos"]}


def make_blobs(n, dim, classes, rng):
    centers = rng.normal(size=(classes, dim)) * 1.3
    X, y = [], []
    for i in range(n):
        c = rng.integers(classes)
        X.append(centers[c] + rng.normal(size=dim) * (1 + 0.3 * c))
        y.append(int(c))
    return np.array(X), np.array(y)


def distance(a, b, metric="l2"):
    if metric == "l2":
        return np.sqrt(np.sum((a - b) ** 2))
    elif metric == "l1":
        return np.abs(a - b).sum()
    elif metric == "cos":
        return 1 - np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b))
    raise ValueError(f"unknown metric {metric!r}")


def knn_predict(train, labels, x, k, metric):
    ds = []
    for t in train:
        ds.append(distance(t, x, metric))
    order = np.argsort(ds, kind="stable")[:k]
    votes = Counter(labels[order].tolist())
    return votes.most_common(1)[0][0]


class Perceptron:
    def __init__(self, dim, classes, lr=0.1):
        self.W = np.zeros((classes, dim))
        self.b = np.zeros(classes)
        self.lr = lr
        self.mistakes = []

    def fit(self, X, y, epochs, rng):
        for epoch in range(epochs):
            wrong = 0
            for i in rng.permutation(len(X)):
                scores = self.W @ X[i] + self.b
                guess = np.argmax(scores)
                if guess != y[i]:
                    self.W[y[i]] += self.lr * X[i]
                    self.b[y[i]] += self.lr
                    self.W[guess] -= self.lr * X[i]
                    self.b[guess] -= self.lr
                    wrong += 1
            self.mistakes.append(wrong)
            if epoch % 20 == 0:
                print(f"  epoch {epoch:3d}: {wrong} mistakes", flush=True)
        return self

    def predict(self, X):
        return np.argmax(X @ self.W.T + self.b, axis=1)


class NaiveBayes:
    def fit(self, X, y):
        self.stats = {}
        for c in np.unique(y):
            Z = X[y == c]
            self.stats[int(c)] = dict(mean=Z.mean(axis=0), var=Z.var(axis=0) + 1e-9, prior=len(Z) / len(X))
        return self

    def predict_one(self, x):
        best, best_c = -np.inf, None
        for c, s in self.stats.items():
            ll = np.log(s["prior"]) - 0.5 * np.sum(np.log(2 * np.pi * s["var"]) + (x - s["mean"]) ** 2 / s["var"])
            if ll > best:
                best, best_c = ll, c
        return best_c


def confusion(truth, guess, classes):
    M = np.zeros((classes, classes), dtype=int)
    for t, g in zip(truth, guess):
        M[t, g] += 1
    return M


def main(argv):
    rng = np.random.default_rng(42)
    X, y = make_blobs(CONFIG["n"], CONFIG["dim"], CONFIG["classes"], rng)
    cut = int(0.8 * len(X))
    Xa, ya, Xb, yb = X[:cut], y[:cut], X[cut:], y[cut:]
    results = defaultdict(dict)
    for metric in CONFIG["metrics"]:
        guess = [knn_predict(Xa, ya, x, CONFIG["k"], metric) for x in Xb]
        results["knn"][metric] = float(np.mean(np.array(guess) == yb))
        print("knn", metric, results["knn"][metric])
        print(confusion(yb, guess, CONFIG["classes"]))
    print("perceptron")
    p = Perceptron(CONFIG["dim"], CONFIG["classes"]).fit(Xa, ya, CONFIG["epochs"] * 5, rng)
    results["perceptron"]["acc"] = float(np.mean(p.predict(Xb) == yb))
    nb = NaiveBayes().fit(Xa, ya)
    guess = []
    for _ in range(20):
        guess = [nb.predict_one(x) for x in Xb]
    results["bayes"]["acc"] = float(np.mean(np.array(guess) == yb))
    for name, r in sorted(results.items()):
        print(name, {k: round(v, 5) for k, v in r.items()})
    print("weights", np.round(p.W[0, :5], 6), repr(p.b))
    return 0 if results["bayes"]["acc"] > 0.5 else 1


if __name__ == "__main__":
    t0 = time.time()
    code = main(sys.argv[1:])
    print(f"took {time.time() - t0:.1f} s", file=sys.stderr)
    sys.exit(code)
