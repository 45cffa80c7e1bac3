"""What users of Numba and of numexpr write for the rows of operations.py: parallel loops by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# By row and by peer.
BY_HAND: dict[str, dict[str, Callable[..., Any]]] = {}
WHY_NOT: dict[str, str] = {}


def _by(peer: str, *rows: str) -> Callable[[Any], Any]:
    def register(function: Any) -> Any:
        for name in rows:
            BY_HAND.setdefault(name, {})[peer] = function
        return function

    return register


try:
    from numba import get_num_threads, njit, prange
except ImportError as error:
    WHY_NOT["numba"] = str(error)
else:
    fast = njit(parallel=True, fastmath=False)

    @_by("numba", "cumsum")
    @fast
    def cumsum(a):
        parts = get_num_threads()
        size = (a.size + parts - 1) // parts
        out, sums = np.empty_like(a), np.zeros(parts)
        for p in prange(parts):
            total = 0.0
            for i in range(p * size, min(a.size, (p + 1) * size)):
                total += a[i]
            sums[p] = total
        for p in prange(parts):
            total = 0.0
            for q in range(p):
                total += sums[q]
            for i in range(p * size, min(a.size, (p + 1) * size)):
                total += a[i]
                out[i] = total
        return out

    @_by("numba", "cumsum_rows")
    @fast
    def cumsum_rows(a):
        n, m = a.shape
        out = np.empty_like(a)
        width = 512
        for p in prange((m + width - 1) // width):
            low, high = p * width, min(m, (p + 1) * width)
            out[0, low:high] = a[0, low:high]
            for i in range(1, n):
                for j in range(low, high):
                    out[i, j] = out[i - 1, j] + a[i, j]
        return out

    @_by("numba", "mask")
    @fast
    def mask(a):
        parts = get_num_threads()
        size = (a.size + parts - 1) // parts
        counts = np.zeros(parts + 1, np.int64)
        for p in prange(parts):
            count = 0
            for i in range(p * size, min(a.size, (p + 1) * size)):
                count += a[i] > 0.5
            counts[p + 1] = count
        starts = np.cumsum(counts)
        out = np.empty(starts[-1])
        for p in prange(parts):
            k = starts[p]
            for i in range(p * size, min(a.size, (p + 1) * size)):
                if a[i] > 0.5:
                    out[k] = a[i]
                    k += 1
        return out

    @_by("numba", "roll_add")
    @fast
    def roll_add(a):
        n, m = a.shape
        out = np.empty_like(a)
        for i in prange(n):
            above = a[i - 1]
            for j in range(m - 1):
                out[i, j] = a[i, j] + above[j] + a[i, j + 1]
            out[i, m - 1] = a[i, m - 1] + above[m - 1] + a[i, 0]
        return out

    @_by("numba", "pad_filter")
    @fast
    def pad_filter(a, k):
        n, m = a.shape
        p = np.empty((n + 4, m + 4), a.dtype)
        for i in prange(n + 4):
            row = a[min(max(i - 2, 0), n - 1)]
            p[i, :2], p[i, m + 2 :] = row[0], row[-1]
            p[i, 2 : m + 2] = row
        out = np.empty_like(a)
        for i in prange(n):
            for j in range(m):
                s = np.float32(0)
                for y in range(5):
                    for x in range(5):
                        s += k[y, x] * p[i + y, j + x]
                out[i, j] = s
        return out

    @_by("numba", "take")
    @fast
    def take(a, idx):
        out = np.empty(idx.size, a.dtype)
        for i in prange(idx.size):
            out[i] = a[idx[i]]
        return out

    @njit
    def _in_order(a, b):
        return min(a, b), max(a, b)

    @_by("numba", "median_filter", "median_of_shifted")
    @fast
    def median_filter(a):
        n, m = a.shape
        out = np.empty_like(a)
        for i in prange(n):
            r0, r1, r2 = a[max(i - 1, 0)], a[i], a[min(i + 1, n - 1)]
            for j in range(m):
                left, right = max(j - 1, 0), min(j + 1, m - 1)
                a0, a1 = _in_order(r0[left], r0[j])
                a1, a2 = _in_order(a1, r0[right])
                a0, a1 = _in_order(a0, a1)
                b0, b1 = _in_order(r1[left], r1[j])
                b1, b2 = _in_order(b1, r1[right])
                b0, b1 = _in_order(b0, b1)
                c0, c1 = _in_order(r2[left], r2[j])
                c1, c2 = _in_order(c1, r2[right])
                c0, c1 = _in_order(c0, c1)
                low, high = max(a0, b0, c0), min(a2, b2, c2)
                x, y = _in_order(a1, b1)
                middle = max(x, min(y, c1))
                x, y = _in_order(low, middle)
                out[i, j] = max(x, min(y, high))
        return out

    @_by("numba", "sort_rows_of_4")
    @fast
    def sort_rows_of_4(a):
        out = np.empty_like(a)
        for i in prange(a.shape[0]):
            a0, a1 = _in_order(a[i, 0], a[i, 1])
            a2, a3 = _in_order(a[i, 2], a[i, 3])
            a0, a2 = _in_order(a0, a2)
            a1, a3 = _in_order(a1, a3)
            a1, a2 = _in_order(a1, a2)
            out[i, 0], out[i, 1], out[i, 2], out[i, 3] = a0, a1, a2, a3
        return out

    @_by("numba", "attention")
    @fast
    def attention(q, k):
        b, h, n, d = q.shape
        m = k.shape[2]
        out = np.empty((b, h, n, m), q.dtype)
        for one in prange(b * h):
            s = np.dot(q[one // h, one % h], k[one // h, one % h].T)
            for i in range(n):
                largest = s[i].max()
                total = np.float32(0)
                for j in range(m):
                    s[i, j] = np.exp(s[i, j] - largest)
                    total += s[i, j]
                for j in range(m):
                    out[one // h, one % h, i, j] = s[i, j] / total
        return out

    @_by("numba", "convolve")
    @fast
    def convolve(a, v):
        n, m = a.size, v.size
        out = np.empty(n + m - 1)
        block = 4096
        for p in prange((out.size + block - 1) // block):
            low, high = p * block, min(out.size, (p + 1) * block)
            for i in range(low, high):
                out[i] = 0.0
            for k in range(m):
                for i in range(max(low, k), min(high, n + k)):
                    out[i] += v[k] * a[i - k]
        return out

    @_by("numba", "bincount_256", "bincount_1M")
    @fast
    def bincount(x):
        parts = get_num_threads()
        size = (x.size + parts - 1) // parts
        counts = np.zeros((parts, x.max() + 1), np.int64)
        for p in prange(parts):
            mine = counts[p]
            for i in range(p * size, min(x.size, (p + 1) * size)):
                mine[x[i]] += 1
        return counts.sum(axis=0)

    @njit
    def _binned(x, low, high, bins, edges):
        at = int((x - low) * (bins / (high - low)))
        at -= at == bins
        if x < edges[at]:
            at -= 1
        elif at < bins - 1 and x >= edges[at + 1]:
            at += 1
        return at

    @fast
    def _histogram(x, low, high, edges):
        parts = get_num_threads()
        size = (x.size + parts - 1) // parts
        bins = edges.size - 1
        counts = np.zeros((parts, bins), np.int64)
        for p in prange(parts):
            mine = counts[p]
            for i in range(p * size, min(x.size, (p + 1) * size)):
                if low <= x[i] <= high:
                    mine[_binned(x[i], low, high, bins, edges)] += 1
        return counts.sum(axis=0)

    @fast
    def _range_of(x):
        low, high = np.inf, -np.inf
        for i in prange(x.size):
            low = min(low, x[i])
            high = max(high, x[i])
        return low, high

    @_by("numba", "histogram")
    def histogram(x):
        return _histogram(x, -4.0, 4.0, np.linspace(-4.0, 4.0, 101))

    @_by("numba", "histogram_of_data")
    def histogram_of_data(x):
        low, high = _range_of(x)
        edges = np.linspace(low, high, 101)
        return _histogram(x, low, high, edges), edges

    @_by("numba", "searchsorted")
    @fast
    def searchsorted(a, v):
        out = np.empty(v.size, np.int64)
        for i in prange(v.size):
            base, length = 0, a.size
            while length > 1:
                half = length // 2
                base += half * (a[base + half - 1] < v[i])
                length -= half
            out[i] = base + (a[base] < v[i])
        return out

    @_by("numba", "digitize_64")
    @fast
    def digitize(x, bins):
        out = np.empty(x.size, np.int64)
        for i in prange(x.size):
            base, length = 0, bins.size
            while length > 1:
                half = length // 2
                base += half * (bins[base + half - 1] <= x[i])
                length -= half
            out[i] = base + (bins[base] <= x[i])
        return out

    @_by("numba", "percentile_rows")
    @fast
    def percentile_rows(a):
        out = np.empty(a.shape[0])
        for i in prange(a.shape[0]):
            out[i] = np.percentile(a[i], 90)
        return out

    @_by("numba", "add_at")
    @njit
    def add_at(y, idx, v):
        for i in range(idx.size):
            y[idx[i]] += v[i]
        return y

    @_by("numba", "add_to_picked")
    @njit
    def add_to_picked(y, idx, v):
        old = np.empty(idx.size)
        for i in range(idx.size):
            old[i] = y[idx[i]]
        for i in range(idx.size):
            y[idx[i]] = old[i] + v[i]
        return y


try:
    import numexpr
except ImportError as error:
    WHY_NOT["numexpr"] = str(error)
else:

    @_by("numexpr", "roll_add")
    def roll_add_in_numexpr(a):
        above, right = np.roll(a, 1, axis=0), np.roll(a, -1, axis=1)
        return numexpr.evaluate("a + above + right", local_dict={"a": a, "above": above, "right": right})
