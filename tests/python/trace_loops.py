"""Functions with loops and positions that the data decide, as people write them (imported, not run)."""

# ruff: noqa: PLR0917, PLW2901
from __future__ import annotations

import math

import numpy as np


def step(n, C, Z, N, horizon):
    I = np.abs(Z) < horizon
    N[I] = n
    Z[I] = Z[I] ** 2 + C[I]
    return Z, N


def mandelbrot(xmin, xmax, ymin, ymax, nx, ny, maxiter, step, horizon=2.0):
    X = np.linspace(xmin, xmax, nx, dtype=np.float32)
    Y = np.linspace(ymin, ymax, ny, dtype=np.float32)
    C = X + Y[:, None] * 1j
    N = np.zeros(C.shape, dtype=int)
    Z = np.zeros(C.shape, dtype=np.complex64)
    for n in range(maxiter):
        Z, N = step(n, C, Z, N, horizon)
    N[maxiter - 1 == N] = 0
    return Z, N


def step_2(n, C, Z, N, horizon):
    I = np.abs(Z) < horizon
    N = np.where(I, n, N)  # N[I] = n
    Z = np.where(I, Z**2 + C, Z)  # Z[I] = Z[I]**2 + C[I]
    return Z, N


def mandelbrot_2(xmin, xmax, ymin, ymax, nx, ny, maxiter, step, horizon=2.0):
    X = np.linspace(xmin, xmax, nx, dtype=np.float32)
    Y = np.linspace(ymin, ymax, ny, dtype=np.float32)
    C = X + Y[:, None] * 1j
    N = np.zeros(C.shape, dtype=int)
    Z = np.zeros(C.shape, dtype=np.complex64)
    for n in range(maxiter):
        Z, N = step(n, C, Z, N, horizon)
    N = np.where(maxiter - 1 == N, 0, N)  # N[N == maxiter-1] = 0
    return Z, N


def abs2(a):
    r"""abs(a)**2 replacement."""
    return a[..., 0] ** 2 + a[..., 1] ** 2


def sq2(a):
    r"""a**2 replacement."""
    z = np.empty_like(a)
    z[..., 0] = a[..., 0] ** 2 - a[..., 1] ** 2
    z[..., 1] = 2 * a[..., 0] * a[..., 1]
    return z


def step_3(n, c, Z, N, horizon):
    I = abs2(Z) < horizon**2  # Note: abs2
    N = np.where(I, n, N)
    Z = np.where(I[..., None], sq2(Z) + c, Z)  # Note: sq2
    return Z, N


def mandelbrot_3(xmin, xmax, ymin, ymax, nx, ny, maxiter, step, horizon=2.0):
    x = np.linspace(xmin, xmax, nx, dtype=np.float32)
    y = np.linspace(ymin, ymax, ny, dtype=np.float32)

    c = np.stack(np.broadcast_arrays(x[None, :], y[:, None]), axis=-1)

    N = np.zeros(c.shape[:-1], dtype=int)
    Z = np.zeros_like(c, dtype=np.float32)  # float32, not complex

    for n in range(maxiter):
        Z, N = step(n, c, Z, N, horizon)
    N = np.where(maxiter - 1 == N, 0, N)

    Zc = Z[..., 0] + 1j * Z[..., 1]  # restore the complex-valued return
    return Zc, N


def step_4(n0, c, Z, N, horizon, chunksize):
    for j in range(chunksize):
        n = n0 + j  # update the iteration counter
        I = abs2(Z) < horizon**2
        N = np.where(I, n, N)
        Z = np.where(I[..., None], sq2(Z) + c, Z)
    return Z, N


def mandelbrot_4(xmin, xmax, ymin, ymax, nx, ny, maxiter, step, horizon=2.0):
    x = np.linspace(xmin, xmax, nx, dtype=np.float32)
    y = np.linspace(ymin, ymax, ny, dtype=np.float32)
    c = np.stack(np.broadcast_arrays(x[None, :], y[:, None]), axis=-1)

    N = np.zeros(c.shape[:-1], dtype=int)
    Z = np.zeros_like(c, dtype=np.float32)

    chunksize = 10  # compile this many steps
    n_chunks = maxiter // chunksize

    for i_chunk in range(n_chunks):
        n0 = i_chunk * chunksize  # update the iteration counter
        Z, N = step(n0, c, Z, N, horizon, chunksize)

    N = np.where(maxiter - 1 == N, 0, N)
    Zc = Z[..., 0] + 1j * Z[..., 1]
    return Zc, N


def visualize(Z, N, horizon):
    log_horizon = math.log(horizon, 2)
    M = np.nan_to_num(N + 1 - np.log2(np.log(abs(Z))) + log_horizon)
    return M


def sums_rows(a):
    t = np.zeros(a.shape[1])
    for r in a:
        t += r * 2
    return t


def writes_rows(a):
    for r in a:
        r -= r.mean()


def zipped(x, y):
    s = 0.0
    for p, q in zip(x, y, strict=False):
        s += p * q
    return s


def enumerated(x, y, a):
    s = 0.0
    for i, (p, q) in enumerate(zip(x, y, strict=False)):
        s += p * q * i
    return s


def backwards(x):
    s = 0.0
    for p in reversed(x):
        s = s * 0.5 + p
    return s


def backwards_range(x):
    z = x.copy()
    for i in reversed(range(1, len(x))):
        z[i] += z[i - 1]
    return z


def gathers(x, k):
    return x[k]


def gathers_pairs(a, k):
    return a[k % 80, k % 7]


def gathers_columns(a, k):
    return a[:, k % 80].sum(axis=0)


def gathers_of_row(a, k):
    return a[3, k % 80]


def gathers_one_by_one(x, k):
    z = np.zeros(3)
    for i in range(len(k)):
        z[i % 3] += x[k[i]]
    return z


def histogram(u):
    h = np.zeros(256, dtype=int)
    for v in u:
        h[v] += 1
    return h


def jumps(x):
    i = 0
    n = 0
    while i < len(x):
        i += 1 + int(x[i] * 5)
        n += 1
    return n


def follows_links(k):
    i = 0
    for _ in range(50):
        i = k[i]
    return i


def overflow(n):
    p = 1
    for i in range(1, n):
        p = p * i
    return p


def doubling(x, n):
    p = 1
    for _i in range(n):
        p = p + p
    return p, x * 2


def collatz(n):
    c = 0
    while n != 1:
        if n % 2 == 0:
            n //= 2
        else:
            n = 3 * n + 1
        c += 1
    return c


def hashing(u):
    h = 5381
    for c in u:
        h = ((h << 5) + h + int(c)) & 0xFFFFFFFF
    return h


def popcount(u):
    n = 0
    for v in u:
        w = int(v)
        while w:
            n += w & 1
            w >>= 1
    return n


def sparse_by_hand(rows, cols, vals, x):
    y = np.zeros(rows.shape[0] - 1)
    for i in range(rows.shape[0] - 1):
        acc = 0.0
        for j in range(rows[i], rows[i + 1]):
            acc += vals[j] * x[cols[j]]
        y[i] = acc
    return y


def insertion(x):
    z = x.copy()
    for i in range(1, len(z)):
        key = z[i]
        j = i - 1
        while j >= 0 and z[j] > key:
            z[j + 1] = z[j]
            j -= 1
        z[j + 1] = key
    return z


def bisect(x, v):
    lo = 0
    hi = len(x)
    while lo < hi:
        mid = (lo + hi) // 2
        if x[mid] < v:
            lo = mid + 1
        else:
            hi = mid
    return lo


def slices_by_data(x, k):
    s = 0.0
    for i in range(len(k)):
        s += x[k[i] :].sum() + x[: k[i]].sum()
    return s


def windows(x):
    z = np.zeros_like(x)
    for i in range(len(x)):
        z[i] = x[max(0, i - 3) : min(len(x), i + 4)].mean()
    return z


def windows_that_clamp(x):
    z = np.zeros_like(x)
    for i in range(len(x)):
        z[i] = x[max(0, i - 3) : i + 4].sum()
    return z


def negative_positions(x):
    z = np.zeros_like(x)
    for i in range(len(x)):
        z[i] = x[-i] * 2
    return z


def circular(x):
    z = np.zeros_like(x)
    n = len(x)
    for i in range(n):
        z[i] = x[(i + 3) % n] - x[i - 5]
    return z


def first_above(x):
    for i in range(len(x)):
        if x[i] > 0.97:
            return i
    return -1


def first_in_matrix(a):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > 0.9999:
                return i, j, a[i, j]
    return -1, -1, a[0, 0]


def returns_nothing(x, y):
    for i in range(len(x)):
        x[i] = y[i] * 2


def halves_rows(a, k):
    for i in range(len(k)):
        r = a[k[i] % 80]
        r[:] = r * 0.5


def swaps(x, k):
    z = x.copy()
    for i in range(len(k)):
        j = k[i] % 100
        z[i], z[j] = z[j], z[i]
    return z


def calls_a_closure(x):
    def f(v):
        return v * 2 + x[0]

    z = x.copy()
    for i in range(len(x)):
        z[i] = f(z[i])
    return z


def carries_a_tuple(x):
    t = (0.0, 1.0)
    for i in range(len(x)):
        t = (t[1], t[0] + x[i])
    return t[0]


def largest_and_where(x):
    best = x[0]
    at = 0
    for i, v in enumerate(x):
        if v > best:
            best = v
            at = i
    return best, at


def monte_carlo_pi(n, x, y):
    c = 0
    for i in range(n):
        if x[i] ** 2 + y[i] ** 2 <= 1.0:
            c += 1
    return 4.0 * c / n


def divides(x, n):
    s = 0.0
    for i in range(n):
        s = s + 1.0 / (float(x[i]) + i)
    return s / n


def minmax(x):
    m = x[0]
    for v in x:
        m = min(m, v)
    return m


def sum_of_floats(x):
    s = 0
    for v in x:
        s += float(v)
    return s


def counting_sort(u):
    c = np.zeros(256, np.int64)
    for v in u:
        c[v] += 1
    out = np.empty_like(u)
    p = 0
    for v in range(256):
        for _ in range(c[v]):
            out[p] = v
            p += 1
    return out


def crc16(data, poly=0x8408):
    """CRC-16-CCITT Algorithm"""
    crc = 0xFFFF
    for b in data:
        cur_byte = 0xFF & b
        for _ in range(0, 8):
            if (crc & 0x0001) ^ (cur_byte & 0x0001):
                crc = (crc >> 1) ^ poly
            else:
                crc >>= 1
            cur_byte >>= 1
    crc = ~crc & 0xFFFF
    crc = (crc << 8) | ((crc >> 8) & 0xFF)

    return crc & 0xFFFF


def spmv(A_row, A_col, A_val, x):
    y = np.empty(A_row.size - 1, A_val.dtype)

    for i in range(A_row.size - 1):
        cols = A_col[A_row[i] : A_row[i + 1]]
        vals = A_val[A_row[i] : A_row[i + 1]]
        y[i] = vals @ x[cols]

    return y


def writes_the_indices(x, k):
    s = 0.0
    for i in range(k.shape[0]):
        s += x[k[i]]
        k[(i + 1) % k.shape[0]] //= 2
    return s


def leaves_out_in_the_middle(x, n):
    s = 0.0
    for i in range(n):
        for j in range(i, x.shape[0]):
            if x[j] > 0.9:
                break
            s += x[j]
        else:
            continue
        s *= 0.5
    return s


def returns_arrays(x):
    y = x.copy()
    while True:
        y *= 0.5
        if y.max() < 1e-3:
            return y
        if y.min() < 1e-9:
            return y + 1


def assigns_in_the_condition(x):
    n = 0
    while (m := x.max()) > 0.1:
        x = x / (1 + m)
        n += 1
    return x, n, m


def mixes_numbers(x, n, a):
    total, count = 0, 0.5
    for i in range(n):
        total = total + i * 2 - 1
        count = count * a + total / (i + 1)
        if x[i] > 0.5:
            total = -total // 3
    return total, count, count > 3


def keeps_two_views(a):
    top, bottom = a[: a.shape[0] // 2], a[a.shape[0] // 2 :]
    for i in range(top.shape[0]):
        top[i, i:] -= bottom[i, i:]
        bottom[i][1:-1] += top[i, 2:]
