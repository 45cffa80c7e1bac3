"""Argon in a periodic box: Lennard-Jones forces between pairs within a cutoff, velocity Verlet. The textbook's method, written afresh."""

import numpy as np


def lj_forces(pos, box, cutoff):
    n = len(pos)
    i, j = np.triu_indices(n, k=1)
    d = pos[i] - pos[j]
    d -= box * np.rint(d / box)  # nearest image
    r2 = np.einsum("ij,ij->i", d, d)
    near = r2 < cutoff**2
    i, j, d, r2 = i[near], j[near], d[near], r2[near]
    s6 = 1.0 / r2**3
    potential = np.sum(4 * (s6**2 - s6))
    f = (24 * (2 * s6**2 - s6) / r2)[:, np.newaxis] * d
    forces = np.zeros_like(pos)
    np.add.at(forces, i, f)
    np.subtract.at(forces, j, f)
    return forces, potential


def simulate(pos, vel, box, steps, dt=0.002, cutoff=2.5):
    forces, potential = lj_forces(pos, box, cutoff)
    history = []
    for _ in range(steps):
        pos = (pos + vel * dt + 0.5 * forces * dt**2) % box
        new_forces, potential = lj_forces(pos, box, cutoff)
        vel = vel + 0.5 * (forces + new_forces) * dt
        forces = new_forces
        kinetic = 0.5 * (vel**2).sum()
        history.append((potential, kinetic, 2 * kinetic / (3 * len(pos))))
    return pos, vel, np.array(history)


def make_data(small=False):
    side, steps = (3, 2) if small else (6, 15)
    rng = np.random.default_rng(18)
    box = 1.2 * side
    grid = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    vel = rng.normal(0, 1, (side**3, 3))
    return (grid + 0.5) * 1.2, vel - vel.mean(axis=0), box, steps


if __name__ == "__main__":
    print(simulate(*make_data())[2][-1])
