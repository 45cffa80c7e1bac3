"""Laplace's equation, iterated until the change is small. After CFD Python, step 9 (L. A. Barba, G. F. Forsyth, BSD-3), written afresh."""

import numpy as np


def laplace2d(p, y, dx, dy, l1norm_target):
    l1norm = 1
    iterations = 0
    while l1norm > l1norm_target:
        pn = p.copy()
        p[1:-1, 1:-1] = (dy**2 * (pn[1:-1, 2:] + pn[1:-1, 0:-2]) + dx**2 * (pn[2:, 1:-1] + pn[0:-2, 1:-1])) / (
            2 * (dx**2 + dy**2)
        )
        p[:, 0] = 0  # p = 0 @ x = 0
        p[:, -1] = y  # p = y @ x = 2
        p[0, :] = p[1, :]  # dp/dy = 0 @ y = 0
        p[-1, :] = p[-2, :]  # dp/dy = 0 @ y = 1
        l1norm = (np.sum(np.abs(p[:]) - np.abs(pn[:]))) / np.sum(np.abs(pn[:]))
        iterations += 1
    return p, iterations


def solve(nx, ny, target):
    dx, dy = 2 / (nx - 1), 1 / (ny - 1)
    y = np.linspace(0, 1, ny)
    p = np.zeros((ny, nx))
    p[:, 0] = 0
    p[:, -1] = y
    p[0, :] = p[1, :]
    p[-1, :] = p[-2, :]
    return laplace2d(p, y, dx, dy, target)


def make_data(small=False):
    return (21, 21, 1e-2) if small else (121, 121, 2e-4)


if __name__ == "__main__":
    print(solve(*make_data())[1])
