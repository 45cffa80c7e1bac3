"""The loop cases for Numba: the NumPy text under njit, serial and parallel, and loops written out by hand."""

# ruff: noqa: PLR0917  (the signatures are those of the cases)

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
from numba import njit, prange

_BLOCK = 64  # columns that one thread takes through a recurrence along rows


@njit(parallel=True, fastmath=True)
def _escape(x, y, z, count, maxiter, horizon):
    limit = horizon * horizon
    for i in prange(y.size):
        for j in range(x.size):
            cr, ci = x[j], y[i]
            zr, zi = x.dtype.type(0), x.dtype.type(0)
            n = 0
            while n < maxiter and zr * zr + zi * zi < limit:
                zr, zi = zr * zr - zi * zi + cr, zr * zi + zi * zr + ci
                n += 1
            z[i, j] = complex(zr, zi)
            last = n - 1 if n else 0
            count[i, j] = 0 if last == maxiter - 1 else last


def _mandelbrot(real: type) -> Callable[..., Any]:
    def mandelbrot(xmin, xmax, ymin, ymax, nx, ny, maxiter, horizon):
        x, y = np.linspace(xmin, xmax, nx, dtype=real), np.linspace(ymin, ymax, ny, dtype=real)
        z = np.empty((ny, nx), np.result_type(real, np.complex64))
        count = np.empty((ny, nx), np.int64)
        _escape(x, y, z, count, maxiter, real(horizon))
        return z, count

    return mandelbrot


@njit(parallel=True, fastmath=True)
def jacobi_2d(steps, a, b):
    rows, columns = a.shape
    for _ in range(1, steps):
        for i in prange(1, rows - 1):
            for j in range(1, columns - 1):
                b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])
        for i in prange(1, rows - 1):
            for j in range(1, columns - 1):
                a[i, j] = 0.2 * (b[i, j] + b[i, j - 1] + b[i, j + 1] + b[i + 1, j] + b[i - 1, j])


@njit(fastmath=True)
def _flow_step(u, v, p, other, b, first, last, wraps, nit, rho, nu, dt, dx, dy, force):
    """Both flows: new u and v of the inner rows, columns first to last; `other` swaps places with p."""
    rows, columns = u.shape
    scale = 2 * (dx * dx + dy * dy)
    for i in range(1, rows - 1):
        for j in range(first, last):
            e, w = (j + 1) % columns if wraps else j + 1, j - 1
            du, dv = (u[i, e] - u[i, w]) / (2 * dx), (v[i + 1, j] - v[i - 1, j]) / (2 * dy)
            cross = (u[i + 1, j] - u[i - 1, j]) / (2 * dy) * (v[i, e] - v[i, w]) / (2 * dx)
            b[i, j] = rho * ((du + dv) / dt - du * du - 2 * cross - dv * dv)
    for _ in range(nit):
        other, p = p, other
        for i in range(1, rows - 1):
            for j in range(first, last):
                e, w = (j + 1) % columns if wraps else j + 1, j - 1
                across = (other[i, e] + other[i, w]) * dy**2 + (other[i + 1, j] + other[i - 1, j]) * dx**2
                p[i, j] = across / scale - dx**2 * dy**2 / scale * b[i, j]
        if wraps:
            p[-1, :] = p[-2, :]
            p[0, :] = p[1, :]
        else:
            p[:, -1] = p[:, -2]
            p[0, :] = p[1, :]
            p[:, 0] = p[:, 1]
            p[-1, :] = 0
    un, vn = u.copy(), v.copy()
    for i in range(1, rows - 1):
        for j in range(first, last):
            e, w = (j + 1) % columns if wraps else j + 1, j - 1
            uc, vc = un[i, j], vn[i, j]
            spread = dt / dx**2 * (un[i, e] - 2 * uc + un[i, w]) + dt / dy**2 * (un[i + 1, j] - 2 * uc + un[i - 1, j])
            push = dt / (2 * rho * dx) * (p[i, e] - p[i, w])
            u[i, j] = uc - uc * dt / dx * (uc - un[i, w]) - vc * dt / dy * (uc - un[i - 1, j]) - push + nu * spread
            u[i, j] += force * dt
            spread = dt / dx**2 * (vn[i, e] - 2 * vc + vn[i, w]) + dt / dy**2 * (vn[i + 1, j] - 2 * vc + vn[i - 1, j])
            push = dt / (2 * rho * dy) * (p[i + 1, j] - p[i - 1, j])
            v[i, j] = vc - uc * dt / dx * (vc - vn[i, w]) - vc * dt / dy * (vc - vn[i - 1, j]) - push + nu * spread
    return p, other


@njit(fastmath=True)
def cavity_flow(nx, ny, nt, nit, u, v, dt, dx, dy, p, rho, nu):
    now, other, b = p, p.copy(), np.zeros((ny, nx))
    for _ in range(nt):
        now, other = _flow_step(u, v, now, other, b, 1, nx - 1, False, nit, rho, nu, dt, dx, dy, 0.0)
        u[0, :] = 0
        u[:, 0] = 0
        u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = 0
        v[-1, :] = 0
        v[:, 0] = 0
        v[:, -1] = 0
    p[:] = now


@njit(fastmath=True)
def channel_flow(nit, u, v, dt, dx, dy, p, rho, nu, force):
    now, other, b = p, p.copy(), np.zeros_like(p)
    change, count = 1.0, 0
    while change > 0.001:
        before = np.sum(u)
        now, other = _flow_step(u, v, now, other, b, 0, u.shape[1], True, nit, rho, nu, dt, dx, dy, force)
        u[0, :] = 0
        u[-1, :] = 0
        v[0, :] = 0
        v[-1, :] = 0
        change = (np.sum(u) - before) / np.sum(u)
        count += 1
    p[:] = now
    return count


@njit(parallel=True, fastmath=True)
def _deriche(image, a1, a2, a3, a4, b1, b2):
    rows, columns = image.shape
    middle, out = np.empty_like(image), np.empty_like(image)
    for i in prange(rows):
        x1 = y1 = y2 = 0.0
        for j in range(columns):
            y = a1 * image[i, j] + a2 * x1 + b1 * y1 + b2 * y2
            x1, y2, y1 = image[i, j], y1, y
            middle[i, j] = y
        x1 = x2 = y1 = y2 = 0.0
        for j in range(columns - 1, -1, -1):
            y = a3 * x1 + a4 * x2 + b1 * y1 + b2 * y2
            x2, x1, y2, y1 = x1, image[i, j], y1, y
            middle[i, j] += y
    for block in prange((columns + _BLOCK - 1) // _BLOCK):
        low, high = block * _BLOCK, min((block + 1) * _BLOCK, columns)
        x1, x2, y1, y2 = np.zeros(_BLOCK), np.zeros(_BLOCK), np.zeros(_BLOCK), np.zeros(_BLOCK)
        for i in range(rows):
            for j in range(low, high):
                k = j - low
                y = a1 * middle[i, j] + a2 * x1[k] + b1 * y1[k] + b2 * y2[k]
                x1[k], y2[k], y1[k] = middle[i, j], y1[k], y
                out[i, j] = y
        x1[:], y1[:], y2[:] = 0.0, 0.0, 0.0
        for i in range(rows - 1, -1, -1):
            for j in range(low, high):
                k = j - low
                y = a3 * x1[k] + a4 * x2[k] + b1 * y1[k] + b2 * y2[k]
                x2[k], x1[k], y2[k], y1[k] = x1[k], middle[i, j], y1[k], y
                out[i, j] += y
    return out


def deriche(alpha, image):
    decay = np.exp(-alpha)
    k = (1.0 - decay) ** 2 / (1.0 + alpha * decay - np.exp(2.0 * alpha))
    a2, a3 = k * decay * (alpha - 1.0), k * decay * (alpha + 1.0)
    return _deriche(image, k, a2, a3, -k * np.exp(-2.0 * alpha), 2.0**-alpha, -np.exp(-2.0 * alpha))


@njit(parallel=True, fastmath=True)
def adi(steps, n, u):
    v = np.ones((n, n))
    p = np.zeros(n)  # the same for each of the lines that are solved
    q = np.empty((n, n))
    b = 1.0 + 1.0 / steps * n * n
    a, d = -2.0 / steps * n * n / 2.0, -1.0 / steps * n * n / 2.0
    blocks = (n - 2 + _BLOCK - 1) // _BLOCK
    for _ in range(steps):
        for j in range(1, n - 1):
            p[j] = -a / (a * p[j - 1] + b)
        for block in prange(blocks):
            low, high = 1 + block * _BLOCK, min(1 + (block + 1) * _BLOCK, n - 1)
            q[0, low:high] = 1.0
            for j in range(1, n - 1):
                scale = 1.0 / (a * p[j - 1] + b)
                for i in range(low, high):
                    right = -d * u[j, i - 1] + (1.0 + 2.0 * d) * u[j, i] - d * u[j, i + 1]
                    q[j, i] = (right - a * q[j - 1, i]) * scale
            for j in range(n - 2, 0, -1):
                for i in range(low, high):
                    v[j, i] = p[j] * v[j + 1, i] + q[j, i]
        for j in range(1, n - 1):
            p[j] = -d / (d * p[j - 1] + b)
        for i in prange(1, n - 1):
            u[i, 0] = q[i, 0] = u[i, n - 1] = 1.0
            for j in range(1, n - 1):
                right = -a * v[i - 1, j] + (1.0 + 2.0 * a) * v[i, j] - a * v[i + 1, j]
                q[i, j] = (right - d * q[i, j - 1]) / (d * p[j - 1] + b)
            for j in range(n - 2, 0, -1):
                u[i, j] = p[j] * u[i, j + 1] + q[i, j]
    return u


@njit(parallel=True, fastmath=True)
def conv2d_bias(image, weights, bias):
    size, _, channels, filters = weights.shape
    count, rows, columns = image.shape[0], image.shape[1] - size + 1, image.shape[2] - size + 1
    out = np.empty((count, rows, columns, filters), np.float32)
    for line in prange(count * rows):
        n, i = line // rows, line % rows
        for j in range(columns):
            out[n, i, j, :] = bias
            for y in range(size):
                for x in range(size):
                    for c in range(channels):
                        for f in range(filters):
                            out[n, i, j, f] += image[n, i + y, j + x, c] * weights[y, x, c, f]
    return out


@njit(parallel=True, fastmath=True)
def syrk(alpha, beta, c, a):
    for i in prange(a.shape[0]):
        for j in range(i + 1):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * a[j, k]
            c[i, j] = c[i, j] * beta + alpha * total


@njit(parallel=True, fastmath=True)
def spmv(rows, columns, values, x):
    y = np.empty(rows.size - 1, values.dtype)
    for i in prange(rows.size - 1):
        total = 0.0
        for k in range(rows[i], rows[i + 1]):
            total += values[k] * x[columns[k]]
        y[i] = total
    return y


@njit(fastmath=True)
def seidel_2d(steps, n, a):
    for _ in range(steps - 1):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                above = a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1]
                below = a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
                a[i, j] = (above + below + a[i, j] + a[i, j + 1] + a[i, j - 1]) / 9.0


@njit(fastmath=True)
def _count_inside(num_samples, rng):
    count_inside = 0
    for _ in range(num_samples):
        x, y = rng.random(), rng.random()
        if x**2 + y**2 <= 1.0:
            count_inside += 1
    return count_inside


def monte_carlo_pi(num_samples, seed):
    """Numba draws from a generator that is passed in, with NumPy's bits, on one thread."""
    return 4.0 * _count_inside(num_samples, np.random.default_rng(seed)) / num_samples


def _text(case: Any, parallel: bool, fastmath: bool = True) -> Callable[..., Any]:
    """The case's own function under njit, and the functions that it calls."""
    module = case.module()
    for name, value in list(vars(module).items()):
        if isinstance(value, FunctionType) and value.__module__ == module.__name__:
            setattr(module, name, njit(parallel=parallel, fastmath=fastmath)(value))
    return getattr(module, case.function)


def variants(case: Any) -> dict[str, Callable[..., Any]]:
    """The ways to write a case. What Numba does not compile fails at its first call."""
    found = {"text": _text(case, False), "text, parallel": _text(case, True)}
    if case.group == "everyday":
        return {"text, exact": _text(case, False, fastmath=False), **found}  # NaN and infinities may matter
    by_hand = (jacobi_2d, cavity_flow, channel_flow, deriche, adi, conv2d_bias, syrk, spmv, seidel_2d, monte_carlo_pi)
    for function in by_hand:
        if function.__name__ == case.script:
            found["loops"] = function
            if hasattr(function, "py_func") and function.targetoptions.get("parallel"):
                found["loops, serial"] = njit(fastmath=True)(function.py_func)  # small sizes do not pay for threads
    if case.script.startswith("mandelbrot"):
        found["loops"] = _mandelbrot(np.float32 if case.script == "mandelbrot" else np.float64)
    return found
