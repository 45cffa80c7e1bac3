"""Bodies under gravity, leapfrog, all pairs at once. The vectorized textbook code, written afresh."""

import numpy as np


def get_acceleration(pos, mass, G, softening):
    x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
    dx, dy, dz = x.T - x, y.T - y, z.T - z
    inv_r3 = dx**2 + dy**2 + dz**2 + softening**2
    inv_r3[inv_r3 > 0] = inv_r3[inv_r3 > 0] ** (-1.5)
    ax = G * (dx * inv_r3) @ mass
    ay = G * (dy * inv_r3) @ mass
    az = G * (dz * inv_r3) @ mass
    return np.hstack((ax, ay, az))


def get_energy(pos, vel, mass, G):
    kinetic = 0.5 * np.sum(mass * vel**2)
    r = np.linalg.norm(pos[:, None] - pos[None], axis=2)
    i, j = np.triu_indices(len(pos), 1)
    return kinetic, -G * np.sum(mass[i, 0] * mass[j, 0] / r[i, j])


def nbody(mass, pos, vel, dt, steps, G=1.0, softening=0.1):
    vel = vel - np.mean(mass * vel, 0) / np.mean(mass)  # the center of mass rests
    acc = get_acceleration(pos, mass, G, softening)
    energies = np.zeros((steps + 1, 2))
    energies[0] = get_energy(pos, vel, mass, G)
    for i in range(steps):
        vel = vel + acc * dt / 2.0
        pos = pos + vel * dt
        acc = get_acceleration(pos, mass, G, softening)
        vel = vel + acc * dt / 2.0
        energies[i + 1] = get_energy(pos, vel, mass, G)
    return pos, vel, energies


def make_data(small=False):
    n, steps = (10, 3) if small else (150, 60)
    rng = np.random.default_rng(17)
    return 20.0 * np.ones((n, 1)) / n, rng.standard_normal((n, 3)), rng.standard_normal((n, 3)), 0.01, steps


if __name__ == "__main__":
    print(nbody(*make_data())[2].sum(axis=1)[[0, -1]])
