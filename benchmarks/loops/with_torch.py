"""The Mandelbrot tutorial for torch: steps on real and imaginary parts, `chunk` of them compiled (hence unrolled) into one."""

# ruff: noqa: PLR0917  (the signatures are those of the cases)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch


def mandelbrot(chunk: int) -> Callable[..., Any]:
    @torch.compile(fullgraph=True)
    def steps(first, cr, ci, zr, zi, count, limit):
        for j in range(chunk):
            alive = zr * zr + zi * zi < limit
            count = torch.where(alive, first + j, count)
            squared = zr * zr - zi * zi + cr, 2 * zr * zi + ci
            zr, zi = torch.where(alive, squared[0], zr), torch.where(alive, squared[1], zi)
        return zr, zi, count

    def run(xmin, xmax, ymin, ymax, nx, ny, maxiter, horizon):
        if maxiter % chunk:
            raise NotImplementedError(f"{maxiter} iterations in chunks of {chunk}")
        with torch.no_grad():
            x, y = np.linspace(xmin, xmax, nx, dtype=np.float32), np.linspace(ymin, ymax, ny, dtype=np.float32)
            cr, ci = (torch.tensor(grid) for grid in np.meshgrid(x, y))
            zr, zi, count = torch.zeros_like(cr), torch.zeros_like(cr), torch.zeros(cr.shape, dtype=torch.int64)
            for first in range(0, maxiter, chunk):
                # A tensor: for each new int, torch would compile again.
                zr, zi, count = steps(torch.tensor(first), cr, ci, zr, zi, count, horizon**2)
            count = torch.where(count == maxiter - 1, 0, count)
            return torch.complex(zr, zi).numpy(), count.numpy()

    return run
