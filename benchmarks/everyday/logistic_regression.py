"""Logistic regression by gradient descent, after scaling. As in eriklindernoren/ML-From-Scratch (MIT) and many courses, written afresh."""

import numpy as np


def standardize(X):
    std = X.std(axis=0)
    std[std == 0] = 1
    return (X - X.mean(axis=0)) / std


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def fit(X, y, learning_rate=0.5, n_iterations=200, l2=1e-3):
    X = np.insert(standardize(X), 0, 1, axis=1)  # the bias
    n_samples, n_features = X.shape
    w = np.zeros(n_features)
    losses = []
    for i in range(n_iterations):
        p = sigmoid(X.dot(w))
        gradient = X.T.dot(p - y) / n_samples
        gradient[1:] += l2 * w[1:]
        w -= learning_rate * gradient
        if i % 20 == 0:
            q = np.clip(p, 1e-15, 1 - 1e-15)
            losses.append(-np.mean(y * np.log(q) + (1 - y) * np.log(1 - q)))
    predicted = np.round(sigmoid(X.dot(w))).astype(int)
    accuracy = np.mean(predicted == y)
    return w, np.array(losses), accuracy


def make_data(small=False):
    n, d = (100, 4) if small else (10_000, 12)
    rng = np.random.default_rng(22)
    X = rng.normal(3, 2, (n, d))
    y = (X @ rng.standard_normal(d) + rng.standard_normal(n) > 0).astype(int)
    return X, y


if __name__ == "__main__":
    print(fit(*make_data())[2])
