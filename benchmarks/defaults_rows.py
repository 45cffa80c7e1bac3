"""Programs of defaults.py that stand nowhere else in this folder: stencils of several stages, nearest neighbours, contractions, sums of functions of
pairs. Plain NumPy, idioms of their users; `ROWS` gives each with its data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Row(NamedTuple):
    name: str
    function: Callable[..., Any]
    data: Callable[[], tuple[Any, ...]]


def _random(*shapes: tuple[int, ...], dtype: Any = np.float64) -> Callable[[], tuple[Any, ...]]:
    def data() -> tuple[Any, ...]:
        rng = np.random.default_rng(11)
        return tuple(rng.random(shape, dtype=dtype) for shape in shapes)

    return data


# ---- nearest, and other searches of pairs


def nearest(queries, points):
    d = ((queries[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)
    return np.argmin(d, axis=1)


def nearest_by_coordinate(queries, points):
    dx = queries[:, 0][:, None] - points[:, 0][None, :]
    dy = queries[:, 1][:, None] - points[:, 1][None, :]
    return np.argmin(dx * dx + dy * dy, axis=1)


def nearest_distance(queries, points):
    return np.sqrt(((queries[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)).min(axis=1)


def palette(image, colours):
    d = np.abs(image[:, :, None, :] - colours).sum(axis=3)
    return d.argmin(axis=2)


def farthest(queries, points):
    return np.argmax(np.abs(queries[:, None, :] - points).sum(axis=-1), axis=-1)


def match_templates(signals, templates):
    """The template that correlates best with each signal."""
    return np.argmax((signals[:, None, :] * templates[None, :, :]).sum(axis=2), axis=1)


# ---- stencils of several stages


def sobel(image):
    gx = image[:-2, 2:] + 2 * image[1:-1, 2:] + image[2:, 2:] - image[:-2, :-2] - 2 * image[1:-1, :-2] - image[2:, :-2]
    gy = image[2:, :-2] + 2 * image[2:, 1:-1] + image[2:, 2:] - image[:-2, :-2] - 2 * image[:-2, 1:-1] - image[:-2, 2:]
    return np.sqrt(gx * gx + gy * gy)


def blur(image):
    rows = (image[:, :-4] + 4 * image[:, 1:-3] + 6 * image[:, 2:-2] + 4 * image[:, 3:-1] + image[:, 4:]) / 16
    return (rows[:-4] + 4 * rows[1:-3] + 6 * rows[2:-2] + 4 * rows[3:-1] + rows[4:]) / 16


def unsharp(image, amount):
    rows = (image[:, :-2] + 2 * image[:, 1:-1] + image[:, 2:]) / 4
    smooth = (rows[:-2] + 2 * rows[1:-1] + rows[2:]) / 4
    inner = image[1:-1, 1:-1]
    return np.clip(inner + amount * (inner - smooth), 0, 1)


def biharmonic(u):
    lap = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    return lap[2:, 1:-1] + lap[:-2, 1:-1] + lap[1:-1, 2:] + lap[1:-1, :-2] - 4 * lap[1:-1, 1:-1]


def harris(image, k):
    gx = image[1:-1, 2:] - image[1:-1, :-2]
    gy = image[2:, 1:-1] - image[:-2, 1:-1]

    def window(a):
        return sum(a[i : a.shape[0] - 2 + i, j : a.shape[1] - 2 + j] for i in range(3) for j in range(3))

    xx, yy, xy = window(gx * gx), window(gy * gy), window(gx * gy)
    return xx * yy - xy * xy - k * (xx + yy) ** 2


def curvature(u):
    ux, uy = (u[1:-1, 2:] - u[1:-1, :-2]) / 2, (u[2:, 1:-1] - u[:-2, 1:-1]) / 2
    size = np.sqrt(ux * ux + uy * uy + 1e-8)
    nx, ny = ux / size, uy / size
    return (nx[1:-1, 2:] - nx[1:-1, :-2] + ny[2:, 1:-1] - ny[:-2, 1:-1]) / 2


def perona_malik(u, kappa):
    """One step of anisotropic diffusion: a flux for each side of a point, the exponential of a difference."""
    dy, dx = u[1:] - u[:-1], u[:, 1:] - u[:, :-1]
    fy, fx = np.exp(-((dy / kappa) ** 2)) * dy, np.exp(-((dx / kappa) ** 2)) * dx
    return u[1:-1, 1:-1] + 0.2 * (fy[1:, 1:-1] - fy[:-1, 1:-1] + fx[1:-1, 1:] - fx[1:-1, :-1])


def limited_advection(u, c):
    """One step of advection with a van Leer limiter along the last axis."""
    d = u[:, 1:] - u[:, :-1]
    r = d[:, :-1] / (d[:, 1:] + 1e-12)
    phi = (r + np.abs(r)) / (1 + np.abs(r))
    flux = c * u[:, 1:-1] + 0.5 * c * (1 - c) * phi * d[:, 1:]
    return u[:, 2:-1] - (flux[:, 1:] - flux[:, :-1])


def diffusion_3d(u, k):
    fx, fy, fz = k * (u[1:] - u[:-1]), k * (u[:, 1:] - u[:, :-1]), k * (u[:, :, 1:] - u[:, :, :-1])
    return u[1:-1, 1:-1, 1:-1] + (
        (fx[1:] - fx[:-1])[:, 1:-1, 1:-1] + (fy[:, 1:] - fy[:, :-1])[1:-1, :, 1:-1] + (fz[:, :, 1:] - fz[:, :, :-1])[1:-1, 1:-1]
    )  # fmt: skip


def diffusion_limited(u, coeff):
    """Horizontal diffusion with limited fluxes, the last axis vertical: as in models of weather."""
    lap = 4 * u[1:-1, 1:-1] - (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    fx, fy = lap[1:, 1:-1] - lap[:-1, 1:-1], lap[1:-1, 1:] - lap[1:-1, :-1]
    fx = np.where(fx * (u[2:-1, 2:-2] - u[1:-2, 2:-2]) > 0, 0, fx)
    fy = np.where(fy * (u[2:-2, 2:-1] - u[2:-2, 1:-2]) > 0, 0, fy)
    return u[2:-2, 2:-2] - coeff * (fx[1:] - fx[:-1] + fy[:, 1:] - fy[:, :-1])


# ---- rows and their statistics


def layer_norm(x, gain, bias):
    mean = x.mean(axis=-1, keepdims=True)
    var = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * gain + bias


def standardized(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


def log_sum_exp(x):
    top = x.max(axis=1, keepdims=True)
    return top[:, 0] + np.log(np.exp(x - top).sum(axis=1))


def gelu(x):
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def cross_entropy(logits, labels):
    shifted = logits - logits.max(axis=1, keepdims=True)
    return -(shifted[np.arange(len(labels)), labels] - np.log(np.exp(shifted).sum(axis=1))).mean()


# ---- contractions, and sums of functions of pairs


def attention(q, k, v):
    s = q @ k.T / np.sqrt(q.shape[1])
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True) @ v


def kernel_density(x, data, h):
    return np.exp(-(((x[:, None] - data[None, :]) / h) ** 2) / 2).sum(axis=1) / (len(data) * h * 2.5066)


def accelerations(pos, mass):
    dx = pos[:, 0] - pos[:, 0][:, None]
    dy = pos[:, 1] - pos[:, 1][:, None]
    dz = pos[:, 2] - pos[:, 2][:, None]
    inv = (dx * dx + dy * dy + dz * dz + 0.01) ** -1.5
    return np.stack([(dx * inv) @ mass, (dy * inv) @ mass, (dz * inv) @ mass], axis=1)


def rbf_matrix(x, y, gamma):
    return np.exp(-gamma * ((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=2))


def city_block(x, y):
    return np.abs(x[:, None, :] - y[None, :, :]).sum(axis=2)


def pairwise_potential(x, y):
    r2 = ((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=-1) + 1e-3
    return (1 / r2**6 - 1 / r2**3).sum()


def windows(signal, taps):
    return np.lib.stride_tricks.sliding_window_view(signal, len(taps)) @ taps


def bilinear(image, y, x):
    y0, x0 = np.floor(y).astype(np.int64), np.floor(x).astype(np.int64)
    fy, fx = y - y0, x - x0
    top = image[y0, x0] * (1 - fx) + image[y0, x0 + 1] * fx
    below = image[y0 + 1, x0] * (1 - fx) + image[y0 + 1, x0 + 1] * fx
    return top * (1 - fy) + below * fy


def histogram(values):
    return np.histogram(values, bins=64, range=(0.0, 1.0))[0]


def _with(make: Callable[[], tuple[Any, ...]], *more: Any) -> Callable[[], tuple[Any, ...]]:
    return lambda: (*make(), *more)


def _labelled() -> tuple[Any, ...]:
    rng = np.random.default_rng(11)
    return rng.random((4096, 1000), dtype=np.float32), rng.integers(0, 1000, 4096)


def _places() -> tuple[Any, ...]:
    rng = np.random.default_rng(11)
    return rng.random((1024, 1024)), rng.random((1000, 1000)) * 1022, rng.random((1000, 1000)) * 1022


ROWS = [
    Row("nearest", nearest, _random((4000, 2), (3000, 2))),
    Row("nearest_f32", nearest, _random((4000, 3), (3000, 3), dtype=np.float32)),
    Row("nearest_few", nearest, _random((200_000, 2), (20, 2))),
    Row("nearest_16d", nearest, _random((1500, 16), (1000, 16))),
    Row("nearest_by_coordinate", nearest_by_coordinate, _random((4000, 2), (3000, 2))),
    Row("nearest_distance", nearest_distance, _random((4000, 2), (3000, 2))),
    Row("palette", palette, _random((480, 640, 3), (16, 3), dtype=np.float32)),
    Row("farthest", farthest, _random((3000, 4), (2000, 4))),
    Row("match_templates", match_templates, _random((2000, 32), (300, 32))),
    Row("sobel", sobel, _random((2050, 2050), dtype=np.float32)),
    Row("blur", blur, _random((2050, 2050), dtype=np.float32)),
    Row("unsharp", unsharp, _with(_random((2050, 2050)), 0.7)),
    Row("biharmonic", biharmonic, _random((1500, 1500))),
    Row("harris", harris, _with(_random((1500, 1500), dtype=np.float32), np.float32(0.04))),
    Row("curvature", curvature, _random((1500, 1500))),
    Row("perona_malik", perona_malik, _with(_random((1000, 1000)), 0.1)),
    Row("limited_advection", limited_advection, _with(_random((1000, 2000)), 0.4)),
    Row("diffusion_3d", diffusion_3d, _with(_random((130, 130, 130)), 0.1)),
    Row("diffusion_limited", diffusion_limited, _random((132, 132, 160), (128, 128, 160))),
    Row("diffusion_limited_f32", diffusion_limited, _random((260, 260, 64), (256, 256, 64), dtype=np.float32)),
    Row("layer_norm", layer_norm, _random((4096, 768), (768,), (768,), dtype=np.float32)),
    Row("standardized", standardized, _random((100_000, 20))),
    Row("log_sum_exp", log_sum_exp, _random((4096, 1000))),
    Row("gelu", gelu, _random((4_000_000,), dtype=np.float32)),
    Row("cross_entropy", cross_entropy, _labelled),
    Row("attention", attention, _random((512, 64), (512, 64), (512, 64), dtype=np.float32)),
    Row("kernel_density", kernel_density, _with(_random((1000,), (10_000,)), 0.05)),
    Row("accelerations", accelerations, _random((2000, 3), (2000,))),
    Row("rbf_matrix", rbf_matrix, _with(_random((1500, 8), (1500, 8)), 0.5)),
    Row("city_block", city_block, _random((1500, 16), (1500, 16))),
    Row("pairwise_potential", pairwise_potential, _random((2000, 3), (2000, 3))),
    Row("windows", windows, _random((2_000_000,), (33,))),
    Row("bilinear", bilinear, _places),
    Row("histogram", histogram, _random((4_000_000,))),
]
