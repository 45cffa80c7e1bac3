"""A wave packet meets a barrier: the Schroedinger equation by split steps with FFT. The textbook's method, written afresh."""

import numpy as np


class Grid:
    def __init__(self, n, length):
        self.x = np.linspace(-length / 2, length / 2, n, endpoint=False)
        self.dx = self.x[1] - self.x[0]
        self.k = 2 * np.pi * np.fft.fftfreq(n, self.dx)


def gauss_packet(x, x0, k0, width):
    return (np.pi * width**2) ** -0.25 * np.exp(-((x - x0) ** 2) / (2 * width**2) + 1j * k0 * x)


def tunnel(n, steps, dt=0.01, k0=4.0, height=9.0):
    grid = Grid(n, 100.0)
    psi = gauss_packet(grid.x, -20.0, k0, 3.0)
    V = np.zeros(n)
    V[np.abs(grid.x) < 0.5] = height
    half_potential = np.exp(-0.5j * V * dt)
    kinetic = np.exp(-0.5j * grid.k**2 * dt)
    snapshots = []
    for step in range(steps):
        psi = psi * half_potential
        psi = np.fft.ifft(kinetic * np.fft.fft(psi))
        psi = psi * half_potential
        if step % 100 == 0:
            snapshots.append(np.abs(psi) ** 2)
    density = np.abs(psi) ** 2
    passed = density[grid.x > 0].sum() * grid.dx
    return np.array(snapshots), psi, passed


def make_data(small=False):
    return (128, 20) if small else (1024, 1200)


if __name__ == "__main__":
    print(tunnel(*make_data())[2])
