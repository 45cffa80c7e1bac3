"""Ising's magnet by Metropolis on a checkerboard, with random draws at each step. As lecture notes write it, afresh."""

import numpy as np


def neighbours(s):
    return np.roll(s, 1, 0) + np.roll(s, -1, 0) + np.roll(s, 1, 1) + np.roll(s, -1, 1)


def ising(n, temperature, sweeps, seed=1):
    rng = np.random.default_rng(seed)
    spins = rng.choice([-1, 1], size=(n, n))
    black = np.indices((n, n)).sum(axis=0) % 2 == 0
    magnetization = []
    energy = []
    for _ in range(sweeps):
        for color in (black, ~black):
            dE = 2 * spins * neighbours(spins)
            accept = (dE <= 0) | (rng.random((n, n)) < np.exp(-dE / temperature))
            spins[accept & color] *= -1
        magnetization.append(spins.mean())
        energy.append(-(spins * neighbours(spins)).sum() / 2 / n**2)
    return spins, np.array(magnetization), np.array(energy)


def make_data(small=False):
    return (16, 2.0, 4) if small else (128, 2.269, 60)


if __name__ == "__main__":
    print(ising(*make_data())[1][-5:])
