"""Functions that compute with what a boolean mask picks out of an array."""

from __future__ import annotations

import numpy as np


def sums(x, m):
    return x[m].sum(), np.sum(x[m]), x[m].mean(), np.count_nonzero(x[m])


def products(x, m):
    return x[m].prod(), (x[m] * x[m]).sum(), (x[m] ** 2).sum()


def extremes(x, m):
    return x[m].min(), np.max(x[m]), np.ptp(x[m].astype(np.float64))


def truths(x, m):
    return x[m].any(), x[m].all(), np.any(x[m] != x[m]), np.all(x[m] == x[m])


def moments(x, m):
    return x[m].var(), x[m].std(), np.var(x[m], ddof=1), np.std(x[m], ddof=1)


def counts(x, m):
    return len(x[m]), x[m].size, x[m].shape[0], x[m].ndim * np.size(x[m]), len(np.where(m)[0])


def by_condition(x, m):
    return x[x > 0].sum(), np.sum(x[(x > 0) & m]), x[~m].sum()


def of_two(x, y, m):
    return ((x[m] - y[m]) ** 2).mean(), np.abs(x[m] - y[m]).max(), np.dot(x[m], y[m]), x[m] @ y[m]


def with_numbers(x, y, m):
    s = y.sum()
    return ((x[m] + 2) * s - 1.5).sum(), (1 / (x[m] + 1)).sum(), np.where(x[m] > 1, y[m], 3).sum()


def divided(x, y, m):
    z = y != 0
    return (x[z] // y[z]).sum(), (x[z] % y[z]).sum(), (x[z & m] / y[z & m]).sum()


def converted(x, m):
    return x[m].astype(np.float32).sum(), x[m].astype(np.int64).sum(), (x[m] > 1).sum(), x[m].astype(bool).any()


def rows(a, m):
    return a[m].sum(), a[m].sum(axis=0), a[m].mean(axis=0), a[m].sum(axis=1).sum(), a[m, 0].sum()


def rows_kept(a, m):
    return (
        a[m].sum(axis=0, keepdims=True),
        a[m].mean(keepdims=True),
        a[m].std(axis=0),
        np.linalg.norm(a[m], axis=1).sum(),
    )


def columns(a, m):
    return a[:, m].sum(axis=1), a[:, m].sum(axis=0).sum(), a[0, m].sum(), a[:, m].max(axis=1), a[1:, m].mean()


def centered(a, m):
    c = a[m] - a.mean(axis=0)
    d = a[m] - a[m].mean(axis=0)
    return (c**2).sum(axis=0), (c[:, 0] * c[:, 1]).sum(), (d[:, None] * d[..., None]).sum(axis=0), c.T @ c


def planes(a, m):
    return a[m].sum(), a[m].mean(), a[m].max(), (a[m] - 1).min(), len(a[m]), np.linalg.norm(a[m])


def colors(a, m):
    return a[m].mean(axis=0), a[m].sum(axis=1).max(), a[m][:, 0].sum(), a[m].shape[0], (a[m] * a[0, 0]).sum(axis=0)


def places(x, m):
    i = np.where(m)[0]
    j = np.nonzero(x > 0)
    return x[i].sum(), i.sum(), len(i), x[j].sum(), np.flatnonzero(m).sum(), m.nonzero()[0].sum()


def places_in_two(a, m):
    i, j = np.where(m)
    return a[i, j].sum(), i.sum(), j.max(), (i * 2 + j).sum()


def looked_up(table, labels, m):
    return table[labels[m]].sum(), (table[labels[m]] * labels[m]).sum()


def selected_of_selected(x, m):
    v = x[m]
    return v[v > 0].sum(), v[v > 1].size, (v[v > 0] ** 2).sum()


def in_place(x, m):
    v = x[m]
    w = v
    v += 1
    v *= 2
    x[m] -= 3
    return v.sum(), w.sum(), x[m].sum()


def stored(x, y, m):
    x[m] = y[m] * 2
    y[m] += x[m]
    y[~m] = 1
    return x[m].sum()


def rows_stored(a, r, m):
    a[m] = r
    a[m, 0] *= 2
    a[~m] += r
    a[1:, m[: a.shape[1]]] = 0
    return a[m].sum()


def while_it_changes(x, m, n):
    s = 0.0
    for t in range(n):
        x[m] *= 0.5
        s += x[m].sum() + t
    return s


def mask_that_moves(x, n):
    s = np.zeros(n)
    for t in range(n):
        m = x > t
        if m.any():
            s[t] = x[m].max() - x[m].mean()
        x[m] -= 0.5
    return s


def means_of_labels(a, labels, k):
    c = np.zeros((k, a.shape[1]))
    for j in range(k):
        if np.any(labels == j):
            c[j] = a[labels == j].mean(axis=0)
    return c


def until_few(x):
    n = 0
    while len(x[x > 1]) > 2:
        x[x > 1] *= 0.5
        n += 1
    return n, x[x > 0.5].sum()


def clipped(x, lo):
    v = x[x > lo]
    low, high = v.min(), v.max()
    return np.clip(x[x > lo], low + 1, high - 1).sum(), (high - low) / v.size


def selected_before_the_loop(x, m, n):
    v = x[m]
    s = 0.0
    for t in range(n):
        v += t
        s += v.sum()
    return s, v.mean()


def where_given(x, m):
    return np.sum(x, where=m), np.mean(x, where=m), np.any(x, where=m), np.all(x, where=m), np.prod(x, where=m)
