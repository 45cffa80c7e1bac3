"""An image made narrower by its cheapest seams (Avidan and Shamir, 2007). The usual masks, written afresh."""

import numpy as np


def energy_map(gray):
    dy, dx = np.gradient(gray)
    return np.abs(dx) + np.abs(dy)


def minimum_seam(energy):
    rows, cols = energy.shape
    cost = energy.copy()
    backtrack = np.zeros((rows, cols), dtype=int)
    for i in range(1, rows):
        left = np.concatenate(([np.inf], cost[i - 1, :-1]))
        right = np.concatenate((cost[i - 1, 1:], [np.inf]))
        choices = np.stack([left, cost[i - 1], right])
        backtrack[i] = np.argmin(choices, axis=0) - 1
        cost[i] += choices.min(axis=0)
    return cost, backtrack


def carve_column(img):
    rows, cols, _ = img.shape
    cost, backtrack = minimum_seam(energy_map(img.mean(axis=2)))
    mask = np.ones((rows, cols), dtype=bool)
    j = np.argmin(cost[-1])
    for i in reversed(range(rows)):
        mask[i, j] = False
        j += backtrack[i, j]
    return img[np.stack([mask] * 3, axis=2)].reshape(rows, cols - 1, 3)


def crop_width(img, scale):
    new_cols = int(scale * img.shape[1])
    for _ in range(img.shape[1] - new_cols):
        img = carve_column(img)
    return img


def make_data(small=False):
    rows, cols = (20, 30) if small else (160, 240)
    rng = np.random.default_rng(5)
    y, x = np.mgrid[0:rows, 0:cols] / rows
    base = 120 + 80 * np.sin(6 * x + 2 * y)
    return (base[:, :, None] + 10 * rng.standard_normal((rows, cols, 3))).clip(0, 255).astype(np.uint8), 0.9


if __name__ == "__main__":
    print(crop_width(*make_data()).shape)
