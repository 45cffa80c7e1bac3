"""JAX: the case's function under jit with jax.numpy in NumPy's place; loops that write are those that JAX's users write."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def _jacobi(jax: Any) -> Callable[..., Any]:
    def step(_: Any, state: Any) -> Any:
        a, b = state
        five = lambda x: 0.2 * (x[1:-1, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[2:, 1:-1] + x[:-2, 1:-1])  # noqa: E731
        b = b.at[1:-1, 1:-1].set(five(a))
        return a.at[1:-1, 1:-1].set(five(b)), b

    return jax.jit(lambda steps, a, b: jax.lax.fori_loop(1, steps, step, (a, b)))


def _convolution(jax: Any) -> Callable[..., Any]:
    return jax.jit(
        lambda x, w, bias: (
            jax.lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")) + bias
        )
    )


def _mandelbrot(jax: Any) -> Callable[..., Any]:
    jnp = jax.numpy

    def run(c: Any, maxiter: Any, horizon: Any) -> Any:
        def step(n: Any, state: Any) -> Any:
            zr, zi, count = state
            alive = zr * zr + zi * zi < horizon * horizon
            r, i = zr * zr - zi * zi + c.real, 2 * zr * zi + c.imag
            return jnp.where(alive, r, zr), jnp.where(alive, i, zi), jnp.where(alive, n, count)

        zero = jnp.zeros_like(c.real)
        zr, zi, count = jax.lax.fori_loop(0, maxiter, step, (zero, zero, jnp.zeros(c.shape, jnp.int64)))
        return jax.lax.complex(zr, zi), jnp.where(count == maxiter - 1, 0, count)

    return jax.jit(run, static_argnums=(1, 2))


def prepare(case: Any, arguments: tuple[Any, ...]) -> tuple[dict[str, Callable[[], Any]], Callable[[], None]]:
    import jax

    jax.config.update("jax_enable_x64", True)  # noqa: FBT003
    by_hand = {"jacobi_2d": _jacobi, "conv2d_bias": _convolution, "mandelbrot_points": _mandelbrot}
    if case.script in by_hand:
        function = by_hand[case.script](jax)
    else:
        module = case.module()
        module.np = jax.numpy
        function = jax.jit(getattr(module, case.function))
    arrays = [jax.device_put(a) if isinstance(a, np.ndarray) else a for a in arguments]
    last: list[Any] = [None]

    def call() -> Any:
        last[0] = function(*arrays)
        return last[0]

    return {"jit": call}, lambda: jax.block_until_ready(last[0])
