"""A colour image turned about its middle, with bilinear interpolation. The usual meshgrid and gather, written afresh."""

import numpy as np


def bilinear(img, x, y):
    h, w = img.shape[:2]
    x0 = np.floor(x).astype(int)
    y0 = np.floor(y).astype(int)
    x1, y1 = x0 + 1, y0 + 1
    inside = (x0 >= 0) & (x1 < w) & (y0 >= 0) & (y1 < h)
    x0, x1 = np.clip(x0, 0, w - 1), np.clip(x1, 0, w - 1)
    y0, y1 = np.clip(y0, 0, h - 1), np.clip(y1, 0, h - 1)
    fx = (x - x0)[..., None]
    fy = (y - y0)[..., None]
    top = img[y0, x0] * (1 - fx) + img[y0, x1] * fx
    bottom = img[y1, x0] * (1 - fx) + img[y1, x1] * fx
    out = top * (1 - fy) + bottom * fy
    out[~inside] = 0
    return out


def rotate(img, degrees):
    h, w = img.shape[:2]
    theta = np.deg2rad(degrees)
    xx, yy = np.meshgrid(np.arange(w), np.arange(h))
    cx, cy = (w - 1) / 2, (h - 1) / 2
    R = np.array([[np.cos(theta), np.sin(theta)], [-np.sin(theta), np.cos(theta)]])
    coords = R @ np.stack([xx.ravel() - cx, yy.ravel() - cy])
    x = coords[0].reshape(h, w) + cx
    y = coords[1].reshape(h, w) + cy
    return np.clip(np.round(bilinear(img, x, y)), 0, 255).astype(np.uint8)


def make_data(small=False):
    n = 33 if small else 480
    rng = np.random.default_rng(4)
    return rng.integers(0, 256, (n, n + n // 3, 3), dtype=np.uint8), 30.0


if __name__ == "__main__":
    print(rotate(*make_data()).mean(axis=(0, 1)))
