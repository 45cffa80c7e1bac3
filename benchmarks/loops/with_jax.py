"""The loop cases for JAX: arrays go in and come out, loops are lax.scan, fori_loop and while_loop.

Each function takes the case's arguments and gives back, in this order, the arrays that NumPy writes into and what it returns.
"""

# ruff: noqa: PLR0917  (the signatures are those of the cases)

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

jax.config.update("jax_enable_x64", True)


def _mandelbrot(real: type, escape: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy makes the two axes, as in the tutorial: those of JAX are rounded otherwise, which moves points near the edge."""

    def mandelbrot(xmin, xmax, ymin, ymax, nx, ny, maxiter, horizon):
        x, y = np.linspace(xmin, xmax, nx, dtype=real), np.linspace(ymin, ymax, ny, dtype=real)
        return escape(x, y, maxiter, real(horizon))

    return mandelbrot


@jax.jit
def _escape_in_complex(x, y, maxiter, horizon):
    c = lax.complex(*jnp.broadcast_arrays(x, y[:, None]))

    def step(n, state):
        z, count = state
        alive = jnp.abs(z) < horizon
        return jnp.where(alive, z**2 + c, z), jnp.where(alive, n, count)

    z, count = lax.fori_loop(0, maxiter, step, (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int64)))
    return z, jnp.where(count == maxiter - 1, 0, count)


@jax.jit
def _escape_in_pairs(x, y, maxiter, horizon):
    """Real and imaginary parts apart, no square root: what XLA vectorises."""
    cr, ci = jnp.broadcast_arrays(x, y[:, None])

    def step(n, state):
        zr, zi, count = state
        alive = zr * zr + zi * zi < horizon**2
        squared = zr * zr - zi * zi + cr, 2 * zr * zi + ci
        return jnp.where(alive, squared[0], zr), jnp.where(alive, squared[1], zi), jnp.where(alive, n, count)

    start = jnp.zeros_like(cr), jnp.zeros_like(cr), jnp.zeros(cr.shape, jnp.int32)
    zr, zi, count = lax.fori_loop(0, jnp.int32(maxiter), step, start)
    return lax.complex(zr, zi), jnp.where(count == maxiter - 1, 0, count).astype(jnp.int64)


@jax.jit
def jacobi_2d(steps, a, b):
    def smoothed(into, x):
        mean = 0.2 * (x[1:-1, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[2:, 1:-1] + x[:-2, 1:-1])
        return into.at[1:-1, 1:-1].set(mean)

    def step(_, fields):
        a, b = fields
        b = smoothed(b, a)
        return smoothed(a, b), b

    return lax.fori_loop(1, steps, step, (a, b))


def _around(x, periodic):
    """Centre, east, west, north, south of the inner points; of inner rows where columns are periodic."""
    if periodic:
        return x[1:-1], jnp.roll(x, -1, 1)[1:-1], jnp.roll(x, 1, 1)[1:-1], x[2:], x[:-2]
    return x[1:-1, 1:-1], x[1:-1, 2:], x[1:-1, :-2], x[2:, 1:-1], x[:-2, 1:-1]


def _source(u, v, rho, dt, dx, dy, periodic):
    _, ue, uw, un, us = _around(u, periodic)
    _, ve, vw, vn, vs = _around(v, periodic)
    du, dv = (ue - uw) / (2 * dx), (vn - vs) / (2 * dy)
    return rho * (1 / dt * (du + dv) - du**2 - 2 * ((un - us) / (2 * dy) * (ve - vw) / (2 * dx)) - dv**2)


def _pressure(p, b, dx, dy, periodic):
    _, e, w, n, s = _around(p, periodic)
    scale = 2 * (dx**2 + dy**2)
    return ((e + w) * dy**2 + (n + s) * dx**2) / scale - dx**2 * dy**2 / scale * b


def _moved(field, u, v, push, dt, dx, dy, nu, periodic):
    c, e, w, n, s = _around(field, periodic)
    uc, vc = _around(u, periodic)[0], _around(v, periodic)[0]
    spread = nu * (dt / dx**2 * (e - 2 * c + w) + dt / dy**2 * (n - 2 * c + s))
    return c - uc * dt / dx * (c - w) - vc * dt / dy * (c - s) - push + spread


def _flow_step(u, v, p, inside, walls, nit, rho, nu, dt, dx, dy, force, periodic):
    b = _source(u, v, rho, dt, dx, dy, periodic)
    p = lax.fori_loop(0, nit, lambda _, p: walls(p.at[inside].set(_pressure(p, b, dx, dy, periodic))), p)
    _, e, w, n, s = _around(p, periodic)
    new_u = _moved(u, u, v, dt / (2 * rho * dx) * (e - w), dt, dx, dy, nu, periodic) + force * dt
    new_v = _moved(v, u, v, dt / (2 * rho * dy) * (n - s), dt, dx, dy, nu, periodic)
    return u.at[inside].set(new_u), v.at[inside].set(new_v), p


@jax.jit
def cavity_flow(nx, ny, nt, nit, u, v, dt, dx, dy, p, rho, nu):
    def walls(p):
        p = p.at[:, -1].set(p[:, -2])
        p = p.at[0].set(p[1])
        return p.at[:, 0].set(p[:, 1]).at[-1].set(0)

    def step(_, fields):
        inside = (slice(1, -1), slice(1, -1))
        u, v, p = _flow_step(*fields, inside, walls, nit, rho, nu, dt, dx, dy, 0, False)
        u = u.at[0].set(0).at[:, 0].set(0).at[:, -1].set(0).at[-1].set(1)
        return u, v.at[0].set(0).at[-1].set(0).at[:, 0].set(0).at[:, -1].set(0), p

    return lax.fori_loop(0, nt, step, (u, v, p))


@jax.jit
def channel_flow(nit, u, v, dt, dx, dy, p, rho, nu, force):
    def walls(p):
        p = p.at[-1].set(p[-2])
        return p.at[0].set(p[1])

    def step(state):
        _, count, u, v, p = state
        was = jnp.sum(u)
        u, v, p = _flow_step(u, v, p, slice(1, -1), walls, nit, rho, nu, dt, dx, dy, force, True)
        u, v = u.at[0].set(0).at[-1].set(0), v.at[0].set(0).at[-1].set(0)
        return (jnp.sum(u) - was) / jnp.sum(u), count + 1, u, v, p

    _, count, u, v, p = lax.while_loop(lambda state: state[0] > 0.001, step, (jnp.float64(1), 0, u, v, p))
    return u, v, p, count


def _filtered(x, now, before, b1, b2):
    """y[j] = now x[j] + before x[j-1] + b1 y[j-1] + b2 y[j-2] along the first axis, zeros before its start."""

    def step(state, new):
        x1, y1, y2 = state
        y = now * new + before * x1 + b1 * y1 + b2 * y2
        return (new, y, y1), y

    zero = jnp.zeros_like(x[0])
    return lax.scan(step, (zero, zero, zero), x)[1]


@jax.jit
def deriche(alpha, image):
    k = (1.0 - jnp.exp(-alpha)) ** 2 / (1.0 + alpha * jnp.exp(-alpha) - jnp.exp(2.0 * alpha))
    a1, a2 = k, k * jnp.exp(-alpha) * (alpha - 1.0)
    a3, a4 = k * jnp.exp(-alpha) * (alpha + 1.0), -k * jnp.exp(-2.0 * alpha)
    b1, b2 = 2.0 ** (-alpha), -jnp.exp(-2.0 * alpha)

    def both_ways(x):
        later = jnp.concatenate([x[1:], jnp.zeros_like(x[:1])])[::-1]
        return _filtered(x, a1, a2, b1, b2) + _filtered(later, a3, a4, b1, b2)[::-1]

    return both_ways(both_ways(image.T).T)


@partial(jax.jit, static_argnums=(0, 1))
def adi(steps, n, u):
    b = 1.0 + 1.0 / steps * n * n
    a, d = -2.0 / steps * n * n / 2.0, -1.0 / steps * n * n / 2.0
    ones = jnp.ones(n - 2)

    def solved(a, b, right):
        """One tridiagonal solve per column of `right`, ones at both ends."""

        def forward(state, r):
            p, q = state
            below = a * p + b
            new = -a / below, (r - a * q) / below
            return new, new

        def backward(later, pq):
            value = pq[0] * later + pq[1]
            return value, value

        _, pq = lax.scan(forward, (jnp.zeros_like(ones), ones), right)
        return lax.scan(backward, ones, pq, reverse=True)[1]

    def step(_, u):
        # Row j of v's system stands in row j of u; column j of v is what u's system needs.
        v = solved(a, b, -d * u[1:-1, :-2] + (1.0 + 2.0 * d) * u[1:-1, 1:-1] - d * u[1:-1, 2:])
        inner = jnp.concatenate([ones[None], v, ones[None]])
        right = -a * inner[:-2] + (1.0 + 2.0 * a) * inner[1:-1] - a * inner[2:]
        columns = solved(d, b, right.T)
        return u.at[1:-1, 1:-1].set(columns.T).at[1:-1, 0].set(1.0).at[1:-1, -1].set(1.0)

    return lax.fori_loop(0, steps, step, u)


@jax.jit
def conv2d_bias(image, weights, bias):
    layout = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(image, weights, (1, 1), "VALID", dimension_numbers=layout) + bias


@jax.jit
def syrk(alpha, beta, c, a):
    return jnp.where(jnp.tri(c.shape[0], dtype=bool), beta * c + alpha * (a @ a.T), c)


@jax.jit
def spmv(rows, columns, values, x):
    count = rows.size - 1
    row = jnp.repeat(jnp.arange(count), jnp.diff(rows), total_repeat_length=values.size)
    return jax.ops.segment_sum(values * x[columns], row, count, indices_are_sorted=True)


@jax.jit
def crc16(data, poly=0x8408):
    def step(crc, byte):
        for _ in range(8):
            crc = jnp.where((crc ^ byte) & 1, (crc >> 1) ^ poly, crc >> 1)
            byte = byte >> 1
        return crc, None

    crc, _ = lax.scan(step, jnp.int32(0xFFFF), data.astype(jnp.int32))
    crc = ~crc & 0xFFFF
    return ((crc << 8) | (crc >> 8)) & 0xFFFF


@jax.jit
def seidel_2d(steps, n, a):
    def row(i, a):
        rows = lax.dynamic_slice_in_dim(a, i - 1, 3)
        sums = rows[1, 1:-1] + rows[0, :-2] + rows[0, 1:-1] + rows[0, 2:] + rows[1, 2:]
        sums = sums + rows[2, :-2] + rows[2, 1:-1] + rows[2, 2:]

        def along(left, value):
            left = (value + left) / 9.0
            return left, left

        return a.at[i, 1:-1].set(lax.scan(along, rows[1, 0], sums)[1])

    return lax.fori_loop(0, steps - 1, lambda _, a: lax.fori_loop(1, a.shape[0] - 1, row, a), a)


def variants(script: str) -> dict[str, Callable[..., Any]]:
    """The ways to write a case."""
    if script.startswith("mandelbrot"):
        real = np.float32 if script == "mandelbrot" else np.float64
        return {"complex": _mandelbrot(real, _escape_in_complex), "pairs": _mandelbrot(real, _escape_in_pairs)}
    named = (jacobi_2d, cavity_flow, channel_flow, deriche, adi, conv2d_bias, syrk, spmv, crc16, seidel_2d)
    return {"jit": next(f for f in named if f.__name__ == script)}
