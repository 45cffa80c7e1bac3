"""PyTorch: eager, torch.compile, and torch.compile with max-autotune; on tensors of the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import wait_of_all


def _on_tensors(torch: Any) -> dict[str, Callable[..., Any]]:
    def mandelbrot(c, maxiter, horizon):
        steps = _steps(torch)
        cr, ci = c.real.contiguous(), c.imag.contiguous()
        zr, zi = torch.zeros_like(cr), torch.zeros_like(cr)
        count = torch.zeros(cr.shape, dtype=torch.int64, device=c.device)
        for first in range(0, maxiter, 10):
            zr, zi, count = steps(torch.tensor(first, device=c.device), cr, ci, zr, zi, count, horizon**2)
        return torch.complex(zr, zi), torch.where(count == maxiter - 1, 0, count)

    return {
        "kmeans": lambda x, means: torch.argmin(torch.sqrt(((x - means[:, None]) ** 2).sum(2)), 0),
        "trig": lambda x, y, a: torch.exp(a * torch.sin(x) + torch.cos(y)),
        "softmax": lambda x: torch.softmax(x, 1),
        "l2norm": torch.linalg.vector_norm,
        "sum_of_squares": lambda x: (x**2).sum(1),
        "squared_difference": lambda a, b: (a - b) ** 2,
        "pi": lambda x, y: 4.0 * ((x**2 + y**2) <= 1.0).to(x.dtype).mean(),
        "matmul_softmax": lambda a, b: torch.softmax(a @ b, 1),
        "mandelbrot_points": mandelbrot,
    }


def _steps(torch: Any) -> Callable[..., Any]:
    global _compiled_steps
    if _compiled_steps is None:

        @torch.compile(fullgraph=True)
        def steps(first, cr, ci, zr, zi, count, limit):  # noqa: PLR0917
            for j in range(10):
                alive = zr * zr + zi * zi < limit
                count = torch.where(alive, first + j, count)
                squared = zr * zr - zi * zi + cr, 2 * zr * zi + ci
                zr, zi = torch.where(alive, squared[0], zr), torch.where(alive, squared[1], zi)
            return zr, zi, count

        _compiled_steps = steps
    return _compiled_steps


_compiled_steps: Callable[..., Any] | None = None


def prepare(case: Any, arguments: tuple[Any, ...]) -> tuple[dict[str, Callable[[], Any]], Callable[[], None]]:
    import torch

    torch.set_grad_enabled(False)
    function = _on_tensors(torch)[case.script]
    if case.script == "mandelbrot_points":
        tensors = [torch.from_numpy(a).cuda() if isinstance(a, np.ndarray) else a for a in arguments]
        return {"torch.compile, chunks of 10": lambda: function(*tensors)}, wait_of_all()
    # Graphs of its own (max-autotune's) would hand out results that the next call overwrites.
    compiled = torch.compile(function)
    tuned = torch.compile(function, mode="max-autotune-no-cudagraphs")
    ways = {"eager": function, "torch.compile": compiled, "torch.compile max-autotune": tuned}
    if case.from_numpy:

        def there_and_back(way: Callable[..., Any]) -> Callable[[], Any]:
            return lambda: way(*(torch.from_numpy(a).cuda() for a in arguments)).cpu().numpy()

        return {name: there_and_back(way) for name, way in ways.items()}, wait_of_all()
    tensors = [torch.from_numpy(a).cuda() if isinstance(a, np.ndarray) else a for a in arguments]

    def on_device(way: Callable[..., Any]) -> Callable[[], Any]:
        return lambda: way(*tensors)

    return {name: on_device(way) for name, way in ways.items()}, wait_of_all()
