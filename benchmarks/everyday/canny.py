"""Canny's edges: Sobel, thin ridges, two thresholds. The textbook's steps, as in TheAlgorithms/Python (MIT), written afresh."""

import numpy as np


def sobel_filters(img):
    p = np.pad(img, 1, mode="edge")
    gx = (p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:]) - (p[:-2, :-2] + 2 * p[1:-1, :-2] + p[2:, :-2])
    gy = (p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:]) - (p[:-2, :-2] + 2 * p[:-2, 1:-1] + p[:-2, 2:])
    g = np.hypot(gx, gy)
    return g / g.max() * 255, np.arctan2(gy, gx)


def non_max_suppression(g, theta):
    angle = np.rad2deg(theta)
    angle[angle < 0] += 180
    thin = np.zeros_like(g)
    inner = g[1:-1, 1:-1]
    a = angle[1:-1, 1:-1]
    horizontal = (a < 22.5) | (a >= 157.5)
    diagonal = (a >= 22.5) & (a < 67.5)
    vertical = (a >= 67.5) & (a < 112.5)
    q = np.select([horizontal, diagonal, vertical], [g[1:-1, 2:], g[2:, 2:], g[2:, 1:-1]], g[2:, :-2])
    r = np.select([horizontal, diagonal, vertical], [g[1:-1, :-2], g[:-2, :-2], g[:-2, 1:-1]], g[:-2, 2:])
    thin[1:-1, 1:-1] = np.where((inner >= q) & (inner >= r), inner, 0)
    return thin


def hysteresis(weak, strong):
    # edges grow into weak pixels beside them until nothing changes
    while True:
        p = np.pad(strong, 1)
        near = np.zeros_like(strong)
        for dy in range(3):
            for dx in range(3):
                near |= p[dy : dy + strong.shape[0], dx : dx + strong.shape[1]]
        grown = strong | (near & weak)
        if np.array_equal(grown, strong):
            return strong
        strong = grown


def canny(img, low_ratio=0.05, high_ratio=0.15):
    g, theta = sobel_filters(img.astype(float))
    thin = non_max_suppression(g, theta)
    high = thin.max() * high_ratio
    low = high * low_ratio / high_ratio
    return hysteresis((thin >= low) & (thin < high), thin >= high)


def make_data(small=False):
    n = 48 if small else 320
    rng = np.random.default_rng(2)
    y, x = np.mgrid[0:n, 0:n] / n
    img = 80 + 100 * (np.hypot(x - 0.4, y - 0.5) < 0.25) + 60 * ((x > 0.6) & (y > 0.6)) + 30 * x
    return (np.clip(img + 4 * rng.standard_normal((n, n)), 0, 255).astype(np.uint8),)


if __name__ == "__main__":
    print(canny(*make_data()).sum())
