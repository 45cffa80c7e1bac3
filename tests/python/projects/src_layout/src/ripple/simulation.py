"""A run: sources push, the surface follows."""

import numpy as np

from .stencils import advance, energy


def depth_profile(rows, columns):
    """The tank is deep in the middle: waves run faster there."""
    y = np.linspace(-1.0, 1.0, rows)[:, None]
    x = np.linspace(-1.0, 1.0, columns)[None, :]
    return 0.35 + 0.3 * np.exp(-2.0 * (x * x + y * y))


def simulate(rows, columns, sources, steps):
    """The last surface, and the energy at every tenth step."""
    speed = depth_profile(rows, columns)
    before = np.zeros((rows, columns))
    now = np.zeros((rows, columns))
    energies = []
    for step in range(steps):
        for source in sources:
            now[source.place(now.shape)] = source.height(step / steps)
        now, before = advance(now, before, speed), now
        if step % 10 == 0:
            energies.append((step, float(energy(now, before))))
    return now, energies
