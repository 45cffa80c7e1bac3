"""The programs of the NumPy tutorial on the Mandelbrot set, to the letter, without torch's decorators: what `memory.py` measures."""

# ruff: noqa
import math

import numpy as np
from cases.mandelbrot import mandelbrot_numpy


# fmt: off
def step(n, C, Z, N, horizon):
    I = np.abs(Z) < horizon
    N[I] = n
    Z[I] = Z[I]**2 + C[I]
    return Z, N


# note the additional argument, `step`
def mandelbrot(xmin, xmax, ymin, ymax, nx, ny, maxiter, step, horizon=2.0):   
    X = np.linspace(xmin, xmax, nx, dtype=np.float32)
    Y = np.linspace(ymin, ymax, ny, dtype=np.float32)
    C = X + Y[:, None]*1j
    N = np.zeros(C.shape, dtype=int)
    Z = np.zeros(C.shape, dtype=np.complex64)
    for n in range(maxiter):
        Z, N = step(n, C, Z, N, horizon)       
    N[N == maxiter-1] = 0
    return Z, N

def step_2(n, C, Z, N, horizon):
    I = np.abs(Z) < horizon
    N = np.where(I, n, N)            # N[I] = n
    Z = np.where(I, Z**2 + C, Z)     # Z[I] = Z[I]**2 + C[I]        
    return Z, N


def mandelbrot_2(xmin, xmax, ymin, ymax, nx, ny, maxiter, step, horizon=2.0):   
    X = np.linspace(xmin, xmax, nx, dtype=np.float32)
    Y = np.linspace(ymin, ymax, ny, dtype=np.float32)
    C = X + Y[:, None]*1j
    N = np.zeros(C.shape, dtype=int)
    Z = np.zeros(C.shape, dtype=np.complex64)
    for n in range(maxiter):
        Z, N = step(n, C, Z, N, horizon)       
    N = np.where(N == maxiter-1, 0, N)        # N[N == maxiter-1] = 0
    return Z, N

def abs2(a):
    r"""abs(a)**2 replacement."""
    return a[..., 0]**2 + a[..., 1]**2


def sq2(a):
    r"""a**2 replacement."""
    z = np.empty_like(a)
    z[..., 0] = a[..., 0]**2 - a[..., 1]**2
    z[..., 1] = 2 * a[..., 0] * a[..., 1]
    return z

def step_3(n, c, Z, N, horizon):
    I = abs2(Z) < horizon**2                      # Note: abs2
    N = np.where(I, n, N)                         
    Z = np.where(I[..., None], sq2(Z) + c, Z)     # Note: sq2
    return Z, N


def mandelbrot_3(xmin, xmax, ymin, ymax, nx, ny,  maxiter, step, horizon=2.0):
    x = np.linspace(xmin, xmax, nx, dtype=np.float32)
    y = np.linspace(ymin, ymax, ny, dtype=np.float32)

    c = np.stack(np.broadcast_arrays(x[None, :], y[:, None]), axis=-1)

    N = np.zeros(c.shape[:-1], dtype=int)
    Z = np.zeros_like(c, dtype=np.float32)       # float32, not complex

    for n in range(maxiter):
        Z, N = step(n, c, Z, N, horizon)
    N = np.where(N == maxiter-1, 0, N)

    Zc = Z[..., 0] + 1j*Z[..., 1]  # restore the complex-valued return
    return Zc, N

def step_4(n0, c, Z, N, horizon, chunksize):
    for j in range(chunksize):
        n = n0 + j                    # update the iteration counter
        I = abs2(Z) < horizon**2
        N = np.where(I, n, N)
        Z = np.where(I[..., None], sq2(Z) + c, Z)
    return Z, N


def mandelbrot_4(xmin, xmax, ymin, ymax, nx, ny,  maxiter, step, horizon=2.0):
    x = np.linspace(xmin, xmax, nx, dtype=np.float32)
    y = np.linspace(ymin, ymax, ny, dtype=np.float32)
    c = np.stack(np.broadcast_arrays(x[None, :], y[:, None]), axis=-1)

    N = np.zeros(c.shape[:-1], dtype=int)
    Z = np.zeros_like(c, dtype=np.float32)

    chunksize=10                                     # compile this many steps
    n_chunks = maxiter // chunksize

    for i_chunk in range(n_chunks):
        n0 = i_chunk*chunksize                       # update the iteration counter
        Z, N = step(n0, c, Z, N, horizon, chunksize)

    N = np.where(N == maxiter-1, 0, N)
    Zc = Z[..., 0] + 1j*Z[..., 1]
    return Zc, N


def visualize(Z, N, horizon):
    log_horizon = math.log(horizon, 2)
    M = np.nan_to_num(N + 1 - np.log2(np.log(abs(Z))) + log_horizon)
    return M


# fmt: on
def make_data(name, maxiter=200, nx=3000 // 3, ny=2500 // 3, horizon=2.0**40, chunk=10):
    box = (-2.25, +0.75, -1.25, +1.25, nx, ny, maxiter)
    if name == "mandelbrot_numpy":
        return *box, horizon
    if name.startswith("mandelbrot"):
        return *box, globals()[name.replace("mandelbrot", "step")], horizon
    C = np.linspace(-2.25, 0.75, nx, dtype=np.float32) + np.linspace(-1.25, 1.25, ny, dtype=np.float32)[:, None] * 1j
    Z, N = C * np.float32(0.5), np.zeros((ny, nx), dtype=int)
    if name == "visualize":
        return Z, N, horizon
    if name in ("step_3", "step_4"):
        C, Z = (np.stack([a.real, a.imag], axis=-1) for a in (C, Z))
    return (7, C, Z, N, horizon, *((chunk,) if name == "step_4" else ()))
