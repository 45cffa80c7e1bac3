"""Differences on the grid of the tank."""

import numpy as np


def advance(now, before, speed):
    """The surface one step later: the wave equation by central differences; the border is held at zero."""
    later = np.zeros_like(now)
    inner = now[1:-1, 1:-1]
    laplacian = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:] - 4.0 * inner
    later[1:-1, 1:-1] = 2.0 * inner - before[1:-1, 1:-1] + speed[1:-1, 1:-1] ** 2 * laplacian
    return later


def energy(now, before):
    """Kinetic energy of the surface."""
    moved = now - before
    return 0.5 * np.mean(moved * moved)
