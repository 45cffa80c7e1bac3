"""PCA, ridge and lasso on a CSV file, with cross validation. The idiom of course notebooks (after Hastie, Tibshirani and Friedman), written afresh.

python regression.py [--small] [--csv FILE]
"""

import argparse
import csv
import os
import sys
import tempfile

import numpy as np

SEED = 3
N_FOLDS = 5
ALPHAS = [0.01, 0.1, 1.0, 10.0, 100.0]
LAMBDAS = [0.001, 0.01, 0.05, 0.2]


def write_data(path, n, p, rng):
    """Correlated features of which a few matter; some cells are empty."""
    factors = rng.normal(size=(n, 5))
    loadings = rng.normal(size=(5, p))
    X = factors @ loadings + 0.7 * rng.normal(size=(n, p))
    beta = np.zeros(p)
    informative = rng.choice(p, size=max(3, p // 6), replace=False)
    beta[informative] = rng.normal(0, 2, size=len(informative))
    y = 10 + X @ beta + rng.normal(0, 2.0, size=n)
    X = X * rng.uniform(0.1, 50, size=p) + rng.uniform(-100, 100, size=p)
    missing = rng.random((n, p)) < 0.002
    with open(path, "w", newline="") as f:
        writer = csv.writer(f)
        writer.writerow([f"x{j}" for j in range(p)] + ["y"])
        for i in range(n):
            row = [f"{v:.5f}" if not m else "" for v, m in zip(X[i], missing[i])]
            writer.writerow(row + [f"{y[i]:.5f}"])
    return np.sort(informative)


def read_data(path):
    rows = []
    bad = 0
    with open(path, newline="") as f:
        reader = csv.reader(f)
        header = next(reader)
        for line in reader:
            try:
                rows.append([float(cell) if cell else np.nan for cell in line])
            except ValueError:
                bad += 1
    data = np.array(rows)
    if bad:
        print(f"{bad} lines could not be read")
    return header, data[:, :-1], data[:, -1]


def impute(X):
    """Empty cells become the median of their column."""
    medians = np.nanmedian(X, axis=0)
    holes = np.isnan(X)
    X = X.copy()
    X[holes] = np.take(medians, np.nonzero(holes)[1])
    return X, int(holes.sum())


class StandardScaler:
    def fit(self, X):
        self.mean_ = X.mean(axis=0)
        self.scale_ = X.std(axis=0)
        self.scale_[self.scale_ == 0] = 1.0
        return self

    def transform(self, X):
        return (X - self.mean_) / self.scale_

    def fit_transform(self, X):
        return self.fit(X).transform(X)


class PCA:
    def __init__(self, n_components):
        self.n_components = n_components

    def fit(self, X):
        self.mean_ = X.mean(axis=0)
        Xc = X - self.mean_
        cov = Xc.T @ Xc / (len(X) - 1)
        values, vectors = np.linalg.eigh(cov)
        order = np.argsort(values)[::-1]
        values, vectors = values[order], vectors[:, order]
        # signs: the largest entry of a component is positive
        biggest = np.argmax(np.abs(vectors), axis=0)
        vectors = vectors * np.sign(vectors[biggest, np.arange(vectors.shape[1])])
        self.components_ = vectors[:, : self.n_components].T
        self.explained_variance_ratio_ = values[: self.n_components] / values.sum()
        return self

    def transform(self, X):
        return (X - self.mean_) @ self.components_.T


class Ridge:
    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def fit(self, X, y):
        self.intercept_ = y.mean()
        A = X.T @ X + self.alpha * np.eye(X.shape[1])
        self.coef_ = np.linalg.solve(A, X.T @ (y - self.intercept_))
        return self

    def predict(self, X):
        return X @ self.coef_ + self.intercept_


def soft_threshold(rho, lam):
    if rho < -lam:
        return rho + lam
    elif rho > lam:
        return rho - lam
    return 0.0


class Lasso:
    """Coordinate descent, one coefficient at a time."""

    def __init__(self, lam=0.1, max_iter=200, tol=1e-6):
        self.lam = lam
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X, y):
        n, p = X.shape
        self.intercept_ = y.mean()
        beta = np.zeros(p)
        residual = y - self.intercept_
        norms = (X**2).sum(axis=0) / n
        for it in range(self.max_iter):
            largest = 0.0
            for j in range(p):
                old = beta[j]
                rho = X[:, j] @ residual / n + norms[j] * old
                beta[j] = soft_threshold(rho, self.lam) / norms[j]
                if beta[j] != old:
                    residual = residual - X[:, j] * (beta[j] - old)
                    largest = max(largest, abs(beta[j] - old))
            if largest < self.tol:
                break
        self.n_iter_ = it + 1
        self.coef_ = beta
        return self

    def predict(self, X):
        return X @ self.coef_ + self.intercept_


def r2_score(y, pred):
    return 1 - ((y - pred) ** 2).sum() / ((y - y.mean()) ** 2).sum()


def mse(y, pred):
    return np.mean((y - pred) ** 2)


def cross_validate(make_model, X, y, folds):
    scores = []
    for k in range(len(folds)):
        test = folds[k]
        train = np.concatenate([folds[i] for i in range(len(folds)) if i != k])
        scaler = StandardScaler()
        Xtr = scaler.fit_transform(X[train])
        Xte = scaler.transform(X[test])
        model = make_model().fit(Xtr, y[train])
        scores.append(mse(y[test], model.predict(Xte)))
    return np.mean(scores), np.std(scores)


def bootstrap_intervals(X, y, alpha, rng, rounds):
    coefs = np.empty((rounds, X.shape[1]))
    for b in range(rounds):
        idx = rng.integers(0, len(X), len(X))
        coefs[b] = Ridge(alpha).fit(X[idx], y[idx]).coef_
    return np.percentile(coefs, [2.5, 97.5], axis=0)


def main():
    parser = argparse.ArgumentParser(description="PCA and penalized regression on a CSV file")
    parser.add_argument("--csv", help="a file with a header, whose last column is the target")
    parser.add_argument("--small", action="store_true", help="a small made-up file")
    args = parser.parse_args()
    rng = np.random.default_rng(SEED)
    n, p, rounds = (150, 12, 10) if args.small else (6000, 60, 60)

    informative = None
    if args.csv:
        path = args.csv
    else:
        handle, path = tempfile.mkstemp(suffix=".csv")
        os.close(handle)
        informative = write_data(path, n, p, rng)
    try:
        header, X, y = read_data(path)
    except OSError as err:
        sys.exit(f"cannot read {path}: {err.strerror}")
    finally:
        if not args.csv:
            os.remove(path)
    X, holes = impute(X)
    print(f"{X.shape[0]} rows, {X.shape[1]} features, {holes} empty cells filled")

    order = rng.permutation(len(X))
    cut = int(0.8 * len(X))
    train, test = order[:cut], order[cut:]
    scaler = StandardScaler()
    Xtr, Xte = scaler.fit_transform(X[train]), scaler.transform(X[test])
    ytr, yte = y[train], y[test]

    pca = PCA(8).fit(Xtr)
    print("explained variance: " + " ".join(f"{r:.5f}" for r in pca.explained_variance_ratio_))
    scores = pca.transform(Xtr)
    print(f"correlation of the first scores with y: {np.corrcoef(scores[:, 0], ytr)[0, 1]:.6f}")

    folds = np.array_split(np.arange(len(train)), N_FOLDS)
    table = []
    for alpha in ALPHAS:
        mean, std = cross_validate(lambda: Ridge(alpha), X[train], ytr, folds)
        table.append(("ridge", alpha, mean, std))
        print(f"ridge  alpha={alpha:<7g} mse {mean:.6f} +- {std:.6f}")
    for lam in LAMBDAS:
        mean, std = cross_validate(lambda: Lasso(lam), X[train], ytr, folds)
        table.append(("lasso", lam, mean, std))
        print(f"lasso  lambda={lam:<6g} mse {mean:.6f} +- {std:.6f}")

    models = {"principal components": Ridge(0.0).fit(scores, ytr)}
    for name, kind in (("ridge", Ridge), ("lasso", Lasso)):
        _, best, _, _ = min((row for row in table if row[0] == name), key=lambda row: row[2])
        models[f"{name} {best:g}"] = kind(best).fit(Xtr, ytr)

    print(f"{'model':<24}{'train R2':>12}{'test R2':>12}{'nonzero':>9}")
    for name, model in models.items():
        a, b = (scores, pca.transform(Xte)) if name.startswith("principal") else (Xtr, Xte)
        r2 = r2_score(ytr, model.predict(a)), r2_score(yte, model.predict(b))
        print(f"{name:<24}{r2[0]:>12.6f}{r2[1]:>12.6f}{np.count_nonzero(np.abs(model.coef_) > 1e-9):>9}")

    low, high = bootstrap_intervals(Xtr, ytr, 1.0, rng, rounds)
    clear = np.nonzero((low > 0) | (high < 0))[0]
    print("clear of zero:", ", ".join(header[j] for j in clear))
    if informative is not None:
        found = len(set(clear.tolist()) & set(informative.tolist()))
        print(f"found {found} of {len(informative)} that matter, and {len(clear) - found} that do not")


if __name__ == "__main__":
    main()
